"""What the entries mean: names, types, completeness; and what is right but could be better."""
