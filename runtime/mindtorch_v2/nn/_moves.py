"""What happens to all of a module's tensors: modes, devices, dtypes, gradients."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

from .. import _core
from .._core import Tensor
from .._creation import empty_like
from .._swapping import swap_tensors
from ..autograd import no_grad
from ._conversion import Conversions, conversion
from .parameter import Parameter

__all__ = ["ModuleMoves"]


class ModuleMoves:
    """The part of ``Module`` that changes every parameter and buffer at once."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    modules: Callable[..., Iterator[Any]]
    children: Callable[[], Iterator[Any]]
    parameters: Callable[..., Iterator[Any]]

    def train(self, mode: bool = True) -> Any:
        """Sets training mode here and below; returns the module."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        for module in self.modules():
            object.__setattr__(module, "training", mode)
        return self

    def eval(self) -> Any:
        """Sets evaluation mode; returns the module."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Sets whether the parameters are trained; returns the module."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clears the parameters' gradients."""
        for parameter in self.parameters():
            if parameter.grad is not None:
                parameter.grad = None if set_to_none else parameter.grad.detach().zero_()

    def apply(self, fn: Callable[[Any], None]) -> Any:
        """Calls ``fn`` on every module, submodules first; returns the module."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        """Puts ``fn`` of every parameter, gradient and buffer in its place; parameters stay the objects they are.

        ``fn`` is given the tensors themselves: what it changes in place counts as changed.
        """
        for module in self.children() if recurse else ():
            module._apply(fn)
        for name, parameter in self._parameters.items():
            if parameter is not None and Conversions.swap:
                _swap(fn, parameter, f"{type(self).__name__}.{name}")
            elif parameter is not None:
                self._parameters[name] = _applied(fn, parameter)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Moves parameters and buffers to a device, those that are no integers to a dtype; returns the module."""
        wanted = conversion(args, kwargs)
        if wanted.dtype is not None and not (wanted.dtype.is_floating_point or wanted.dtype.is_complex):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={wanted.dtype}"
            )

        if wanted.dtype is not None and wanted.dtype.is_complex:
            warnings.warn(
                "Complex modules are a new feature under active development whose design may change, and some modules "
                "might not work as expected when using complex tensors as parameters or buffers.",
                stacklevel=2,
            )

        def convert(tensor: Tensor) -> Tensor:
            has_fractions = tensor.is_floating_point() or tensor.is_complex()
            options: dict[str, Any] = {"dtype": wanted.dtype if has_fractions else None}
            if wanted.memory_format is not None and tensor.dim() in (4, 5):
                options["memory_format"] = wanted.memory_format
            result: Tensor = tensor.to(
                device=wanted.device or tensor.device, non_blocking=wanted.non_blocking, **options
            )
            return result

        return self._apply(convert)

    def cpu(self) -> Any:
        """Moves everything to the CPU; returns the module."""
        return self.to("cpu")

    def npu(self, device: Any = None) -> Any:
        """Moves everything to an NPU; returns the module."""
        return self._apply(lambda tensor: tensor.npu(device))

    def float(self) -> Any:
        """Parameters and buffers as float32; returns the module."""
        return self._apply(lambda tensor: tensor.float() if tensor.is_floating_point() else tensor)

    def double(self) -> Any:
        """Parameters and buffers as float64; returns the module."""
        return self._apply(lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)

    def half(self) -> Any:
        """Parameters and buffers as float16; returns the module."""
        return self._apply(lambda tensor: tensor.half() if tensor.is_floating_point() else tensor)

    def bfloat16(self) -> Any:
        """Parameters and buffers as bfloat16; returns the module."""
        return self._apply(lambda tensor: tensor.bfloat16() if tensor.is_floating_point() else tensor)

    def type(self, dst_type: Any) -> Any:
        """Parameters and buffers of a dtype, integers too; returns the module."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def cuda(self, device: Any = None) -> Any:
        """Moves everything to a CUDA device; returns the module."""
        return self.to(
            "cuda" if device is None else _core.device("cuda", device) if isinstance(device, int) else device
        )

    def to_empty(self, *, device: Any, recurse: bool = True) -> Any:
        """Parameters and buffers on a device, with nothing in them: not copied; returns the module."""
        return self._apply(lambda tensor: empty_like(tensor, device=device), recurse=recurse)

    def share_memory(self) -> Any:
        """Moves parameters and buffers to memory that other processes see, too; returns the module."""
        return self._apply(lambda tensor: tensor.share_memory_())


def _applied(fn: Callable[[Tensor], Tensor], parameter: Parameter) -> Parameter:
    """The parameter with ``fn`` of its value and of its gradient; another one where it must be, or is to be."""
    grad = parameter.grad
    with no_grad():
        value = fn(parameter)
        stays = _holds(parameter, value) and not Conversions.overwrite
        made: Parameter = _with_value(parameter, value) if stays else Parameter(value, parameter.requires_grad)
        if grad is not None:
            value = fn(grad)
            made.grad = None
            made.grad = _with_value(grad, value) if _holds(grad, value) else value.requires_grad_(grad.requires_grad)
    return made


def _swap(fn: Callable[[Tensor], Tensor], parameter: Parameter, name: str) -> None:
    """Makes a parameter, and its gradient, what ``fn`` makes of them. Raises RuntimeError as `swap_tensors`."""
    grad = parameter.grad
    with no_grad():
        values: list[tuple[str, Tensor, Tensor]] = [
            (name, parameter, Parameter(fn(parameter), parameter.requires_grad))
        ]
        if grad is not None:
            values.append((f"{name}.grad", grad, fn(grad).requires_grad_(grad.requires_grad)))
    for at, tensor, value in values:
        try:
            swap_tensors(tensor, value)
        except RuntimeError as error:
            raise RuntimeError(f"_apply(): Couldn't swap {at}") from error
    parameter.grad = grad


def _holds(tensor: Tensor, value: Tensor) -> bool:
    """Whether ``tensor.data = value`` is possible: on meta there is no memory.

    Raises TypeError for what is no tensor.
    """
    if not isinstance(value, Tensor):
        raise TypeError(f"Module._apply(): the function must return a Tensor, not {type(value).__name__}")
    return _core.has_compatible_type(tensor, value)


def _with_value(tensor: Any, value: Tensor) -> Any:
    if value is not tensor:
        tensor.data = value
    return tensor
