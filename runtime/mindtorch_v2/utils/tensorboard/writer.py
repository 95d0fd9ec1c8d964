"""``SummaryWriter``: what a program shows of its training."""

from __future__ import annotations

import datetime
import os
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from tensorboard.compat.proto.event_pb2 import Event, SessionLog

from ..._core import Tensor
from . import _curves, _embeddings, _graphs, _histograms, _hparams, _layouts, _media
from ._arrays import as_array, in_grid, pixels, to_hwc, video_frames
from ._files import FileWriter
from ._protos import one, strings, summary_of, tensor_proto, with_plugin

__all__ = ["FileWriter", "SummaryWriter"]

_FILE_VERSION = "brain.Event:2"


class SummaryWriter:
    """Writes what TensorBoard shows into event files of ``log_dir``, without holding up the program.

    Without ``log_dir`` the folder is ``runs/``, the time, the host's name and ``comment``. ``purge_step`` hides what an
    earlier run wrote of this step and later ones. Of the rest see `FileWriter`. Every method takes a tag, which may
    have slashes; most also the step and the time of the event. After `close` the next one opens another file.
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            now = datetime.datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = f"runs/{now}_{socket.gethostname()}{comment}"
        self.log_dir, self.purge_step = log_dir, purge_step
        self.max_queue, self.flush_secs, self.filename_suffix = max_queue, flush_secs, filename_suffix
        self.default_bins = list(_histograms.tensorflow_edges())
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] | None = None
        self._get_file_writer()

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _get_file_writer(self) -> FileWriter:
        """The writer of the folder, which is opened where none is."""
        if self.file_writer is None:
            self.file_writer = self._opened(str(self.log_dir))
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                first = self.purge_step
                self.file_writer.add_event(Event(step=first, file_version=_FILE_VERSION))
                self.file_writer.add_event(Event(step=first, session_log=SessionLog(status=SessionLog.START)))
                self.purge_step = None
        return self.file_writer

    def _opened(self, folder: str) -> FileWriter:
        return FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)

    def _add(self, summary: Any, step: int | None, walltime: float | None) -> None:
        self._get_file_writer().add_summary(summary, step, walltime)

    def get_logdir(self) -> str | os.PathLike[str]:
        """The folder."""
        return self.log_dir

    def flush(self) -> None:
        """Returns when all is written."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Writes what waits, and closes the files."""
        for writer in (self.all_writers or {}).values():
            writer.close()
        self.file_writer = self.all_writers = None

    # ------------------------------------------------------------ numbers
    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """One number, as a float32. ``new_style`` writes a tensor, which ``double_precision`` makes one of float64.

        Raises AssertionError for a tensor of more than one element.
        """
        self._add(_scalar(tag, scalar_value, new_style, double_precision), global_step, walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: Mapping[str, Any],
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Several numbers in one chart: each key of the dict is a run of its own, in a folder below ``log_dir``."""
        walltime = time.time() if walltime is None else walltime
        top = self._get_file_writer().get_logdir()
        for tag, value in tag_scalar_dict.items():
            folder = f"{top}/{main_tag.replace('/', '_')}_{tag}"
            writers = self.all_writers
            if writers is None:
                raise RuntimeError("the SummaryWriter was closed while it wrote")
            if folder not in writers:
                writers[folder] = self._opened(folder)
            writers[folder].add_summary(_scalar(main_tag, value), global_step, walltime)

    def add_tensor(
        self, tag: str, tensor: Tensor, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """A tensor of any shape, with its dtype."""
        self._add(summary_of(with_plugin(tag, "tensor", tensor_proto(tensor))), global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: int | None = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """How values of any shape are distributed. ``bins`` are edges, their number, or a way of `numpy.histogram`.

        With "tensorflow" each edge is a tenth further from 0 than the one before. Raises ValueError without values.
        """
        edges = self.default_bins if isinstance(bins, str) and bins == "tensorflow" else bins
        histogram = _histograms.histogram(as_array(values), edges, max_bins)
        self._add(one(tag, histo=histogram), global_step, walltime)

    def add_histogram_raw(
        self,
        tag: str,
        min: float,
        max: float,
        num: int,
        sum: float,
        sum_squares: float,
        bucket_limits: Sequence[float],
        bucket_counts: Sequence[float],
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """A histogram that the program counted: of each bucket the upper limit, and how many values are in it."""
        limits, counts = np.asarray(bucket_limits).tolist(), np.asarray(bucket_counts).tolist()
        histogram = _histograms.histogram_raw(min, max, num, sum, sum_squares, limits, counts)
        self._add(one(tag, histo=histogram), global_step, walltime)

    # ------------------------------------------------------------ images, sound, text
    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """An image of uint8, or of numbers from 0 to 1. ``dataformats`` names its dimensions."""
        hwc = pixels(to_hwc(as_array(img_tensor), dataformats))
        self._add(one(tag, image=_media.image(hwc)), global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Several images side by side, rows of eight: a tensor (N, 3, H, W), or a list of images ``dataformats``."""
        if isinstance(img_tensor, (list, tuple)):
            img_tensor = np.stack([as_array(image) for image in img_tensor])
            dataformats = dataformats if "N" in dataformats.upper() else f"N{dataformats}"
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: Any,
        box_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        rescale: float = 1,
        dataformats: str = "CHW",
        labels: str | Sequence[str] | None = None,
    ) -> None:
        """An image with boxes (N, 4): left, top, right, bottom. Labels are drawn where there is one for each box."""
        boxes = as_array(box_tensor)
        if isinstance(labels, str):
            labels = [labels]
        if labels is not None and len(labels) != len(boxes):
            labels = None
        image = _media.image(pixels(to_hwc(as_array(img_tensor), dataformats)), rescale, boxes.tolist(), labels)
        self._add(one(tag, image=image), global_step, walltime)

    def add_figure(
        self,
        tag: str,
        figure: Any,
        global_step: int | None = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        """A figure of matplotlib, or a list of them, drawn as an image; ``close`` closes them then."""
        several = isinstance(figure, list)
        figures = figure if several else [figure]
        drawn = np.stack([_media.figure_pixels(each) for each in figures])
        if close:
            from matplotlib import pyplot

            for each in figures:
                pyplot.close(each)
        hwc = in_grid(drawn.transpose(0, 3, 1, 2)).transpose(1, 2, 0)
        self._add(one(tag, image=_media.image(np.ascontiguousarray(hwc))), global_step, walltime)

    def add_video(
        self, tag: str, vid_tensor: Any, global_step: int | None = None, fps: float = 4, walltime: float | None = None
    ) -> None:
        """Videos (N, T, C, H, W) of uint8, or of numbers from 0 to 1, side by side as an animated image."""
        frames = video_frames(pixels(as_array(vid_tensor)))
        self._add(one(tag, image=_media.video(frames, fps)), global_step, walltime)

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: int | None = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """Sound of one channel, (1, L) or (L,), whose samples are from -1 to 1."""
        self._add(one(tag, audio=_media.audio(as_array(snd_tensor), sample_rate)), global_step, walltime)

    def add_text(
        self, tag: str, text_string: str, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """A text, which TensorBoard reads as Markdown."""
        text = strings([text_string.encode()], (1,))
        self._add(summary_of(with_plugin(f"{tag}/text_summary", "text", text)), global_step, walltime)

    # ------------------------------------------------------------ models and what they find
    def add_graph(
        self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True
    ) -> None:
        """The operators that a model runs for these inputs, by the modules they are in; see `torch.jit.trace`.

        ``verbose`` prints the graph; without ``use_strict_trace`` the model may return lists and dicts.
        """
        self._get_file_writer().add_graph(_graphs.graph_of(model, input_to_model, use_strict_trace, verbose))

    def add_embedding(
        self,
        mat: Any,
        metadata: Sequence[Any] | None = None,
        label_img: Any = None,
        global_step: int | None = None,
        tag: str = "default",
        metadata_header: Sequence[str] | None = None,
    ) -> None:
        """Points (N, D) for the projector, with a label each (a row each under a header), and images (N, C, H, W)."""
        images = None if label_img is None else as_array(label_img)
        folder = Path(self._get_file_writer().get_logdir())
        _embeddings.add_embedding(folder, as_array(mat), metadata, images, global_step or 0, tag, metadata_header)

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: int | None = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Precision over recall: labels of 0 and 1, the predictions for 1, from 0 to 1, and what each counts for."""
        thresholds = min(num_thresholds, _curves.MOST_THRESHOLDS)
        weighed = None if weights is None else as_array(weights)
        rows = _curves.curve_of(as_array(labels), as_array(predictions), thresholds, weighed)
        self._add(_curves.curve(tag, rows, thresholds), global_step, walltime)

    def add_pr_curve_raw(
        self,
        tag: str,
        true_positive_counts: Any,
        false_positive_counts: Any,
        true_negative_counts: Any,
        false_negative_counts: Any,
        precision: Any,
        recall: Any,
        global_step: int | None = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """The same, counted by the program: each has a value for every threshold. ``weights`` is not looked at."""
        counts = (true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts)
        rows = np.stack([as_array(row) for row in (*counts, precision, recall)])
        self._add(_curves.curve(tag, rows, min(num_thresholds, _curves.MOST_THRESHOLDS)), global_step, walltime)

    def add_custom_scalars_multilinechart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """A chart of several tags."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """A chart of a tag between two others: value, lower, upper. Raises AssertionError for other than three."""
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_custom_scalars(self, layout: Mapping[str, Mapping[str, Sequence[Any]]]) -> None:
        """All charts: ``{category: {title: ["Multiline", [tags...]]}}``, or "Margin" with three tags. Once a run."""
        self._add(_layouts.charts(layout), None, None)

    def add_mesh(
        self,
        tag: str,
        vertices: Any,
        colors: Any = None,
        faces: Any = None,
        config_dict: Mapping[str, Any] | None = None,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Points (B, N, 3), their colours (B, N, 3), and triangles of three points' numbers (B, M, 3).

        ``config_dict`` is what TensorBoard tells three.js. Raises ValueError for other shapes.
        """
        self._add(_layouts.mesh(tag, vertices, faces, colors, config_dict), global_step, walltime)

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: dict[str, list[Any]] | None = None,
        run_name: str | None = None,
        global_step: int | None = None,
    ) -> None:
        """What a run was made with, and what came of it: a run of its own, in a folder below ``log_dir``.

        The folder has the time for its name where there is no ``run_name``. Raises TypeError and ValueError for what
        is no hyperparameter.
        """
        summaries = _hparams.hyperparameters(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = Path(self.log_dir, str(time.time()) if run_name is None else run_name)
        with SummaryWriter(folder) as run:
            for summary in summaries:
                run._add(summary, global_step, None)
            for name, value in metric_dict.items():
                run.add_scalar(name, value, global_step)


def _scalar(tag: str, value: Any, new_style: bool = False, double_precision: bool = False) -> Any:
    number = as_array(value).squeeze() if not isinstance(value, str) else np.array(float(value))
    if number.ndim:
        raise AssertionError(f"a scalar has one element, got the shape {number.shape}")
    if not new_style:
        return one(tag, simple_value=float(number))
    kind = "float64" if double_precision else "float32"
    proto = tensor_proto(number.astype(kind))
    proto.ClearField("tensor_shape")  # of a number there is none
    return summary_of(with_plugin(tag, "scalars", proto))
