"""Decodes tokens with a small transformer on the NPU, eagerly and in a captured graph, and compares the two.

The sequences of a batch have prompts of different lengths, and grow by a token a step. In the graph every step is one
replay: before it, an update says how long the sequences are by now, and where their new keys and values go.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import mindtorch_v2 as torch
from mindtorch_v2 import npu

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from examples.graph_decode.generated.ops import project, write_rows

LAYERS, PERCEPTRONS, WIDTH, HEADS, VOCABULARY, LONGEST = 3, 6, 32, 4, 64, 64
PROMPTS = (3, 9)  # tokens that each sequence begins with
STEPS = 48

attention = torch.ops.npu.npu_fused_infer_attention_score


@dataclass(frozen=True)
class Layer:
    """The weights of a layer, (outputs, inputs) each, and its caches, (sequences, places, width)."""

    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    out: torch.Tensor
    perceptrons: list[tuple[torch.Tensor, torch.Tensor]]
    keys: torch.Tensor
    values: torch.Tensor


class Decoder:
    """A transformer of few layers with random weights; `step` is all that is queued for a token of each sequence."""

    def __init__(
        self, seed: int = 0, device: str = "npu", layers: int = LAYERS, perceptrons: int = PERCEPTRONS
    ) -> None:
        rng = np.random.default_rng(seed)
        self.device, self.batch = device, len(PROMPTS)

        def weight(outputs: int, inputs: int) -> torch.Tensor:
            values = 2.5 * rng.standard_normal((outputs, inputs)) / np.sqrt(inputs)
            made: torch.Tensor = torch.from_numpy(values.astype(np.float32)).to(device)
            return made

        def cache() -> torch.Tensor:
            made: torch.Tensor = torch.zeros(self.batch, LONGEST, WIDTH).to(device)
            return made

        self.embedding = rng.standard_normal((VOCABULARY, WIDTH)).astype(np.float32)  # on the host, as tokens are
        self.places = rng.standard_normal((LONGEST, WIDTH)).astype(np.float32)
        self.unembedding = torch.from_numpy(self.embedding / np.sqrt(WIDTH).astype(np.float32)).to(device)
        square = (WIDTH, WIDTH)
        self.layers = [
            Layer(
                query=weight(*square),
                key=weight(*square),
                value=weight(*square),
                out=weight(*square),
                perceptrons=[(weight(2 * WIDTH, WIDTH), weight(WIDTH, 2 * WIDTH)) for _ in range(perceptrons)],
                keys=cache(),
                values=cache(),
            )
            for _ in range(layers)
        ]
        self.prompts = [list(rng.integers(0, VOCABULARY, count)) for count in PROMPTS]

    def inputs(self, tokens: list[int], places: list[int]) -> torch.Tensor:
        """The rows (sequences, width) that the tokens at these places are, on the host."""
        return torch.from_numpy(self.embedding[tokens] + self.places[places])

    def step(self, x: torch.Tensor, places: list[int]) -> torch.Tensor:
        """Logits (sequences, vocabulary) of the next tokens; the new keys and values go to these places."""
        lengths = [place + 1 for place in places]
        for layer in self.layers:
            write_rows(layer.keys, project(x, layer.key), places)
            write_rows(layer.values, project(x, layer.value), places)
            mixed, _ = attention(
                project(x, layer.query).unsqueeze(1),
                layer.keys,
                layer.values,
                actual_seq_lengths_kv=lengths,
                num_heads=HEADS,
                scale=(WIDTH // HEADS) ** -0.5,
                input_layout="BSH",
            )
            x = x + project(mixed.squeeze(1), layer.out)
            for wide, narrow in layer.perceptrons:
                x = x + project(torch.relu(project(x, wide)), narrow)
        logits: torch.Tensor = project(x, self.unembedding)
        return logits

    def update(self, places: list[int]) -> list[dict[str, Any]]:
        """What changes of the captured operators of `step`: each takes those of these keys that it has."""
        return [{"at": places, "actual_seq_lengths_kv": [place + 1 for place in places]}]


def _decode(decoder: Decoder, steps: int, run: Callable[[list[int], list[int]], torch.Tensor]) -> list[list[int]]:
    """Feeds the prompts, then every new token; returns the tokens of each step. Short prompts end earlier."""
    said = [list(prompt) for prompt in decoder.prompts]
    fed = [0] * decoder.batch
    new: list[list[int]] = []
    while len(new) < steps:
        logits = run([tokens[place] for tokens, place in zip(said, fed, strict=True)], list(fed))
        chosen = [int(token) for token in logits.cpu().numpy().argmax(-1)]
        for number, token in enumerate(chosen):
            fed[number] += 1
            if fed[number] == len(said[number]):
                said[number].append(token)
        new.append(chosen)
    return new


def decode_eagerly(decoder: Decoder, steps: int, progress: Callable[[], None] = lambda: None) -> list[list[int]]:
    """Every operator of every step is called from Python."""

    def run(tokens: list[int], places: list[int]) -> torch.Tensor:
        progress()
        return decoder.step(decoder.inputs(tokens, places).to(decoder.device), places)

    return _decode(decoder, steps, run)


def decode_in_a_graph(decoder: Decoder, steps: int, progress: Callable[[], None] = lambda: None) -> list[list[int]]:
    """Every step is an update and a replay of one graph."""
    x = torch.zeros(decoder.batch, WIDTH).to(decoder.device)
    graph = npu.NPUGraph()
    with npu.graph(graph, auto_dispatch_capture=True):
        logits = decoder.step(x, [0] * decoder.batch)

    def run(tokens: list[int], places: list[int]) -> torch.Tensor:
        progress()
        npu.copy_(x, decoder.inputs(tokens, places))
        graph.update(decoder.update(places))
        graph.replay()
        return logits

    return _decode(decoder, steps, run)


def main() -> None:
    """Decodes both ways, with progress, and shows what came of it."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.table import Table

    console = Console()
    console.print(f"Decoding {STEPS} tokens of {len(PROMPTS)} sequences on {npu.get_device_name()}")
    decoder = Decoder()
    decode_eagerly(decoder, 1)  # compiles the kernels
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    found: dict[str, tuple[list[list[int]], float, float]] = {}
    with Progress(*columns, console=console) as bar:
        for name, decode in {"eager": decode_eagerly, "graph": decode_in_a_graph}.items():
            task = bar.add_task(name, total=STEPS)
            wall, own = time.perf_counter(), time.thread_time()
            tokens = decode(decoder, STEPS, lambda task=task: bar.advance(task))  # type: ignore[misc]
            found[name] = tokens, time.perf_counter() - wall, time.thread_time() - own
    table = Table("", "a step takes", "of that, this thread", "tokens of the first sequence")
    for name, (tokens, wall, own) in found.items():
        shown = " ".join(str(step[0]) for step in tokens[-8:])
        table.add_row(name, f"{wall / STEPS * 1e3:.2f} ms", f"{own / STEPS * 1e3:.2f} ms", f"… {shown}")
    console.print(table)
    same = found["eager"][0] == found["graph"][0]
    console.print("The tokens are the same." if same else "The tokens differ!")
    raise SystemExit(0 if same else 1)


if __name__ == "__main__":
    main()
