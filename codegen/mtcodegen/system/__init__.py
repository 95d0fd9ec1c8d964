"""Files, memory and processors: what knows nothing of operators."""
