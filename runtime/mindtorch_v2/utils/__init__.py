"""PyTorch's ``torch.utils``: what writing tensor subclasses and modes needs."""
