"""The entries of a file: their structure, and what they say as values; no name in a formula is looked up yet."""
