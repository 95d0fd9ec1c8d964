"""What generated modules need beside PyTorch or MindSpore: files that are copied into the package of the modules."""
