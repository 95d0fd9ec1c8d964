"""Modules that learn their number of inputs from the first one, and then are ordinary ones."""

from __future__ import annotations

from typing import Any, ClassVar

from .._core import Tensor
from .._creation import tensor
from ..autograd import no_grad
from .convolutions import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .layers import Linear
from .module import Module
from .norms import BatchNorm1d, BatchNorm2d, BatchNorm3d, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from .parameter import is_lazy
from .uninitialized import UninitializedBuffer, UninitializedParameter

__all__ = [
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
    "LazyLinear",
]


class LazyModuleMixin(Module):
    """Parameters get their shapes by ``initialize_parameters``, before the first forward; or from a state dict.

    A class of its own derives from this first, then from the module that it becomes (``cls_to_become``, None: it stays
    what it is), makes uninitialized parameters, and defines ``initialize_parameters(*args, **kwargs)``, which is
    called with what forward is called with.
    """

    cls_to_become: type | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.register_load_state_dict_pre_hook(_Materialize())
        self.register_forward_pre_hook(_Initialize(), with_kwargs=True)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Gives every parameter its shape and values."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Whether any parameter or buffer waits for its shape."""
        return any(is_lazy(each) for each in (*self._parameters.values(), *self._buffers.values()))

    def _infer_parameters(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> None:
        _initialize(module, args, kwargs or {})


class _Initialize:
    """The hook before the first forward; an object without state, so that a copied module has one that knows it."""

    def __call__(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        module._infer_parameters(module, args, kwargs)


class _Materialize:
    """The hook before values are loaded, which say what shapes there are."""

    def __call__(self, module: Any, state_dict: Any, prefix: str, *rest: Any) -> None:
        for name, value in (*module._parameters.items(), *module._buffers.items()):
            given = state_dict.get(prefix + name)
            if is_lazy(value) and given is not None and not is_lazy(given):
                with no_grad():
                    value.materialize(given.shape)


def _initialize(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    module.initialize_parameters(*args, **kwargs)
    if module.has_uninitialized_params():
        raise RuntimeError(f"module {module._get_name()} has not been fully initialized")
    for registry in (module._own_hooks().forward_pre, module._own_state_hooks().load_pre):
        for key, hook in list(registry.items()):
            if isinstance(getattr(hook, "function", hook), (_Initialize, _Materialize)):
                del registry[key]
    if module.cls_to_become is not None:
        module.__class__ = module.cls_to_become


class LazyLinear(LazyModuleMixin, Linear):
    """`Linear` whose ``in_features`` is the size of the first input's last dimension."""

    cls_to_become = Linear
    weight: Any
    bias: Any

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(0, 0, False)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draws the parameters, where there are any yet; see `Linear`."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Gives the parameters the shapes that an input asks for."""
        features = input.shape[-1]
        if self.has_uninitialized_params():
            with no_grad():
                self.in_features = features
                self.weight.materialize((self.out_features, features))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()
        if self.in_features == 0:  # the parameters came from a state dict
            if features != self.weight.shape[-1]:
                raise AssertionError(
                    f"The in_features inferred from input: {features} is not equal to in_features from self.weight: "
                    f"{self.weight.shape[-1]}"
                )
            self.in_features = features


class _LazyConvolution(LazyModuleMixin):
    dims: ClassVar[int]
    groups: int
    transposed: bool
    in_channels: int
    out_channels: int
    kernel_size: tuple[int, ...]
    weight: Any
    bias: Any

    def reset_parameters(self) -> None:
        """Draws the parameters, where there are any yet; see `Conv2d`."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]

    def _wait(self, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Gives the parameters the shapes that an input asks for."""
        if not self.has_uninitialized_params():
            return
        least = self.dims + 1
        if input.dim() not in (least, least + 1):
            raise RuntimeError(
                f"Expected {least}D (unbatched) or {least + 1}D (batched) input to {type(self).__name__}, but "
                "got input "
                f"of size: {input.shape}"
            )
        self.in_channels = input.shape[input.dim() - least]
        if self.in_channels % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        planes = (self.in_channels, self.out_channels) if self.transposed else (self.out_channels, self.in_channels)
        self.weight.materialize((planes[0], planes[1] // self.groups, *self.kernel_size))
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()


class _LazyConv(_LazyConvolution):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            *(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode), device=device, dtype=dtype
        )
        self._wait(out_channels, bias, device, dtype)


class _LazyConvTranspose(_LazyConvolution):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: int = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            *(0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode),
            device=device,
            dtype=dtype,
        )
        self._wait(out_channels, bias, device, dtype)


class _LazyNorm(LazyModuleMixin):
    num_features: int
    affine: bool
    track_running_stats: bool

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device=device, dtype=dtype, bias=False)
        self.affine, self.track_running_stats = affine, track_running_stats
        for name in ["weight", "bias"][: bool(affine) * (1 + bool(bias))]:
            setattr(self, name, UninitializedParameter(device=device, dtype=dtype))
        if track_running_stats:
            self.running_mean: Any = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var: Any = UninitializedBuffer(device=device, dtype=dtype)
            self.register_buffer("num_batches_tracked", tensor(0, device=device))

    def reset_parameters(self) -> None:
        """Forgets what was seen and scales by 1, where there is anything yet."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor) -> None:
        """Gives parameters and buffers the shapes that an input asks for."""
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[1]
        for each in (*self._parameters.values(), *self._buffers.values()):
            if isinstance(each, (UninitializedParameter, UninitializedBuffer)):
                each.materialize((self.num_features,))
        self.reset_parameters()


class LazyConv1d(_LazyConv, Conv1d):
    """`Conv1d` whose ``in_channels`` is that of the first input."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """`Conv2d` whose ``in_channels`` is that of the first input."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyConv, Conv3d):
    """`Conv3d` whose ``in_channels`` is that of the first input."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """`ConvTranspose1d` whose ``in_channels`` is that of the first input."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """`ConvTranspose2d` whose ``in_channels`` is that of the first input."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """`ConvTranspose3d` whose ``in_channels`` is that of the first input."""

    cls_to_become = ConvTranspose3d


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """`BatchNorm1d` whose ``num_features`` is that of the first input."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """`BatchNorm2d` whose ``num_features`` is that of the first input."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """`BatchNorm3d` whose ``num_features`` is that of the first input."""

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, InstanceNorm1d):
    """`InstanceNorm1d` whose ``num_features`` is that of the first input."""

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, InstanceNorm2d):
    """`InstanceNorm2d` whose ``num_features`` is that of the first input."""

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, InstanceNorm3d):
    """`InstanceNorm3d` whose ``num_features`` is that of the first input."""

    cls_to_become = InstanceNorm3d
