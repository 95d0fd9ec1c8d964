"""What is shown as NumPy arrays: tensors and numbers, and images in whatever order their dimensions have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._core import Tensor

__all__ = ["as_array", "in_grid", "pixels", "to_hwc", "video_frames"]


def as_array(value: Any) -> Any:
    """A tensor, an array or a number as an array; a number has one dimension. Raises NotImplementedError for others."""
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, Tensor):
        held = value.detach().cpu().resolve_conj().resolve_neg()
        return (held.float() if held.dtype.name == "bfloat16" else held).numpy()
    if np.isscalar(value):
        return np.array([value])
    raise NotImplementedError(f"Got {type(value)}, but numpy array or torch tensor are expected.")


def pixels(values: Any) -> Any:
    """uint8 as it is; anything else is from 0 to 1, and what lies outside is drawn as the nearest of these."""
    return values if values.dtype == np.uint8 else (values.astype(np.float32) * 255).clip(0, 255).astype(np.uint8)


def in_grid(images: Any, columns: int = 8) -> Any:
    """Images NCHW side by side as one of CHW, rows of up to ``columns``; one channel becomes three.

    Raises AssertionError for other numbers of channels or dimensions.
    """
    if images.ndim != 4 or images.shape[1] not in (1, 3):
        raise AssertionError(f"images must be a 4D array with 1 or 3 channels, got the shape {images.shape}")
    count, _, height, width = images.shape
    images = np.broadcast_to(images, (count, 3, height, width))
    columns = min(count, columns)
    rows = math.ceil(count / columns)
    canvas = np.zeros((3, rows * height, columns * width), images.dtype)
    for number, image in enumerate(images):
        y, x = (number // columns) * height, (number % columns) * width
        canvas[:, y : y + height, x : x + width] = image
    return canvas


def to_hwc(images: Any, layout: str) -> Any:
    """An image, or several in a grid, as HWC. ``layout`` names the dimensions: a permutation of NCHW, CHW or HW.

    One channel becomes three. Raises AssertionError for a layout with a letter twice, or of other dimensions.
    """
    layout = layout.upper()
    if len(set(layout)) != len(layout):
        raise AssertionError(f"a dimension must not stand twice in a layout, got {layout}")
    if len(layout) != images.ndim:
        raise AssertionError(f"the layout {layout} does not fit an image of the shape {images.shape}")
    wanted = {frozenset("NCHW"): "NCHW", frozenset("CHW"): "CHW", frozenset("HW"): "HW"}.get(frozenset(layout))
    if wanted is None:
        raise AssertionError(f"a layout must be a permutation of NCHW, CHW or HW, got {layout}")
    ordered = images.transpose([layout.index(letter) for letter in wanted])
    if wanted == "NCHW":
        ordered = in_grid(ordered)
    if wanted == "HW":
        ordered = ordered[None]
    hwc = ordered.transpose(1, 2, 0)
    return np.repeat(hwc, 3, axis=2) if hwc.shape[2] == 1 else hwc


def video_frames(videos: Any) -> Sequence[Any]:
    """Videos NTCHW side by side, as frames HWC. Places are a power of two, the spare ones black."""
    count, _, channels, _, _ = videos.shape
    doublings = math.ceil(math.log2(count))
    if channels not in (1, 3):
        raise AssertionError(f"videos must have 1 or 3 channels, got the shape {videos.shape}")
    rows = 2 ** (doublings // 2)
    columns = 2**doublings // rows
    padding = np.zeros((2**doublings - count, *videos.shape[1:]), videos.dtype)
    placed = np.concatenate([videos, padding])
    return [in_grid(placed[:, moment], columns).transpose(1, 2, 0) for moment in range(videos.shape[1])]
