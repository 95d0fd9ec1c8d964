"""``torch._C._nn``: every operator as a function, as ``torch._VF``; and how calls of `to` are read."""

from __future__ import annotations

from ._tensor_methods import parse_to as _parse_to  # noqa: F401
from ._VF import __getattr__ as __getattr__
