"""PyTorch's tools for tests that others use: `optests`."""
