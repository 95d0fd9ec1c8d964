"""PyTorch's place for modes and subclasses that see operators below autograd, and what is asked of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .. import _core
from .._core import OpOverload, Tensor
from .._modes import follow_stacks, stacks
from ..overrides import DisableTorchDispatch, TorchDispatchMode, is_traceable_wrapper_subclass
from ._pytree import tree_leaves

__all__ = [
    "BaseTorchDispatchMode",
    "TorchDispatchMode",
    "is_in_torch_dispatch_mode",
    "is_traceable_wrapper_subclass",
    "is_traceable_wrapper_subclass_type",
    "return_and_correct_aliasing",
    "transform_subclass",
]


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that changes nothing, to derive from."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **({} if kwargs is None else kwargs))


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Whether a mode is entered in this thread."""
    return any(include_infra_modes or not mode.is_infra_mode() for mode in stacks.dispatch)


def _get_current_dispatch_mode() -> TorchDispatchMode | None:
    """This thread's innermost mode, or None."""
    return stacks.dispatch[-1] if stacks.dispatch else None


def _get_current_dispatch_mode_stack() -> list[TorchDispatchMode]:
    """This thread's modes, the innermost last."""
    return list(stacks.dispatch)


def _len_torch_dispatch_stack() -> int:
    """How many modes are entered in this thread."""
    return len(stacks.dispatch)


@contextmanager
def _disable_current_modes() -> Iterator[list[TorchDispatchMode]]:
    """Inside, no mode of this thread is entered; gives those that were."""
    before, stacks.dispatch = stacks.dispatch, []
    follow_stacks()
    try:
        yield before
    finally:
        stacks.dispatch = before
        follow_stacks()


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """`is_traceable_wrapper_subclass` of a class's tensors."""
    return issubclass(t, Tensor) and t is not Tensor and all(hasattr(t, f"__tensor_{n}__") for n in _PROTOCOL)


_PROTOCOL = ("flatten", "unflatten")


def transform_subclass(
    t: Any, callback: Callable[[str, Any], Any], outer_size: Any = None, outer_stride: Any = None
) -> Any:
    """A wrapper like ``t`` around what ``callback(name, tensor)`` makes of each tensor that ``t`` wraps.

    Size and strides are those of ``t`` unless they are given. Raises RuntimeError where what is made has others.
    """
    size, stride = t.size() if outer_size is None else outer_size, t.stride() if outer_stride is None else outer_stride
    names, context = t.__tensor_flatten__()
    made = type(t).__tensor_unflatten__(
        {name: callback(name, getattr(t, name)) for name in names}, context, size, stride
    )
    if tuple(made.size()) != tuple(size) or tuple(made.stride()) != tuple(stride):
        raise RuntimeError(
            f"{type(t).__name__}.__tensor_unflatten__() made a tensor of size {tuple(made.size())} and strides "
            f"{tuple(made.stride())}; they have to be {tuple(size)} and {tuple(stride)}"
        )
    return made


def return_and_correct_aliasing(func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any] | None, out: Any) -> Any:
    """What a ``__torch_dispatch__`` is to return where it made ``out`` anew: as the schema of ``func`` says.

    An output that the schema says is an argument that it writes to is that argument itself; one that is a view of an
    argument gets the argument's storage. Raises RuntimeError where a view has another class than what it is a view of.
    """
    schema, kwargs = func._schema, {} if kwargs is None else kwargs
    given = dict(zip((a.name for a in schema.arguments), args, strict=False)) | kwargs
    owners = {name: given.get(a.name) for a in schema.arguments if a.alias is not None for name in a.alias.before}
    outputs = list(out) if len(schema.returns) > 1 else [out]
    for at, declared in enumerate(schema.returns):
        owner = _owner(declared.alias, owners)
        if owner is None or declared.alias is None:
            continue
        if declared.alias.write:
            outputs[at] = owner
        else:
            for view in tree_leaves(outputs[at]):
                _share_storage(func, owner, view)
    if len(schema.returns) != 1:
        return type(out)(outputs) if schema.returns else out
    written = [a for a in schema.arguments if a.alias is not None and a.alias.write]
    if written and isinstance(outputs[0], Tensor) and "inplace_view" in func.tags:
        with DisableTorchDispatch():  # the argument's own shape changes as what it wraps did
            func(*args, **kwargs)
    return outputs[0]


def _owner(alias: Any, owners: dict[str, Any]) -> Any:
    names = () if alias is None else alias.before
    return next((owners[name] for name in names if isinstance(owners.get(name), Tensor)), None)


def _share_storage(func: OpOverload, owner: Tensor, view: Any) -> None:
    if not isinstance(view, Tensor) or view is owner:
        return
    if type(view) is not type(owner):
        raise RuntimeError(
            f"{func}: an output is a view of an argument of class {type(owner).__name__}, and is of class "
            f"{type(view).__name__}"
        )
    if _core.defines_dispatch(type(owner)):
        _core.count_as_view(view, owner)
