"""Activations as modules, beyond those of `layers`."""

from __future__ import annotations

from typing import Any

from .._core import Tensor
from .._core import dtype as DType
from .._creation import empty
from . import functional, init
from .module import Module
from .parameter import Parameter

__all__ = [
    "CELU",
    "ELU",
    "GLU",
    "SELU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LogSigmoid",
    "Mish",
    "PReLU",
    "RReLU",
    "ReLU6",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanhshrink",
    "Threshold",
]


class _InPlace(Module):
    """What may write its result to its input."""

    inplace: bool

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def _shown(self, *options: str) -> str:
        """Options, and whether it works in place, as ``name=value``."""
        shown = [f"{name}={getattr(self, name)}" for name in options]
        return ", ".join([*shown, "inplace=True"] if self.inplace else shown)

    def extra_repr(self) -> str:
        """Whether it works in place."""
        return self._shown()


class ELU(_InPlace):
    """x where it is positive, else ``alpha * (exp(x) - 1)``."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input: Tensor) -> Tensor:
        """elu(input)."""
        return functional.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """The factor, and whether it works in place."""
        return self._shown("alpha")


class CELU(ELU):
    """x where it is positive, else ``alpha * (exp(x / alpha) - 1)``."""

    def forward(self, input: Tensor) -> Tensor:
        """celu(input)."""
        return functional.celu(input, self.alpha, self.inplace)


class SELU(_InPlace):
    """The exponential linear unit that keeps mean and variance."""

    def forward(self, input: Tensor) -> Tensor:
        """selu(input)."""
        return functional.selu(input, self.inplace)


class Hardsigmoid(_InPlace):
    """The sigmoid in three lines."""

    def forward(self, input: Tensor) -> Tensor:
        """hardsigmoid(input)."""
        return functional.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        """Nothing."""
        return ""


class Hardswish(Hardsigmoid):
    """x times its `Hardsigmoid`."""

    def forward(self, input: Tensor) -> Tensor:
        """hardswish(input)."""
        return functional.hardswish(input, self.inplace)


class Mish(_InPlace):
    """``x * tanh(softplus(x))``."""

    def forward(self, input: Tensor) -> Tensor:
        """mish(input)."""
        return functional.mish(input, self.inplace)


class Hardtanh(_InPlace):
    """x within bounds."""

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__(inplace)
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        if self.max_val <= self.min_val:
            raise AssertionError("max_val must be larger than min_val")

    def forward(self, input: Tensor) -> Tensor:
        """hardtanh(input)."""
        return functional.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        """The bounds, and whether it works in place."""
        return self._shown("min_val", "max_val")


class ReLU6(Hardtanh):
    """x between 0 and 6."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        """Whether it works in place."""
        return self._shown()


class RReLU(_InPlace):
    """x where it is positive, else times a slope that is drawn while training."""

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.lower, self.upper = lower, upper

    def forward(self, input: Tensor) -> Tensor:
        """rrelu(input)."""
        return functional.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        """The bounds of the slope, and whether it works in place."""
        return self._shown("lower", "upper")


class Threshold(_InPlace):
    """x above a threshold, else a value."""

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.threshold, self.value = threshold, value

    def forward(self, input: Tensor) -> Tensor:
        """threshold(input)."""
        return functional.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        """Threshold and value, and whether it works in place."""
        return self._shown("threshold", "value")


class GLU(Module):
    """The first half times the sigmoid of the second, along ``dim``."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """glu(input)."""
        return functional.glu(input, self.dim)

    def extra_repr(self) -> str:
        """The dimension."""
        return f"dim={self.dim}"


class _Shrink(Module):
    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        """The bound."""
        return f"{self.lambd}"


class Hardshrink(_Shrink):
    """x beyond ``lambd`` of zero, else 0."""

    def forward(self, input: Tensor) -> Tensor:
        """hardshrink(input)."""
        return functional.hardshrink(input, self.lambd)


class Softshrink(_Shrink):
    """x, nearer to zero by ``lambd``."""

    def forward(self, input: Tensor) -> Tensor:
        """softshrink(input)."""
        return functional.softshrink(input, self.lambd)


class Tanhshrink(Module):
    """``x - tanh(x)``."""

    def forward(self, input: Tensor) -> Tensor:
        """tanhshrink(input)."""
        return functional.tanhshrink(input)


class Softsign(Module):
    """``x / (1 + |x|)``."""

    def forward(self, input: Tensor) -> Tensor:
        """softsign(input)."""
        return functional.softsign(input)


class LogSigmoid(Module):
    """The logarithm of the sigmoid."""

    def forward(self, input: Tensor) -> Tensor:
        """logsigmoid(input)."""
        return functional.logsigmoid(input)


class Softplus(Module):
    """``log(1 + exp(beta * x)) / beta``; x itself where ``beta * x`` is above ``threshold``."""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, input: Tensor) -> Tensor:
        """softplus(input)."""
        return functional.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        """Both options."""
        return f"beta={self.beta}, threshold={self.threshold}"


class Softmin(Module):
    """`Softmax` of the negative, along ``dim``."""

    dim: int | None

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """softmin(input)."""
        return functional.softmin(input, self.dim)

    def extra_repr(self) -> str:
        """The dimension."""
        return f"dim={self.dim}"


class Softmax2d(Module):
    """`Softmax` over the channels of (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        """softmax(input) over channels."""
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return functional.softmax(input, -3)


class PReLU(Module):
    """x where it is positive, else times a slope that is learnt: one, or one for each channel."""

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: DType | None = None
    ) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(empty((num_parameters,), dtype=dtype, device=device))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets the slopes to ``init``."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        """prelu(input)."""
        return functional.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """How many slopes."""
        return f"num_parameters={self.num_parameters}"
