"""Draws what a captured step of the decoder queues: ``python -m examples.graph_decode.picture [file]``."""

from __future__ import annotations

import sys
from pathlib import Path

import mindtorch_v2 as torch
from examples.graph_decode.decode import WIDTH, Decoder
from mindtorch_v2 import npu

PICTURE = Path(__file__).resolve().parents[2] / "docs/images/graph_decode.svg"


def draw(path: Path) -> None:
    """Captures a step of a decoder with one small layer, and draws it."""
    decoder = Decoder(layers=1, perceptrons=1)
    x = torch.zeros(decoder.batch, WIDTH).npu()
    decoder.step(x, [0] * decoder.batch)  # compiles the kernels
    graph = npu.NPUGraph()
    graph.enable_debug_mode()
    with npu.graph(graph, auto_dispatch_capture=True):
        decoder.step(x, [0] * decoder.batch)
    graph.debug_dump(str(path))


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE)
