"""Histograms: how many values lie between which edges."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from tensorboard.compat.proto.summary_pb2 import HistogramProto

__all__ = ["histogram", "histogram_raw", "tensorflow_edges"]

_SMALLEST, _LARGEST, _GROWTH = 1e-12, 1e20, 1.1


@functools.cache
def tensorflow_edges() -> tuple[float, ...]:
    """The edges that histograms have by default: each a tenth further from 0 than the one before."""
    edges, edge = [], _SMALLEST
    while edge < _LARGEST:
        edges.append(edge)
        edge *= _GROWTH
    return (*(-edge for edge in reversed(edges)), 0.0, *edges)


def histogram(values: Any, bins: Any, max_bins: int | None) -> Any:
    """The values between edges, as `numpy.histogram` has them; neighbours are joined so that about ``max_bins`` stay.

    What is left of the first value and right of the last is left out. Raises ValueError without values, or where none
    lies between the edges.
    """
    if values.size == 0:
        raise ValueError("The input has no element.")
    values = values.reshape(-1)
    if values.dtype == bool:
        values = values.astype(np.uint8)
    counts, edges = np.histogram(values, bins=bins)
    if max_bins is not None and len(counts) > max_bins:
        joined = len(counts) // max_bins
        edges = np.append(edges[:-1:joined], edges[-1])
        counts = np.add.reduceat(counts, np.arange(0, len(counts), joined))
    filled = np.flatnonzero(counts)
    if not filled.size:
        raise ValueError("The histogram is empty: no value lies between the edges")
    first, last = filled[0], filled[-1]
    exact = values.astype(np.float64)
    return histogram_raw(
        values.min(),
        values.max(),
        values.size,
        exact.sum(),
        exact.dot(exact),
        edges[first : last + 2].tolist(),
        [0, *counts[first : last + 1].tolist()],  # what is below the first edge
    )


def histogram_raw(
    low: float,
    high: float,
    num: float,
    total: float,
    squares: float,
    limits: Sequence[float],
    counts: Sequence[float],
) -> Any:
    """A histogram that was counted elsewhere: bucket i holds the values up to ``limits[i]``, above the one before."""
    if len(limits) != len(counts):
        raise ValueError(
            f"len(bucket_limits) != len(bucket_counts): each bucket has one limit, got {len(limits)} and {len(counts)}"
        )
    return HistogramProto(
        min=low, max=high, num=num, sum=total, sum_squares=squares, bucket_limit=limits, bucket=counts
    )
