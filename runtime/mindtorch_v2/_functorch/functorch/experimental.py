"""``functorch.experimental``, whose functions are part of `torch.func`."""

from ...func import functionalize, hessian, jacfwd, jvp, replace_all_batch_norm_modules_
from ...func._vmap import chunk_vmap

__all__ = ["chunk_vmap", "functionalize", "hessian", "jacfwd", "jvp", "replace_all_batch_norm_modules_"]
