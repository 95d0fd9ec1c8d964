"""``torch.distributed._composable``, as far as libraries import it."""
