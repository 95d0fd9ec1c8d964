"""`SummaryWriter` beside PyTorch's: what a call writes, event for event, read back by TensorBoard's own reader.

`on_tensorboard.py` has the calls; a process of each side makes them all.
"""

from __future__ import annotations

import ast
import importlib
import json
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.installs import environment_with, installed, our_numpy
from tests.needs import needed

RELEASE = "2.21.0"
CHILD = Path(__file__).with_name("on_tensorboard.py")
# PyTorch draws no video without moviepy. Its proto says of a rescaled image how large it was before.
DIFFERENT = {"graph", "video", "boxes, larger"}
NOT_HERE = {"add_onnx_graph"}  # which writes what another library made


def names(table: str) -> list[str]:
    """The keys of a table of the child, which imports what is not installed here."""
    for node in ast.parse(CHILD.read_text("utf-8")).body:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == table and isinstance(node.value, ast.Dict):
            return [ast.literal_eval(key) for key in node.value.keys if key is not None]
    raise AssertionError(table)


def run(folder: Path, here: bool) -> Any:
    packages = installed(f"tensorboard-{RELEASE}", "", [f"tensorboard=={RELEASE}", our_numpy()])
    command = [sys.executable, str(CHILD), str(folder), *(["--here"] if here else [])]
    ran = subprocess.run(command, env=environment_with(packages), capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return json.loads(ran.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return run(tmp_path_factory.mktemp("ours"), here=True)


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Any:
    needed("torch").__version__  # noqa: B018  (skips where there is none)
    return run(tmp_path_factory.mktemp("theirs"), here=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in names("CASES") if name not in DIFFERENT])
def test_a_call_writes_what_pytorch_writes(name: str, ours: Any, theirs: Any) -> None:
    mine, its = ours["found"][name], theirs["found"][name]
    assert mine == its
    assert mine["files"]


@pytest.mark.slow
def test_all_public_names_are_there(ours: Any, theirs: Any) -> None:
    assert set(theirs["names"]) - set(ours["names"]) == NOT_HERE


@pytest.mark.slow
def test_a_rescaled_image_says_how_large_it_is(ours: Any, theirs: Any) -> None:
    mine, its = (value_of(side, "boxes, larger")["image"] for side in (ours, theirs))
    assert mine["encodedImageString"] == its["encodedImageString"]
    assert (mine["height"], mine["width"]) == (80, 120)


@pytest.mark.slow
def test_a_video_has_its_frames_side_by_side(ours: Any) -> None:
    image = value_of(ours, "video")["image"]
    assert (image["height"], image["width"], image["colorspace"]) == (16, 16, 3)
    assert [(len(pixels), len(pixels[0])) for _, pixels in image["encodedImageString"]] == [(16, 16)] * 2
    pixels = image["encodedImageString"][0][1]
    assert all(pixel == [0, 0, 0, 255] for row in pixels[8:] for pixel in row[8:])  # three videos, four places


@pytest.mark.slow
def test_a_graph_has_the_operators_in_their_modules(ours: Any, theirs: Any) -> None:
    mine, its = (operators(side) for side in (ours, theirs))
    assert mine == its
    assert ("Net/Sequential[rest]/Linear[1]", "aten::linear", (2, 2)) in mine
    nodes = {node["name"]: node for node in graph_of(ours)["node"]}
    assert [name for name in nodes if name.startswith("input/")] == ["input/x", "input/y"]
    assert all(taken in nodes for node in nodes.values() for taken in node.get("input", ()))
    made = nodes[nodes["output/output.1"]["input"][0]]
    assert made["op"] == "prim::TupleConstruct"
    assert [nodes[taken]["op"] for taken in made["input"]] == ["aten::add", "aten::cat"]
    assert ours["found"]["graph"]["tags"] == theirs["found"]["graph"]["tags"]


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "form"), [("float16", "e"), ("bfloat16", "f")])
def test_numbers_of_16_bits_are_written_as_such(dtype: str, form: str, ours: Any) -> None:
    bits = value_of(ours, f"tensor of {dtype}")["tensor"]["halfVal"]
    packed = [struct.pack("<H", number) if form == "e" else struct.pack("<I", number << 16) for number in bits]
    assert [struct.unpack(f"<{form}", number)[0] for number in packed] == [0, 1, 2, 3, 4, 5]


@pytest.mark.slow
def test_what_pytorch_takes_not(ours: Any) -> None:
    image = value_of(ours, "images in a list")["image"]
    assert (image["height"], image["width"]) == (2, 4)
    assert value_of(ours, "reopened")["simpleValue"] == 3
    assert all(ours["found"][name]["error"] is None for name in names("OURS"))


def value_of(side: Any, name: str) -> Any:
    found = side["found"][name]
    assert found["error"] is None
    (event,) = [event for file in found["files"]["events.out."] for event in file if "summary" in event]
    return event["summary"]["value"][0]


def graph_of(side: Any) -> Any:
    (graph,) = [event["graphDef"] for event in side["found"]["graph"]["files"]["events.out."][0] if "graphDef" in event]
    return graph


def operators(side: Any) -> list[tuple[str, str, tuple[int, ...]]]:
    """Where each operator is, its name, and the shape of what it makes."""
    found = []
    for node in graph_of(side)["node"]:
        if node["op"].startswith("aten::"):
            (shape,) = node["attr"]["_output_shapes"]["list"]["shape"]
            sizes = tuple(int(each["size"]) for each in shape.get("dim", ()))
            found.append((node["name"].rpartition("/")[0], node["op"], sizes))
    return found


def test_without_the_package_the_import_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    monkeypatch.delitem(sys.modules, "mindtorch_v2.utils.tensorboard", raising=False)
    with pytest.raises(ImportError, match="pip install tensorboard") as raised:
        importlib.import_module("mindtorch_v2.utils.tensorboard")
    assert raised.value.name == "tensorboard"
