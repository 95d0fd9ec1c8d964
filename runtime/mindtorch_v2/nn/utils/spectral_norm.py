"""The old form of spectral normalisation: a hook that makes the weight before every forward."""

from __future__ import annotations

from typing import Any

from ..._core import Tensor
from ..._ops import ops
from ...autograd import no_grad
from .. import functional
from ..module import Module
from ..parameter import Parameter, is_lazy
from ._norms import usual_dim
from ._weight_hooks import find_hook, remove_hook

__all__ = [
    "SpectralNorm",
    "SpectralNormLoadStateDictPreHook",
    "SpectralNormStateDictHook",
    "remove_spectral_norm",
    "spectral_norm",
]


class SpectralNorm:
    """The hook of `spectral_norm`."""

    _version: int = 1  # 1: `weight_v` is saved, and `weight` is not

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.name, self.dim, self.n_power_iterations, self.eps = name, dim, n_power_iterations, eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Any:
        """The weight with dimension ``dim`` first, and all others as one."""
        if self.dim != 0:
            weight = weight.permute(self.dim, *[d for d in range(weight.dim()) if d != self.dim])
        return weight.reshape(weight.size(0), -1)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Any:
        """The weight by its largest singular value, which the vectors u and v say; iterations make these better."""
        weight, u, v = (getattr(module, f"{self.name}_{part}") for part in ("orig", "u", "v"))
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v = functional.normalize(ops.aten.mv(matrix.t(), u), dim=0, eps=self.eps, out=v)
                    u = functional.normalize(ops.aten.mv(matrix, v), dim=0, eps=self.eps, out=u)
                u, v = u.clone(), v.clone()  # backward reads them, and the next forward changes the buffers
        return weight / ops.aten.dot(u, ops.aten.mv(matrix, v))

    def remove(self, module: Module) -> None:
        """Puts the parameter back, at the value that the module has."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for part in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + part)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        """Makes the weight."""
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))

    def _solve_v_and_rescale(self, matrix: Any, u: Any, sigma: Any) -> Any:
        """The v with which u gives a singular value: what early versions did not save."""
        inverse = ops.aten.linalg_pinv(matrix.t().mm(matrix))
        v = inverse.mm(matrix.t().mm(u.unsqueeze(1))).squeeze(1)
        return v.mul_(sigma / ops.aten.dot(u, ops.aten.mv(matrix, v)))

    @staticmethod
    def apply(module: Module, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        """Replaces a parameter of a module by one that is normalised; see `spectral_norm`."""
        if find_hook(module, SpectralNorm, name) is not None:
            raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        hook, weight = SpectralNorm(name, n_power_iterations, dim, eps), module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if is_lazy(weight):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to run the dummy "
                "forward before applying spectral normalization"
            )
        with no_grad():
            height, width = hook.reshape_weight_to_matrix(weight).size()
            u, v = (
                functional.normalize(weight.new_empty(size).normal_(0, 1), dim=0, eps=eps) for size in (height, width)
            )
        delattr(module, name)
        module.register_parameter(f"{name}_orig", weight)
        setattr(module, name, weight.data)  # what it is before the first forward
        module.register_buffer(f"{name}_u", u)
        module.register_buffer(f"{name}_v", v)
        module.register_forward_pre_hook(hook)
        module._register_state_dict_hook(SpectralNormStateDictHook(hook))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(hook))
        return hook


class SpectralNormLoadStateDictPreHook:
    """Makes of what early versions saved what is loaded now."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: list[str], *rest: Any
    ) -> None:
        """Changes the state dict before it is loaded."""
        hook, key = self.fn, prefix + self.fn.name
        version = local_metadata.get("spectral_norm", {}).get(f"{hook.name}.version")
        if version is not None and version >= 1:
            return
        if version is None and key not in state_dict and all(key + s in state_dict for s in ("_orig", "_u", "_v")):
            return  # a state dict of today without what it says of itself
        absent = [key + suffix for suffix in ("_orig", "", "_u") if key + suffix not in state_dict]
        if absent:
            missing_keys += absent if strict else []
            return
        with no_grad():
            original = state_dict[f"{key}_orig"]
            sigma = (original / state_dict.pop(key)).mean()
            matrix = hook.reshape_weight_to_matrix(original)
            state_dict[f"{key}_v"] = hook._solve_v_and_rescale(matrix, state_dict[f"{key}_u"], sigma)


class SpectralNormStateDictHook:
    """Says in a state dict which version saved it."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, module: Any, state_dict: Any, prefix: str, local_metadata: Any) -> None:
        """Changes what `state_dict` says of the module."""
        versions, key = local_metadata.setdefault("spectral_norm", {}), f"{self.fn.name}.version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """Divides the parameter ``name`` by its largest singular value, before every forward; returns the module.

    It is found by power iterations from vectors drawn here, which go on while training. The weight is seen as a matrix
    with dimension ``dim`` as its rows; by default 0, of transposed convolutions 1. Source: Miyato et al., "Spectral
    normalization for generative adversarial networks", 2018. `parametrizations.spectral_norm` is the newer form.
    """
    SpectralNorm.apply(module, name, n_power_iterations, usual_dim(module, dim), eps)
    return module


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """Undoes `spectral_norm`, at the values that there are. Raises ValueError where it was not done."""
    hook = find_hook(module, SpectralNorm, name)
    if hook is None:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    hook.remove(module)
    remove_hook(module._own_hooks().forward_pre, hook)
    state = module._own_state_hooks()
    for registry in (state.saved, state.load_pre):
        for key, value in list(registry.items()):
            if getattr(value, "fn", None) is hook:
                del registry[key]
    return module
