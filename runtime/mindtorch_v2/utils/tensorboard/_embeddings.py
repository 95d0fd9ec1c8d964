"""Points for the embedding projector: files in a folder, and an entry in its configuration."""

from __future__ import annotations

import csv
import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf import text_format
from tensorboard.plugins.projector.projector_config_pb2 import EmbeddingInfo, ProjectorConfig, SpriteMetadata

from ._arrays import in_grid, pixels
from ._media import pillow

__all__ = ["add_embedding"]

_CONFIGURATION = "projector_config.pbtxt"
_ESCAPES = str.maketrans({"%": "%25", "/": "%2f", "\\": "%5c"})  # of what a folder's name cannot have


def add_embedding(
    folder: Path,
    points: Any,
    metadata: Sequence[Any] | None,
    images: Any,
    step: int,
    tag: str,
    header: Sequence[str] | None,
) -> None:
    """Writes points (N, D), a label and an image (C, H, W) for each, as far as given, below ``folder``.

    Raises AssertionError where there are not as many of each, or the points are no matrix.
    """
    if points.ndim != 2:
        raise AssertionError("mat should be 2D, where mat.size(0) is the number of data points")
    if metadata is not None and len(metadata) != len(points):
        raise AssertionError(f"#labels should equal with #data points, got {len(metadata)} and {len(points)}")
    if images is not None and len(images) != len(points):
        raise AssertionError(f"#images should equal with #data points, got {len(images)} and {len(points)}")
    within = Path(f"{step:05}", tag.translate(_ESCAPES))
    if (folder / within).exists():
        warnings.warn(f"{within} exists, and is written anew: add_embedding has a global_step", stacklevel=3)
    (folder / within).mkdir(parents=True, exist_ok=True)
    entry = EmbeddingInfo(tensor_name=f"{tag}:{step:05}", tensor_path=(within / "tensors.tsv").as_posix())
    _write(folder / entry.tensor_path, points.tolist())
    if metadata is not None:
        entry.metadata_path = (within / "metadata.tsv").as_posix()
        rows = [header, *metadata] if header else [[each] for each in metadata]
        _write(folder / entry.metadata_path, rows)
    if images is not None:
        path, (height, width) = (within / "sprite.png").as_posix(), images.shape[2:]
        entry.sprite.CopyFrom(SpriteMetadata(image_path=path, single_image_dim=[width, height]))
        _sprite(images, folder / path)
    _configure(folder / _CONFIGURATION, entry)


def _write(path: Path, rows: Sequence[Any]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, "excel-tab", lineterminator="\n").writerows(rows)


def _sprite(images: Any, path: Path) -> None:
    """One picture of all images, black at its right or below so that it is a square."""
    grid = in_grid(images, math.ceil(math.sqrt(len(images))))
    _, height, width = grid.shape
    square = np.zeros((max(height, width), max(height, width), 3), np.uint8)
    square[:height, :width] = pixels(grid).transpose(1, 2, 0)
    pillow().Image.fromarray(square).save(path)


def _configure(path: Path, entry: Any) -> None:
    """Adds the entry to those of before."""
    config = ProjectorConfig(embeddings=[entry])
    with path.open("a", encoding="utf-8") as file:
        file.write(text_format.MessageToString(config))
