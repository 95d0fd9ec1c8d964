"""A run over files: which they are, where their output goes, and bringing it there."""
