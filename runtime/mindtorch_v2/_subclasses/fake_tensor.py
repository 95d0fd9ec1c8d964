"""Fake tensors: they know a shape, a dtype and a device, and their memory is that of a meta tensor: none.

Inside a `FakeTensorMode` whatever makes a tensor makes a fake one, and operators run on the meta tensors, so that a
model of any size can be built and run for its shapes. Autograd records as ever: a fake result has a history, and can be
run backward.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .. import _core
from .._core import OpOverload, Tensor
from .._core import device as Device
from .._modes import DisableTorchDispatch, stacks
from .._ops import ops
from ..nn.parameter import Parameter
from ..overrides import TorchDispatchMode
from ..utils._pytree import tree_leaves, tree_map

__all__ = [
    "DataDependentOutputException",
    "DynamicOutputShapeException",
    "FakeTensor",
    "FakeTensorDeviceMismatchError",
    "FakeTensorMode",
    "UnsupportedFakeTensorException",
    "UnsupportedOperatorException",
    "is_fake",
    "maybe_get_fake_mode",
    "unset_fake_temporarily",
]


class UnsupportedFakeTensorException(RuntimeError):  # noqa: N818  (PyTorch's names)
    """A tensor of this kind cannot be made a fake one."""


class FakeTensorDeviceMismatchError(RuntimeError):
    """Tensors in different places among an operator's arguments."""


class _OfOperator(RuntimeError):  # noqa: N818
    def __init__(self, func: OpOverload) -> None:
        super().__init__(f"{func}")
        self.func = func


class DynamicOutputShapeException(_OfOperator):
    """The shape of an operator's result depends on values, which a fake tensor has not."""


class DataDependentOutputException(_OfOperator):
    """A number was asked for that depends on values, which a fake tensor has not."""


class UnsupportedOperatorException(_OfOperator):
    """An operator cannot say what its result is without computing it."""


_READS_A_VALUE = frozenset(("item", "_local_scalar_dense", "equal", "is_nonzero", "allclose"))
_DYNAMIC = frozenset(
    ("nonzero", "masked_select", "_unique", "_unique2", "unique_dim", "unique_consecutive", "bincount", "nonzero_numpy")
)


def _is_tensor_constructor(func: OpOverload) -> bool:
    """Whether an operator makes a tensor of none: it takes none, and returns one."""
    schema = func._schema
    return not any("Tensor" in str(a.type) for a in schema.arguments) and [str(r.type) for r in schema.returns] == [
        "Tensor"
    ]


@dataclass
class _Memory:
    """A real storage, the meta tensor over all of what stands for it, and how many tensors show it."""

    storage: Any
    elements: Tensor
    users: int = 0


class FakeTensor(Tensor):
    """A tensor without memory: ``fake_device`` is where it says it is, ``fake_mode`` what made it.

    Raises ValueError where ``elem`` is no meta tensor.
    """

    elem: Tensor
    fake_mode: FakeTensorMode
    fake_device: Device
    constant: Tensor | None = None  # its value, where it is one number that is known
    __torch_function__ = _core.disabled_torch_function

    @staticmethod
    def __new__(cls: Any, fake_mode: FakeTensorMode, elem: Tensor, device: Any) -> FakeTensor:
        if not elem.is_meta:
            raise ValueError(f"a fake tensor is made of a meta tensor, not of one on {elem.device}")
        where = Device(device)
        made: FakeTensor = _core.wrapper_over(FakeTensor, elem, where, 0)
        made.elem, made.fake_mode, made.fake_device = elem, fake_mode, where
        return made

    def __init__(self, fake_mode: FakeTensorMode, elem: Tensor, device: Any) -> None:
        pass

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        mode = next(t.fake_mode for t in tree_leaves([list(args), kwargs or {}]) if isinstance(t, FakeTensor))
        with mode:
            return func(*args, **(kwargs or {}))

    def __repr__(self) -> str:
        parts = ["..."]
        if self.fake_device.type != "cpu":
            parts.append(f"device='{self.fake_device}'")
        parts.append(f"size={tuple(self.shape)}")
        if self.dtype is not _core.get_default_dtype():
            parts.append(f"dtype={self.dtype}")
        node = self.grad_fn
        if node is not None:
            parts.append(f"grad_fn=<{node.name()}>")
        elif self.requires_grad:
            parts.append("requires_grad=True")
        made = f"FakeTensor({', '.join(parts)})"
        return f"Parameter({made})" if getattr(self, "_is_param", False) else made

    def tolist(self) -> Any:
        """Raises DataDependentOutputException: there are no values."""
        raise DataDependentOutputException(_core.find_operator("aten::_local_scalar_dense"))  # type: ignore[arg-type]

    def numpy(self, *, force: bool = False) -> Any:
        """Raises RuntimeError: there is no memory for an array to show."""
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")


class FakeTensorMode(TorchDispatchMode):
    """``with FakeTensorMode():`` what makes tensors makes fake ones, wherever they say they are.

    With ``allow_non_fake_inputs`` real tensors among an operator's arguments are taken for their shapes; without it
    they are refused with AssertionError, but for those of one element and no dimension.
    """

    def __init__(
        self,
        *,
        allow_fallback_kernels: bool = True,
        allow_non_fake_inputs: bool = False,
        shape_env: Any = None,
        static_shapes: bool | None = None,
        export: bool = False,
    ) -> None:
        super().__init__()
        if shape_env is not None:
            raise NotImplementedError("FakeTensorMode: sizes that are not known are not supported: leave shape_env out")
        self.allow_fallback_kernels, self.allow_non_fake_inputs = allow_fallback_kernels, allow_non_fake_inputs
        self.static_shapes, self.export = True, export
        self._fakes: dict[int, tuple[Any, FakeTensor]] = {}  # by the real tensor's identity; a weak reference
        self._memories: dict[int, _Memory] = {}  # by the storage's address

    # ---- real tensors
    def from_tensor(
        self,
        tensor: Tensor,
        *,
        static_shapes: bool | None = None,
        source: Any = None,
        symbolic_context: Any = None,
        trace: bool = True,
    ) -> FakeTensor:
        """The fake tensor that stands for a tensor: the same for the same one, sharing memory as those do.

        A parameter's is a parameter, a leaf's a leaf. Raises TypeError for what is no tensor, and
        UnsupportedFakeTensorException for one that another transform or mode made.
        """
        if not isinstance(tensor, Tensor):
            raise TypeError(f"from_tensor() expects a tensor, not {type(tensor).__name__}")
        if isinstance(tensor, FakeTensor):
            return tensor if tensor.fake_mode is self else FakeTensor(self, tensor.elem, tensor.fake_device)
        remembered = self._fakes.get(id(tensor))
        if remembered is not None and remembered[0]() is tensor:
            return remembered[1]
        if _core.tensor_keys(tensor) & _WRAPPED:
            raise UnsupportedFakeTensorException(f"{type(tensor).__name__}: a tensor that wraps others cannot be faked")
        with unset_fake_temporarily():
            place = (tensor.shape, tensor.stride(), tensor.storage_offset())
            fake = FakeTensor(self, _core.as_strided(self._memory_of(tensor), *place), tensor.device)
            fake.requires_grad_(tensor.requires_grad)
        if isinstance(tensor, Parameter):
            fake._is_param = True  # type: ignore[attr-defined]
        self._remember(tensor, fake)
        return fake

    def _memory_of(self, tensor: Tensor) -> Tensor:
        """The meta tensor whose storage stands for the tensor's; of the tensor's dtype."""
        storage, dtype = tensor.untyped_storage(), tensor.dtype
        found = self._memories.get(_address(storage))
        if found is None:
            found = _Memory(storage, _core.alloc((storage.nbytes() // dtype.itemsize,), dtype, "meta"))
            self._memories[_address(storage)] = found
        found.users += 1
        if found.elements.dtype is dtype:
            return found.elements
        count = found.elements.numel() * found.elements.itemsize // dtype.itemsize
        whole: Tensor = ops.aten.view.dtype(found.elements, _core.dtypes["uint8"])
        whole = _core.as_strided(whole, (count * dtype.itemsize,), (1,))
        return ops.aten.view.dtype(whole, dtype)  # type: ignore[no-any-return]

    def _remember(self, tensor: Tensor, fake: FakeTensor) -> None:
        """For as long as the tensor is there; then what stands for its memory goes with the last tensor over it."""
        at, memory = id(tensor), _address(tensor.untyped_storage())

        def forget(_: Any) -> None:
            self._fakes.pop(at, None)
            found = self._memories[memory]
            found.users -= 1
            if not found.users:
                del self._memories[memory]

        self._fakes[at] = weakref.ref(tensor, forget), fake

    # ---- operators
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if any(_core.defines_dispatch(kind) and not issubclass(kind, FakeTensor) for kind in types):
            return NotImplemented  # what wraps others calls this mode with those
        name = func._schema.name
        tensors = [t for t in tree_leaves([list(args), kwargs]) if isinstance(t, Tensor)]
        if any(isinstance(t, FakeTensor) and t.fake_mode is not self for t in tensors):
            raise AssertionError("Mixing fake modes NYI")
        if name in _READS_A_VALUE:
            if any(isinstance(t, FakeTensor) and t.constant is None for t in tensors):
                raise DataDependentOutputException(func)
            return func(*_constants(args), **_constants(kwargs))
        if name in _DYNAMIC:
            raise DynamicOutputShapeException(func)
        if name in _TAKES_REAL and not any(isinstance(t, FakeTensor) for t in tensors):
            made = self.from_tensor(func(*args, **kwargs))
            made.constant = tensors[0].clone() if tensors[0].numel() == 1 else None
            return made
        where = self._place(func, tensors, kwargs)
        inner = {id(t): self._inner(func, t) for t in tensors}
        fakes = {id(elem): t for t in tensors if isinstance(t, FakeTensor) for elem in (t.elem,)}
        taken, named = tree_map(lambda v: inner[id(v)] if isinstance(v, Tensor) else v, [list(args), dict(kwargs)])
        if _has_device(func):
            named["device"] = "meta"
            named.pop("pin_memory", None)
        result = func(*taken, **named)
        for fake in fakes.values():
            if fake.elem.shape != fake.shape or fake.elem.stride() != fake.stride():  # it was resized
                fake.data = FakeTensor(self, fake.elem, fake.fake_device)
        result = tree_map(lambda v: self._wrapped(v, fakes, where) if isinstance(v, Tensor) else v, result)
        _follow_constants(func, args, kwargs, tensors, result)
        return result

    def _inner(self, func: OpOverload, tensor: Tensor) -> Tensor:
        """The meta tensor that an operator gets for an argument."""
        if isinstance(tensor, FakeTensor):
            return tensor.elem
        if tensor.is_meta or tensor.dim() == 0 or self.allow_non_fake_inputs:
            return tensor if tensor.is_meta else self.from_tensor(tensor).elem
        raise AssertionError(
            "Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with "
            f"'allow_non_fake_inputs'. Found in {func}"
        )

    def _place(self, func: OpOverload, tensors: list[Tensor], kwargs: dict[str, Any]) -> Device:
        """Where the result says it is: where it is asked for, else where the tensors are, but for numbers on the CPU.

        Raises FakeTensorDeviceMismatchError for tensors in different places.
        """
        asked = kwargs.get("device")
        if asked is not None:
            return Device(asked)
        if _has_device(func) and not tensors:
            return _core.get_default_device()
        if func._schema.name.rstrip("_") == "copy":
            return tensors[0].device
        found: Tensor | None = None
        for t in tensors:
            if found is None or (_goes_anywhere(found) and not _goes_anywhere(t)):
                found = t
            elif found.device != t.device and not _goes_anywhere(t):
                raise FakeTensorDeviceMismatchError(
                    f"Unhandled FakeTensor Device Propagation for {func}, found two different devices "
                    f"{found.device}, {t.device}"
                )
        return _core.get_default_device() if found is None else found.device

    def _wrapped(self, result: Tensor, fakes: dict[int, FakeTensor], where: Device) -> Tensor:
        known = fakes.get(id(result))
        if known is None:
            return FakeTensor(self, result, where)
        return known


_WRAPPED = _core.key_mask("Batched", "Functionalize", "Python")
_TAKES_REAL = frozenset(("lift_fresh", "lift_fresh_copy", "lift"))


def _address(storage: Any) -> int:
    """What tells memory from other memory, for as long as it is there: several storages may show the same."""
    return storage.data_ptr() or id(storage)


def _has_device(func: OpOverload) -> bool:
    return any(a.name == "device" for a in func._schema.arguments)


def _constants(tree: Any) -> Any:
    """Arguments with the values that are known in place of fake tensors."""
    return tree_map(lambda v: v.constant if isinstance(v, FakeTensor) else v, tree)


def _follow_constants(func: OpOverload, args: Any, kwargs: Any, tensors: list[Tensor], result: Any) -> None:
    """Computes with what is known, single numbers (steps counted in tensors, say); else forgets what changed."""
    known = bool(tensors) and all(isinstance(t, FakeTensor) and t.constant is not None for t in tensors)
    made = [t for t in tree_leaves(result) if isinstance(t, FakeTensor)]
    if known and "nondeterministic_seeded" not in func.tags and all(t.numel() == 1 for t in made):
        found = [t for t in tree_leaves(func(*_constants(args), **_constants(kwargs))) if isinstance(t, Tensor)]
        for fake, constant in zip(made, found, strict=True):
            fake.constant = constant
        return
    given = {**dict(zip((a.name for a in func._schema.arguments), args, strict=False)), **kwargs}
    written = [given.get(a.name) for a in func._schema.arguments if a.is_write]
    for t in tree_leaves(written):
        if isinstance(t, FakeTensor):
            t.constant = None


def _goes_anywhere(tensor: Tensor) -> bool:
    return tensor.dim() == 0 and tensor.device.type == "cpu"


def is_fake(x: object) -> bool:
    """Whether something is a fake tensor."""
    return isinstance(x, FakeTensor)


def maybe_get_fake_mode(t: object) -> FakeTensorMode | None:
    """What made a fake tensor; None for what is none."""
    return t.fake_mode if isinstance(t, FakeTensor) else None


@contextlib.contextmanager
def unset_fake_temporarily() -> Iterator[FakeTensorMode | None]:
    """``with unset_fake_temporarily() as mode:`` real tensors are made inside of a mode."""
    modes = [mode for mode in stacks.dispatch if isinstance(mode, FakeTensorMode)]
    with DisableTorchDispatch() if modes else contextlib.nullcontext():
        yield modes[-1] if modes else None
