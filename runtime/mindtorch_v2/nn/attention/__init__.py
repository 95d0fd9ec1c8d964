"""``torch.nn.attention``: which ways of computing attention may be taken."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...backends._attention import Choice, SDPBackend, choose, chosen

__all__ = ["SDPBackend", "sdpa_kernel"]


@contextmanager
def sdpa_kernel(backends: list[SDPBackend] | SDPBackend, set_priority: bool = False) -> Iterator[None]:
    """Inside, ``scaled_dot_product_attention`` is computed by one of these, in their order with ``set_priority``.

    Where none can compute a call it raises RuntimeError. Raises AssertionError for what is no `SDPBackend` or list.
    """
    if not isinstance(backends, (list, SDPBackend)):
        given = type(backends).__name__
        raise AssertionError(
            f"Backend must be an instance of SDPBackend or a list of SDPBackend instances, got {given}"
        )
    before = chosen()
    ways = (backends,) if isinstance(backends, SDPBackend) else tuple(backends)
    first = ways if set_priority else ()
    choose(Choice(frozenset(ways), (*first, *(way for way in before.order if way not in first))))
    try:
        yield
    finally:
        choose(before)
