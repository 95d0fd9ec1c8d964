"""How calls are dispatched, by PyTorch's inner names."""
