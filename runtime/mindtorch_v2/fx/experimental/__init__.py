"""``torch.fx.experimental``: `proxy_tensor` has `make_fx`."""
