"""What a `SummaryWriter` writes for each call: ``python on_tensorboard.py FOLDER [--here]``, under either ``torch``.

Prints a line of JSON: for each case the events of its files, without the time, and the error that the call raised.
Pictures are decoded, so that what is compared is what they show.
"""

from __future__ import annotations

import io
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

if "--here" in sys.argv:
    import mindtorch_v2

    mindtorch_v2.install_as_torch()

import matplotlib as mpl
import numpy as np
import torch
from google.protobuf.json_format import MessageToDict
from PIL import Image, ImageSequence
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData
from torch.utils.tensorboard import FileWriter, RecordWriter, SummaryWriter

mpl.use("agg")
WHEN = 1.5
random = np.random.RandomState(0)
NORMAL, PICTURE, BATCH = random.randn(300), random.rand(3, 8, 6), random.rand(10, 3, 4, 5)
WIDE, VIDEO = random.rand(3, 40, 60), random.rand(3, 2, 3, 8, 8)
BOXES = [[2.0, 3, 40, 30], [5, 5, 9, 39]]
POINTS = torch.arange(12.0).reshape(4, 3)
LABELS, FOUND = torch.tensor([0, 1, 1, 0, 1]), torch.tensor([0.1, 0.9, 0.3, 0.6, 1.0])


class Net(torch.nn.Module):  # type: ignore[misc]  # of PyTorch, whose imports are not followed
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(3, 4)
        self.rest = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(4, 2))

    def forward(self, x: Any, y: Any) -> Any:
        return self.rest(self.first(x)).tanh() + x.sum(), torch.cat([x, y * 2])


def figures(w: Any) -> None:
    from matplotlib import pyplot

    made = [pyplot.figure(figsize=(1, 1)) for _ in range(2)]
    for number, figure in enumerate(made):
        figure.gca().plot([1, 2, number])
    w.add_figure("one", made[0], 1, close=False, walltime=WHEN)
    w.add_scalar("open", len(pyplot.get_fignums()), 1, WHEN)
    w.add_figure("two", made, 1, walltime=WHEN)
    w.add_scalar("open", len(pyplot.get_fignums()), 2, WHEN)


def closed(w: Any) -> None:
    w.add_scalar("x", 1, 1, WHEN)
    w.close()
    w.close()
    w.add_scalar("x", 2, 2, WHEN)
    w.add_scalars("more", {"a": 1, "b/c": torch.tensor(2.0)}, 3, WHEN)
    w.flush()


def purged(w: Any) -> None:
    with SummaryWriter(w.get_logdir() + "/purged", purge_step=7, filename_suffix=".end") as other:
        other.add_scalar("x", 1, 1, WHEN)


def file_writer(w: Any) -> None:
    other = FileWriter(w.get_logdir() + "/other")
    other.add_summary(summary(2), 3, WHEN)
    other.flush()
    other.add_summary(summary(3), np.int64(4), WHEN)
    other.close()
    w.add_text("folder", str(Path(other.get_logdir()).name), walltime=WHEN)


def reopened(w: Any) -> None:
    writer = w._get_file_writer()
    writer.reopen()
    writer.close()
    writer.reopen()
    writer.add_summary(summary(3), 4, WHEN)


def summary(number: float) -> Any:
    return Summary(value=[Summary.Value(tag="x", simple_value=number)])


def embeddings(w: Any) -> None:
    rows = [["a", 1], ["b", 2], ["c", 3], ["d", 4]]
    images = torch.linspace(0, 1, 4 * 3 * 5 * 6).reshape(4, 3, 5, 6)
    w.add_embedding(POINTS, metadata=["a", "b", "c", "d"], label_img=images, global_step=2)
    w.add_embedding(POINTS, metadata=rows, metadata_header=["x", "y"], tag="o t/h%", global_step=12)
    w.add_embedding(POINTS.numpy())


CASES: dict[str, Callable[[Any], Any]] = {
    "scalar": lambda w: w.add_scalar("loss/a b*", 1.25, 3, WHEN),
    "scalar of a tensor": lambda w: w.add_scalar("a", torch.tensor(2), None, WHEN),
    "scalar of numpy": lambda w: w.add_scalar("a", np.float32(3), np.int64(4), WHEN),
    "scalar by its text": lambda w: w.add_scalar("a", "2.5", 4, WHEN),
    "scalar of new style": lambda w: w.add_scalar("a", torch.tensor([2.5]), 4, WHEN, new_style=True),
    "scalar of float64": lambda w: w.add_scalar("a", 0.1, 4, WHEN, new_style=True, double_precision=True),
    "scalar of old style": lambda w: w.add_scalar("a", 0.1, 4, WHEN, double_precision=True),
    "scalar of two": lambda w: w.add_scalar("a", torch.ones(2), 4, WHEN),
    "scalar of a word": lambda w: w.add_scalar("a", "s", 4, WHEN),
    "scalar of a list": lambda w: w.add_scalar("a", [1], 4, WHEN),
    "scalars": lambda w: w.add_scalars("m/n", {"x": 1, "y/z": torch.tensor(2.0)}, 3, WHEN),
    "tensor": lambda w: w.add_tensor("t", torch.arange(6.0).reshape(2, 3), 3, WHEN),
    "tensor of int64": lambda w: w.add_tensor("t", torch.arange(6), 3, WHEN),
    "tensor of bool": lambda w: w.add_tensor("t", torch.tensor([True, False]), 3, WHEN),
    "tensor of one": lambda w: w.add_tensor("t", torch.tensor(5.0, dtype=torch.float64), 3, WHEN),
    "histogram": lambda w: w.add_histogram("h", NORMAL, 3, walltime=WHEN),
    "histogram of float32": lambda w: w.add_histogram("h", torch.tensor(NORMAL).float(), 3, walltime=WHEN),
    "histogram of uint8": lambda w: w.add_histogram("h", np.arange(200, dtype=np.uint8), 3, walltime=WHEN),
    "histogram of bools": lambda w: w.add_histogram("h", torch.tensor([True, False]), 3, walltime=WHEN),
    "histogram of zeros": lambda w: w.add_histogram("h", np.zeros(3), 3, walltime=WHEN),
    "histogram beyond": lambda w: w.add_histogram("h", np.array([1e25, -3.0]), 3, walltime=WHEN),
    "histogram of a number": lambda w: w.add_histogram("h", 2.0, 3, walltime=WHEN),
    "histogram, auto": lambda w: w.add_histogram("h", torch.arange(5), 3, bins="auto", walltime=WHEN),
    "histogram, edges": lambda w: w.add_histogram("h", NORMAL, 3, bins=[-1, 0.5, 0.7, 9], walltime=WHEN),
    "histogram, few bins": lambda w: w.add_histogram("h", NORMAL, 3, walltime=WHEN, max_bins=20),
    "histogram, 60 in 7": lambda w: w.add_histogram("h", NORMAL, 3, bins=60, max_bins=7, walltime=WHEN),
    "histogram, 60 in 40": lambda w: w.add_histogram("h", NORMAL, 3, bins=60, max_bins=40, walltime=WHEN),
    "histogram of nothing": lambda w: w.add_histogram("h", np.zeros(0), 3, walltime=WHEN),
    "histogram elsewhere": lambda w: w.add_histogram("h", np.array([9.0]), 3, bins=[1, 2, 3], walltime=WHEN),
    "histogram of nan": lambda w: w.add_histogram("h", np.array([np.nan]), 3, walltime=WHEN),
    "histogram raw": lambda w: w.add_histogram_raw("h", 0, 3, 4, 6.0, 14.0, [1, 2, 3], [1, 2, 1], 3, WHEN),
    "histogram raw, uneven": lambda w: w.add_histogram_raw("h", 0, 3, 4, 6.0, 14.0, [1, 2, 3], [1], 3, WHEN),
    "image": lambda w: w.add_image("i", PICTURE, 1, WHEN),
    "image of float32": lambda w: w.add_image("i", torch.tensor(PICTURE).float(), 1, WHEN),
    "image of uint8": lambda w: w.add_image("i", torch.tensor((PICTURE * 255).astype("uint8")), 1, WHEN),
    "image of int64": lambda w: w.add_image("i", (PICTURE * 9).astype("int64"), 1, WHEN),
    "image beyond": lambda w: w.add_image("i", PICTURE * 2 - 0.5, 1, WHEN),
    "image HWC": lambda w: w.add_image("i", PICTURE.transpose(1, 2, 0), 1, WHEN, dataformats="HWC"),
    "image WH": lambda w: w.add_image("i", PICTURE[0].T, 1, WHEN, dataformats="WH"),
    "image grey": lambda w: w.add_image("i", PICTURE[:1], 1, WHEN),
    "image grey, alpha": lambda w: w.add_image("i", PICTURE[:2], 1, WHEN),
    "image alpha": lambda w: w.add_image("i", np.concatenate([PICTURE, PICTURE[:1]]), 1, WHEN),
    "image, few letters": lambda w: w.add_image("i", PICTURE, 1, WHEN, dataformats="CH"),
    "image, a letter twice": lambda w: w.add_image("i", PICTURE, 1, WHEN, dataformats="CCH"),
    "images": lambda w: w.add_images("i", BATCH, 1, WHEN),
    "images NHWC": lambda w: w.add_images("i", torch.tensor(BATCH).permute(0, 2, 3, 1), 1, WHEN, dataformats="NHWC"),
    "images grey": lambda w: w.add_images("i", BATCH[:, :1], 1, WHEN),
    "images alpha": lambda w: w.add_images("i", np.ones((2, 4, 3, 3)), 1, WHEN),
    "boxes": lambda w: w.add_image_with_boxes("b", WIDE, np.array(BOXES), 1, WHEN),
    "boxes, labels": lambda w: w.add_image_with_boxes("b", WIDE, torch.tensor(BOXES), 1, WHEN, labels=["aq", "b"]),
    "boxes, a label": lambda w: w.add_image_with_boxes("b", WIDE, torch.tensor(BOXES[:1]), 1, WHEN, labels="word"),
    "boxes, labels short": lambda w: w.add_image_with_boxes("b", WIDE, np.array(BOXES), 1, WHEN, labels=["a"]),
    "boxes, larger": lambda w: w.add_image_with_boxes("b", WIDE, np.array(BOXES), 1, WHEN, rescale=2),
    "figures": figures,
    "video": lambda w: w.add_video("v", VIDEO, 1, walltime=WHEN),
    "audio": lambda w: w.add_audio("s", torch.linspace(-1, 1, 20), 1, walltime=WHEN),
    "audio, loud": lambda w: w.add_audio("s", np.linspace(-1.5, 1.5, 20)[None], 1, 8000, WHEN),
    "audio, stereo": lambda w: w.add_audio("s", torch.ones(2, 20), 1, walltime=WHEN),
    "text": lambda w: w.add_text("a text", "hello **b** ä", 1, WHEN),
    "graph": lambda w: w.add_graph(Net(), (torch.ones(2, 3), torch.ones(2, 3))),
    "embeddings": embeddings,
    "embedding, labels short": lambda w: w.add_embedding(POINTS, metadata=["a"]),
    "embedding, images short": lambda w: w.add_embedding(POINTS, label_img=torch.ones(3, 3, 2, 2)),
    "embedding of a vector": lambda w: w.add_embedding(POINTS[0]),
    "curve": lambda w: w.add_pr_curve("p", LABELS, FOUND, 1, walltime=WHEN),
    "curve, few": lambda w: w.add_pr_curve("p", LABELS, FOUND, 1, 5, weights=np.arange(1.0, 6), walltime=WHEN),
    "curve, many": lambda w: w.add_pr_curve("p", LABELS.numpy(), FOUND.numpy(), 1, 500, walltime=WHEN),
    "curve of nothing": lambda w: w.add_pr_curve("p", 0 * LABELS, FOUND, 1, 4, weights=2.0, walltime=WHEN),
    "curve raw": lambda w: w.add_pr_curve_raw("p", *(torch.arange(3.0) + i for i in range(6)), 1, 3, walltime=WHEN),
    "charts": lambda w: w.add_custom_scalars(
        {"T": {"x": ["Multiline", ["a/b", "c"]], "m": ["Margin", ["a", "b", "c"]]}, "U": {"z": ["Multiline", ["q"]]}}
    ),
    "chart of two": lambda w: w.add_custom_scalars({"T": {"m": ["Margin", ["a", "b"]]}}),
    "chart of lines": lambda w: w.add_custom_scalars_multilinechart(["a", "b"]),
    "chart of a margin": lambda w: w.add_custom_scalars_marginchart(["a", "b", "c"], "category", "title"),
    "margin of two": lambda w: w.add_custom_scalars_marginchart(["a", "b"]),
    "mesh": lambda w: w.add_mesh(
        "m", POINTS[None], POINTS[None].int(), torch.tensor([[[0, 1, 2]]]), {"b": 1, "a": "x"}, 1, WHEN
    ),
    "points": lambda w: w.add_mesh("m", POINTS[None], global_step=1, walltime=WHEN),
    "mesh of a matrix": lambda w: w.add_mesh("m", POINTS),
    "hparams": lambda w: w.add_hparams(
        {"lr": 0.1, "n": 3, "b": True, "s": "x", "z": None, "t": torch.tensor([2.0])},
        {"m": 1.0, "n/x": torch.tensor(3.0)},
        {"lr": [0.1, 0.2], "s": ["x", "y"], "b": [True, False]},
        run_name="run",
        global_step=5,
    ),
    "hparams that are none": lambda w: w.add_hparams({"lr": [1]}, {"m": 1.0}, run_name="run"),
    "hparams in a list": lambda w: w.add_hparams([], {"m": 1.0}, run_name="run"),
    "hparams, no list": lambda w: w.add_hparams({"lr": 1}, {"m": 1.0}, {"lr": 3}, run_name="run"),
    "hparams, none such": lambda w: w.add_hparams({"lr": 1}, {"m": 1.0}, {"z": [3]}, run_name="run"),
    "hparams, others": lambda w: w.add_hparams({"lr": 1}, {"m": 1.0}, {"lr": ["x"]}, run_name="run"),
    "closed": closed,
    "purged": purged,
    "file writer": file_writer,
}
# What is ours alone: PyTorch writes what nothing reads, or raises.
OURS: dict[str, Callable[[Any], Any]] = {
    "tensor of float16": lambda w: w.add_tensor("t", torch.arange(6.0).half(), 3, WHEN),
    "tensor of bfloat16": lambda w: w.add_tensor("t", torch.arange(6.0).bfloat16(), 3, WHEN),
    "reopened": reopened,
    "images in a list": lambda w: w.add_images("i", [torch.ones(3, 2, 2), torch.zeros(3, 2, 2)], 1, WHEN),
    "a hyperparameter without dimensions": lambda w: w.add_hparams({"t": torch.tensor(2.0)}, {}, run_name="run"),
}


def shown(file: bytes) -> Any:
    """The frames of a picture: modes, sizes and pixels."""
    frames = ImageSequence.Iterator(Image.open(io.BytesIO(file)))
    return [[frame.mode, np.asarray(frame.convert("RGBA")).tolist()] for frame in frames]


def event_of(event: Any) -> Any:
    held = MessageToDict(event)
    if event.wall_time != WHEN:
        del held["wallTime"]
    if event.graph_def:
        held["graphDef"] = MessageToDict(GraphDef.FromString(event.graph_def))
    for value, found in zip(held.get("summary", {}).get("value", ()), event.summary.value, strict=True):
        told = found.metadata.plugin_data
        if told.plugin_name == "hparams":  # whose map comes in any order
            value["metadata"] = MessageToDict(HParamsPluginData.FromString(told.content))
        if found.HasField("image"):
            value["image"]["encodedImageString"] = shown(found.image.encoded_image_string)
    return held


def file_of(path: Path) -> Any:
    if "tfevents" in path.name:
        return [event_of(event) for event in LegacyEventFileLoader(str(path)).Load()]
    return shown(path.read_bytes()) if path.suffix == ".png" else path.read_text("utf-8")


def written(case: Callable[[Any], Any], folder: Path) -> dict[str, Any]:
    """What a case wrote, by the files' places in the folder, and what it raised."""
    writer, error = SummaryWriter(str(folder)), None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            case(writer)
    except (AssertionError, TypeError, ValueError, NotImplementedError, RuntimeError) as raised:
        error = type(raised).__name__
    writer.close()
    files: dict[str, Any] = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        if "tfevents" in name:  # the rest is time, host and process
            name = f"{name.partition('tfevents')[0]}{path.suffix if path.suffix == '.end' else ''}"
        files.setdefault(name, []).append(file_of(path))
    accumulator = EventAccumulator(str(folder)).Reload()
    tags = {kind: found for kind, found in accumulator.Tags().items() if isinstance(found, list)}
    return {"error": error, "files": files, "tags": tags}


def main() -> None:
    cases = CASES | (OURS if "--here" in sys.argv else {})
    folder = Path(sys.argv[1])
    found = {name: written(case, folder / f"case-{number}") for number, (name, case) in enumerate(cases.items())}
    kinds = [RecordWriter.__name__, *(name for name in dir(SummaryWriter) if not name.startswith("_"))]
    print(json.dumps({"found": found, "names": kinds}))


if __name__ == "__main__":
    main()
