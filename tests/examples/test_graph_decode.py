"""The decoder of the example: the same tokens in a graph as eagerly, and no mistakes in its kernels."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mindtorch_v2 as torch
from examples.graph_decode.decode import WIDTH, Decoder, decode_eagerly, decode_in_a_graph


def test_a_graph_says_the_same_as_eager_calls() -> None:
    for seed in range(2):
        decoder = Decoder(seed)
        eager, steps = decode_eagerly(decoder, 14), []
        assert decode_in_a_graph(decoder, 14, lambda steps=steps: steps.append(0)) == eager
        assert len(steps) == 14
        assert len({token for step in eager for token in step}) > 3


def reference(decoder: Decoder, tokens: list[list[int]]) -> np.ndarray:
    """Logits (tokens, vocabulary) of one sequence, by NumPy and without caches."""
    x = decoder.embedding[tokens] + decoder.places[: len(tokens)]

    def of(tensor: torch.Tensor) -> np.ndarray:
        return tensor.cpu().numpy().astype(np.float64)

    for layer in decoder.layers:
        query, key, value = (x @ of(weight).T for weight in (layer.query, layer.key, layer.value))
        heads = 4
        split = [part.reshape(len(tokens), heads, -1).transpose(1, 0, 2) for part in (query, key, value)]
        scores = split[0] @ split[1].transpose(0, 2, 1) * (WIDTH // heads) ** -0.5
        scores[:, np.triu(np.ones(scores.shape[1:], bool), 1)] = -np.inf
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (shares / shares.sum(-1, keepdims=True)) @ split[2]
        x = x + mixed.transpose(1, 0, 2).reshape(len(tokens), -1) @ of(layer.out).T
        for wide, narrow in layer.perceptrons:
            x = x + np.maximum(x @ of(wide).T, 0) @ of(narrow).T
    return x @ of(decoder.unembedding).T


def test_it_is_a_transformer() -> None:
    decoder = Decoder(3)
    tokens = list(np.random.default_rng(0).integers(0, 64, 6))
    expected = reference(decoder, tokens)
    for place, token in enumerate(tokens):
        x = decoder.inputs([token, token], [place, place]).to("npu")
        logits = decoder.step(x, [place, place]).cpu().numpy()
        scale = np.abs(expected[place]).max()
        np.testing.assert_allclose(logits[0] / scale, expected[place] / scale, atol=2e-5)


def test_it_runs_as_the_readme_says(repo_root: Path, child_env: dict[str, str]) -> None:
    (command,) = re.findall(r"```sh\npython (.*?)\n```", (repo_root / "examples/graph_decode/README.md").read_text())
    done = subprocess.run([sys.executable, command], cwd=repo_root, env=child_env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "The tokens are the same." in done.stdout
    assert re.search(r"graph\s*\u2502\s*[\d.]+ ms", done.stdout)


@pytest.mark.parametrize("graph", [False, True])
def test_the_checker_finds_nothing(repo_root: Path, child_env: dict[str, str], graph: bool) -> None:
    script = (
        "from examples.graph_decode import decode as d\n"
        f"print(len(d.{'decode_in_a_graph' if graph else 'decode_eagerly'}(d.Decoder(layers=1, perceptrons=1), 4)))\n"
    )
    path = os.pathsep.join(filter(None, [str(repo_root), child_env.get("PYTHONPATH")]))
    env = {**child_env, "MINDTORCH_SIM_CHECK": "1", "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", script], cwd=repo_root, env=env, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("4\n", "")
