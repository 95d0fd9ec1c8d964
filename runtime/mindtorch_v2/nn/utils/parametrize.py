"""Tensors of modules that are computed: of an original, by modules in turn, whenever they are read."""

from __future__ import annotations

import copyreg
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from typing import Any

from ..._core import Tensor
from ...autograd import no_grad
from ..container import ModuleDict, ModuleList
from ..module import Module
from ..parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]


class _Cache:
    """What was computed within `cached`, by module and name; how deep that is nested."""

    def __init__(self) -> None:
        self.depth = 0
        self.values: dict[tuple[int, str], Any] = {}


_cache = _Cache()


@contextmanager
def cached() -> Iterator[None]:
    """Within it, each parametrized tensor is computed when it is first read, and not again."""
    _cache.depth += 1
    try:
        yield
    finally:
        _cache.depth -= 1
        if not _cache.depth:
            _cache.values = {}


def _require(found: Any, expected: Tensor, where: str, name: str = "tensor") -> None:
    """Raises ValueError for what is no tensor, or not of a tensor's dtype and shape."""
    if not isinstance(found, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(found).__name__}.")
    for what in ("dtype", "shape"):
        had, has = getattr(expected, what), getattr(found, what)
        if had != has:
            raise ValueError(
                f"Registering a parametrization may not change the {what} of the tensor, unless the `unsafe` flag is "
                f"enabled.\n{name}.{what}: {had}\n{where}.{what}: {has}"
            )


class ParametrizationList(ModuleList):
    """The modules that compute one tensor, and what they compute it of: ``original``, or ``original0`` and so on.

    Raises ValueError, unless ``unsafe``, where the tensor would change its dtype or shape.
    """

    original: Any

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        before = original.detach().to("meta")
        with no_grad():
            new: Any = original
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    with suppress(NotImplementedError):  # then it starts from what there is
                        new = module.right_inverse(new)
        if not isinstance(new, (Tensor, Sequence)):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got "
                f"{type(new).__name__}"
            )
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            self._keep_one(original, new)
        else:
            self._keep_several(original, list(new))
        if not unsafe:
            _require(self(), before, "parametrized", "unparametrized")

    def _keep_one(self, original: Tensor, new: Any) -> None:
        for what in ("dtype", "device"):
            if getattr(original, what) != getattr(new, what):
                raise ValueError(
                    f"When `right_inverse` outputs one tensor, it may not change the {what}.\noriginal.{what}: "
                    f"{getattr(original, what)}\nright_inverse(original).{what}: {getattr(new, what)}"
                )
        with no_grad():
            original.set_(new)
        _register(self, "original", original)

    def _keep_several(self, original: Tensor, new: Sequence[Any]) -> None:
        for i, each in enumerate(new):
            if not isinstance(each, Tensor):
                raise ValueError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got "
                    f"element {i} of "
                    f"the sequence with type {type(each).__name__}."
                )
            kept = Parameter(each, original.requires_grad) if isinstance(original, Parameter) else each
            _register(self, f"original{i}", kept.requires_grad_(original.requires_grad))

    def right_inverse(self, value: Any) -> None:
        """Sets the originals so that the tensor becomes ``value``, by the modules' own ``right_inverse``.

        Raises RuntimeError for one that has none, ValueError for one that gives something else than there is.
        """
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            if self.is_tensor:
                _set("original", self.original, value)
                return
            if not isinstance(value, Sequence):
                raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}.")
            if len(value) != self.ntensors:
                raise ValueError(
                    f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of "
                    f"length {len(value)}."
                )
            for i, each in enumerate(value):
                _set(f"original{i}", getattr(self, f"original{i}"), each)

    def forward(self) -> Any:
        """The tensor, computed."""
        originals = [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]
        first, *others = self
        value = first(*originals)
        for module in others:
            value = module(value)
        return value


def _set(name: str, original: Tensor, value: Any) -> None:
    if not isinstance(value, Tensor):
        raise ValueError(f"`right_inverse` should return a tensor for `{name}`. Got {type(value).__name__}")
    if value.dtype != original.dtype:
        raise ValueError(
            f"The tensor returned by `right_inverse` has dtype {value.dtype} while `{name}` has dtype {original.dtype}"
        )
    original.set_(value)


def _register(module: Module, name: str, value: Any) -> None:
    if isinstance(value, Parameter):
        module.register_parameter(name, value)
    else:
        module.register_buffer(name, value)


def _copied(self: Any, memo: dict[int, Any]) -> Any:
    """``copy.deepcopy`` of a parametrized module, which is not pickled."""
    if id(self) in memo:
        return memo[id(self)]
    replica = memo[id(self)] = self.__new__(type(self))
    replica.__dict__ = deepcopy(self.__dict__, memo)
    for slot in copyreg._slotnames(type(self)):  # type: ignore[attr-defined]
        if hasattr(self, slot):
            setattr(replica, slot, deepcopy(getattr(self, slot), memo))
    return replica


def _refuse_pickling(self: Any) -> Any:
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(): their classes are made as they "
        "are parametrized"
    )


def _give_class_of_its_own(module: Module) -> None:
    """A module's class is derived for it alone, so that a property of it concerns no other module."""
    kind = type(module)
    own: dict[str, Any] = {"__getstate__": _refuse_pickling}
    if not hasattr(kind, "__deepcopy__"):
        own["__deepcopy__"] = _copied
    module.__class__ = type(f"Parametrized{kind.__name__}", (kind,), own)


def _add_property(module: Module, name: str) -> None:
    def read(self: Any) -> Any:
        parametrization = self.parametrizations[name]
        if not _cache.depth:
            return parametrization()
        key = id(self), name
        if key not in _cache.values:
            _cache.values[key] = parametrization()
        return _cache.values[key]

    def write(self: Any, value: Any) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(read, write))


def register_parametrization(module: Any, tensor_name: str, parametrization: Module, *, unsafe: bool = False) -> Any:
    """Has a parameter or buffer of a module computed by another module from now on; returns the module.

    What it was becomes ``module.parametrizations.<name>.original``, through the parametrization's ``right_inverse``
    where it has one; a second parametrization is applied after the first. The module gets a class of its own. Raises
    ValueError where there is no such tensor, or, unless ``unsafe``, its dtype or shape would change.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_next(module, tensor_name, parametrization)
        listed = module.parametrizations[tensor_name]
        listed.append(parametrization)
        listed.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        listed = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _give_class_of_its_own(module)
            module.parametrizations = ModuleDict()
        _add_property(module, tensor_name)
        module.parametrizations[tensor_name] = listed
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    return module


def _check_next(module: Any, name: str, parametrization: Any) -> None:
    """Raises ValueError where one more parametrization would change the tensor's dtype or shape."""
    value = getattr(module, name)
    changed = parametrization(value)
    _require(changed, value, f"parametrization(module.{name})", f"module.{name}")
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        back = parametrization.right_inverse(changed)
    except NotImplementedError:
        return
    if not isinstance(back, Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}")
    for what in ("dtype", "shape"):
        if getattr(back, what) != getattr(value, what):
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {what} as "
                f"module.{name}, unless "
                f"the `unsafe` flag is enabled.\nmodule.{name}.{what}: {getattr(value, what)}\nreturned {what}: "
                f"{getattr(back, what)}"
            )


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module's tensor of a name is parametrized; without one, whether any is."""
    found = getattr(module, "parametrizations", None)
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module: Any, tensor_name: str, leave_parametrized: bool = True) -> Any:
    """Makes a tensor an ordinary one again, at the value it has, or that of its original; returns the module.

    Raises ValueError where it is not parametrized, and where there is no one original to go back to.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    listed = module.parametrizations[tensor_name]
    if listed.is_tensor:
        original = listed.original
        if leave_parametrized:
            with no_grad():
                original.set_(getattr(module, tensor_name))
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
            "sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class that a module had before it was parametrized."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module: Any, to_module: Any, tensor_name: str | None = None) -> Any:
    """Parametrizes a module as another, with the same originals; one tensor, or all; returns ``to_module``."""
    if not is_parametrized(from_module):
        return to_module
    for name in from_module.parametrizations if tensor_name is None else [tensor_name]:
        listed = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in listed:
            register_parametrization(to_module, name, parametrization)
        for key in ["original"] if listed.is_tensor else [f"original{i}" for i in range(listed.ntensors)]:
            setattr(to_module.parametrizations[name], key, getattr(listed, key))
    return to_module
