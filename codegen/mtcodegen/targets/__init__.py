"""What is made of checked entries, a file a target; `mindtorch` needs a folder."""
