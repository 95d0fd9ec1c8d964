"""Images, videos and sound as summaries hold them: files in memory."""

from __future__ import annotations

import io
import math
import warnings
import wave
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
from tensorboard.compat.proto.summary_pb2 import Summary

__all__ = ["audio", "draw_boxes", "figure_pixels", "image", "pillow", "video"]

_LINE, _MARGIN = 2, 0.05  # of a box, in pixels; around a label, of its height
_RED, _BLACK = "red", "black"


def pillow() -> ModuleType:
    """The package that writes images. Raises ModuleNotFoundError, and says for what it is needed."""
    try:
        import PIL.Image
        import PIL.ImageDraw
        import PIL.ImageFont
    except ModuleNotFoundError:
        raise ModuleNotFoundError("images are written by the package pillow: pip install pillow", name="PIL") from None
    return PIL


def image(hwc: Any, rescale: float = 1, boxes: Any = None, labels: Sequence[str] | None = None) -> Any:
    """uint8 pixels HWC as a PNG, made larger or smaller, with boxes drawn on it."""
    height, width, channels = hwc.shape
    size = int(width * rescale), int(height * rescale)
    picture = pillow().Image.fromarray(hwc)
    if boxes is not None:
        draw_boxes(picture, boxes, labels)
    if size != picture.size:
        picture = picture.resize(size, pillow().Image.Resampling.LANCZOS)
    file = io.BytesIO()
    picture.save(file, format="PNG")
    return Summary.Image(height=size[1], width=size[0], colorspace=channels, encoded_image_string=file.getvalue())


def draw_boxes(picture: Any, boxes: Any, labels: Sequence[str] | None) -> None:
    """Draws rows of (left, top, right, bottom) on a picture, each with its label at the lower left."""
    draw = pillow().ImageDraw.Draw(picture)
    font: Any = pillow().ImageFont.load_default() if labels is not None else None
    for number, (left, top, right, bottom) in enumerate(boxes):
        corners = [(left, top), (left, bottom), (right, bottom), (right, top), (left, top)]
        draw.line(corners, width=_LINE, fill=_RED)
        if labels is not None:
            x0, y0, x1, y1 = font.getbbox(labels[number])
            wide, high = x1 - x0, y1 - y0
            margin = math.ceil(_MARGIN * high)
            draw.rectangle([(left, bottom - high - 2 * margin), (left + wide, bottom)], fill=_RED)
            draw.text((left + margin, bottom - high - margin), labels[number], fill=_BLACK, font=font)


def video(frames: Sequence[Any], fps: float) -> Any:
    """Frames HWC of uint8 as an animated GIF."""
    pictures = [pillow().Image.fromarray(np.ascontiguousarray(frame)) for frame in frames]
    file = io.BytesIO()
    pictures[0].save(file, format="GIF", save_all=True, append_images=pictures[1:], duration=round(1000 / fps), loop=0)
    height, width, channels = frames[0].shape
    return Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=file.getvalue())


def figure_pixels(figure: Any) -> Any:
    """A figure of matplotlib, drawn: uint8 HWC. Raises ModuleNotFoundError where that is not installed."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "figures are drawn by the package matplotlib: pip install matplotlib", name="matplotlib"
        ) from None
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[:, :, :3]


def audio(samples: Any, rate: int) -> Any:
    """Samples from -1 to 1, of one channel, as a WAV file of 16 bits.

    What is louder is clipped, with a warning. Raises AssertionError for samples of more than one dimension.
    """
    samples = samples.squeeze()
    if samples.ndim != 1:
        raise AssertionError(f"sound must have one dimension, got the shape {samples.shape}")
    if abs(samples).max(initial=0) > 1:
        warnings.warn("sound is louder than 1, and is clipped", stacklevel=4)
    levels = (samples.clip(-1, 1) * np.iinfo(np.int16).max).astype("<i2")
    file = io.BytesIO()
    with wave.open(file, "wb") as written:
        written.setnchannels(1)
        written.setsampwidth(2)
        written.setframerate(rate)
        written.writeframes(levels.tobytes())
    return Summary.Audio(
        sample_rate=rate,
        num_channels=1,
        length_frames=len(levels),
        encoded_audio_string=file.getvalue(),
        content_type="audio/wav",
    )
