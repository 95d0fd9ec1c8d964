"""From entries to the views of definitions, which templates write."""
