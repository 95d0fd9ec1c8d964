"""What is made of checked entries, a file a target; `target` lists them."""
