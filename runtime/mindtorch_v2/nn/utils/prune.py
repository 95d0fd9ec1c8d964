"""``torch.nn.utils.prune``: parameters of which some elements are held at 0 by a mask.

A pruned parameter ``name`` is kept whole as ``name_orig``, beside the buffer ``name_mask``; a hook before every
forward makes ``name`` their product. Prunings of one parameter add up.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable
from typing import Any

from ..._core import Tensor
from ..._creation import ones_like, rand_like, zeros_like
from ..._ops import ops
from ..module import Module
from ..parameter import Parameter
from ._weight_hooks import remove_hook

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


def _validate_pruning_amount_init(amount: Any) -> None:
    """Raises TypeError or ValueError for what is no share and no number of elements."""
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    whole = isinstance(amount, numbers.Integral)
    if (whole and amount < 0) or (not whole and not 0.0 <= float(amount) <= 1.0):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _validate_pruning_amount(amount: Any, tensor_size: int) -> None:
    """Raises ValueError for a number of more elements than there are."""
    if isinstance(amount, numbers.Integral) and int(amount) > tensor_size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}")


def _compute_nparams_toprune(amount: Any, tensor_size: int) -> int:
    """How many of so many elements a share or a number of them are."""
    return int(amount) if isinstance(amount, numbers.Integral) else round(float(amount) * tensor_size)


def _count(amount: Any, size: int) -> int:
    """How many elements are to go. Raises ValueError for more than there are."""
    _validate_pruning_amount(amount, size)
    return _compute_nparams_toprune(amount, size)


def _check_dim(t: Tensor, dim: int) -> None:
    if t.dim() <= 1:
        raise ValueError(
            f"Structured pruning can only be applied to multidimensional tensors. Found tensor of shape {t.shape} "
            f"with {t.dim()} dims"
        )
    if dim >= t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


def _norm(t: Tensor, n: Any, dim: int) -> Tensor:
    """The norm of each slice along a dimension."""
    dim = dim + t.dim() if dim < 0 else dim
    found: Tensor = t.norm(p=n, dim=[other for other in range(t.dim()) if other != dim])
    return found


def _slices(mask: Tensor, dim: int, kept: Tensor) -> Tensor:
    index: list[Any] = [slice(None)] * mask.dim()
    index[dim] = kept
    mask[tuple(index)] = 1
    return mask


class BasePruningMethod:
    """A way to choose a mask; ``PRUNING_TYPE`` says of what: elements, slices (`structured`), or all (`global`)."""

    PRUNING_TYPE = "unstructured"
    _tensor_name: str

    def __call__(self, module: Module, inputs: Any) -> None:
        """Makes the parameter, before a forward."""
        setattr(module, self._tensor_name, self.apply_mask(module))

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """``default_mask`` with more zeros: those of ``t``, by importance, that are to go."""
        raise NotImplementedError(f"{type(self).__name__} has no compute_mask")

    def apply_mask(self, module: Module) -> Tensor:
        """The parameter by its mask."""
        name = self._tensor_name
        whole = getattr(module, f"{name}_orig")
        masked: Tensor = getattr(module, f"{name}_mask").to(dtype=whole.dtype) * whole
        return masked

    @classmethod
    def apply(cls, module: Module, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any) -> Any:
        """Prunes a parameter of a module; returns what does. Raises ValueError for scores of another shape."""
        earlier = _methods(module, name)
        if len(earlier) > 1:
            raise AssertionError(f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}.")
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        if earlier:
            _take_away(module, earlier[0])
            container = PruningContainer(earlier[0])
            container.add_pruning_method(method)
            method = container
        whole = getattr(module, name)
        if importance_scores is not None and importance_scores.shape != whole.shape:
            raise ValueError(
                f"importance_scores should have the same shape as parameter {name} of {module}: {whole.shape}, got "
                f"{importance_scores.shape}"
            )
        scores = whole if importance_scores is None else importance_scores
        if not earlier:
            module.register_parameter(f"{name}_orig", module._parameters.pop(name))
            default = ones_like(whole)
        else:
            default = getattr(module, f"{name}_mask").detach().clone()
        pruned = False
        try:
            mask = method.compute_mask(scores, default_mask=default)
            module.register_buffer(f"{name}_mask", mask)
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
            pruned = True
        finally:  # whatever was raised, the module is as it was
            if not pruned and not earlier:
                module.register_parameter(name, module._parameters.pop(f"{name}_orig"))
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """``t`` by a new mask, without a module."""
        scores = t if importance_scores is None else importance_scores
        default = ones_like(t) if default_mask is None else default_mask
        pruned: Tensor = t * self.compute_mask(scores, default_mask=default)
        return pruned

    def remove(self, module: Module) -> None:
        """Makes the masked values the parameter, for good."""
        name = self._tensor_name
        masked = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        whole: Parameter = module._parameters.pop(f"{name}_orig")  # type: ignore[assignment]
        whole.data = masked.data
        del module._buffers[f"{name}_mask"]
        setattr(module, name, whole)


def _methods(module: Module, name: str | None = None) -> list[BasePruningMethod]:
    """What prunes a module's parameters, or one of them."""
    hooks = module._hooks.forward_pre.values() if module._hooks is not None else ()
    found = [hook for hook in hooks if isinstance(hook, BasePruningMethod)]
    return [method for method in found if name in (None, method._tensor_name)]


def _take_away(module: Module, method: BasePruningMethod) -> None:
    if module._hooks is not None:
        remove_hook(module._hooks.forward_pre, method)


class PruningContainer(BasePruningMethod):
    """Prunings of one parameter, one after another: each chooses among what those before it left."""

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        if len(args) == 1 and isinstance(args[0], BasePruningMethod):
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Adds one. Raises TypeError for what is none, ValueError for another parameter's."""
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to "
                f"PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The last one's, of what is left."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        if method.PRUNING_TYPE == "unstructured":
            left: Any = mask == 1
        elif method.PRUNING_TYPE == "structured":
            dim = method.dim + t.dim() if method.dim < 0 else method.dim
            kept = mask.sum(dim=[other for other in range(t.dim()) if other != dim]) != 0
            left = [slice(None)] * t.dim()
            left[dim] = kept
            left = tuple(left)
        elif method.PRUNING_TYPE == "global":
            left = tuple([slice(None)] * t.dim())
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        chosen: Tensor = mask.detach().clone()
        chosen[left] = method.compute_mask(t[left], default_mask=mask[left]).to(mask.dtype)
        return chosen


class Identity(BasePruningMethod):
    """Prunes nothing."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask as it is."""
        return default_mask


class _OfAmount(BasePruningMethod):
    def __init__(self, amount: Any) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount


class RandomUnstructured(_OfAmount):
    """Prunes elements that chance chooses."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """By a random number for each."""
        count = _count(self.amount, t.nelement())
        mask: Tensor = default_mask.clone()
        if count:
            chosen = rand_like(t).view(-1).topk(k=count).indices
            mask.view(-1)[chosen] = 0
        return mask


class L1Unstructured(_OfAmount):
    """Prunes the smallest elements."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """By absolute value."""
        count = _count(self.amount, t.nelement())
        mask: Tensor = default_mask.clone()
        if count:
            chosen = ops.aten.abs(t).view(-1).topk(k=count, largest=False).indices
            mask.view(-1)[chosen] = 0
        return mask


class RandomStructured(BasePruningMethod):
    """Prunes slices along ``dim`` that chance chooses."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: int = -1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount, self.dim = amount, dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """By a random number for each slice."""
        _check_dim(t, self.dim)
        count = _count(self.amount, t.shape[self.dim])
        if not count:
            return default_mask
        chances = ops.aten.rand([t.shape[self.dim]])
        threshold = chances.kthvalue(k=count).values
        mask = _slices(zeros_like(t), self.dim, chances > threshold)
        kept: Tensor = mask * default_mask.to(dtype=mask.dtype)
        return kept


class LnStructured(BasePruningMethod):
    """Prunes the slices along ``dim`` of the smallest ``n``-norm."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount, self.n, self.dim = amount, n, dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """By norm."""
        _check_dim(t, self.dim)
        size = t.shape[self.dim]
        count = _count(self.amount, size)
        if not count:
            return default_mask
        largest = _norm(t, self.n, self.dim).topk(k=size - count, largest=True).indices
        kept: Tensor = _slices(zeros_like(t), self.dim, largest) * default_mask.to(dtype=t.dtype)
        return kept


class CustomFromMask(BasePruningMethod):
    """Prunes what a given mask has zeros for."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Both masks."""
        if default_mask.shape != self.mask.shape:
            raise ValueError(f"CustomFromMask: expected a mask of shape {default_mask.shape}, got {self.mask.shape}")
        both: Tensor = default_mask * self.mask.to(dtype=default_mask.dtype)
        return both


def identity(module: Module, name: str) -> Module:
    """Makes a parameter one with a mask, of ones."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: Any) -> Module:
    """Prunes an amount (a share or a number) of a parameter's elements at random."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: Any, importance_scores: Tensor | None = None) -> Module:
    """Prunes a parameter's smallest elements, or those of the smallest scores."""
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: Any, dim: int) -> Module:
    """Prunes slices of a parameter at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module, name: str, amount: Any, n: Any, dim: int, importance_scores: Tensor | None = None
) -> Module:
    """Prunes a parameter's slices of the smallest norm."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prunes a parameter by a mask."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: Callable[..., Any],
    importance_scores: dict[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prunes several parameters as if they were one. Raises TypeError for methods of slices, and for no iterable."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    pairs, scores = [*parameters], importance_scores or {}
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores should be of type dict")
    method = pruning_method(**kwargs)
    if getattr(method, "PRUNING_TYPE", None) != "unstructured":
        raise TypeError('Only "unstructured" PRUNING_TYPE supported for the `pruning_method`')
    flat = ops.aten.cat([scores.get((m, n), getattr(m, n)).reshape(-1) for m, n in pairs])
    masks = [getattr(m, f"{n}_mask", ones_like(getattr(m, n))).reshape(-1) for m, n in pairs]
    container = PruningContainer()
    container._tensor_name = method._tensor_name = "temp"
    container.add_pruning_method(method)
    final = container.compute_mask(flat, ops.aten.cat(masks))
    start = 0
    for module, name in pairs:
        param = getattr(module, name)
        custom_from_mask(module, name, final[start : start + param.numel()].view_as(param))
        start += param.numel()


def is_pruned(module: Module) -> bool:
    """Whether a parameter of a module, or of those in it, is pruned."""
    return any(_methods(inner) for inner in module.modules())


def remove(module: Module, name: str) -> Module:
    """Makes a parameter's masked values the parameter. Raises ValueError for one that is not pruned."""
    for method in _methods(module, name):
        method.remove(module)
        _take_away(module, method)
        return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
