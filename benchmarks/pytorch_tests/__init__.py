"""PyTorch's own test files, unmodified, under this runtime: ``python -m benchmarks.pytorch_tests``."""
