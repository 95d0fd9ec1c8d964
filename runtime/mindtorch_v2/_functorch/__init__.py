"""What programs written for the time when `torch.func` was a package of its own import."""
