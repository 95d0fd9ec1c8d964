"""BERT for masked language modelling, from ``torch.nn`` alone: whichever ``torch`` is imported.

Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding" (2019), with norms
behind the additions, GELU in its tanh form, and the head's product with the embeddings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

Activation = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Config:
    """Sizes of a model."""

    vocabulary: int
    width: int = 64
    layers: int = 2
    heads: int = 4
    inner: int = 256
    places: int = 64
    dropout: float = 0.1


def bias_then_gelu(x: Any, bias: Any) -> Any:
    """What a feed-forward layer does between its two products."""
    return nn.functional.gelu(x + bias, approximate="tanh")


class FeedForward(nn.Module):  # type: ignore[misc]
    """Two products, and between them ``activation(x, bias)``: the place of the user's own operator."""

    def __init__(self, config: Config, activation: Activation) -> None:
        super().__init__()
        self.into = nn.Linear(config.width, config.inner)
        self.out = nn.Linear(config.inner, config.width)
        self.activation = activation

    def forward(self, x: Any) -> Any:
        """(batch, length, width) to the same."""
        return self.out(self.activation(nn.functional.linear(x, self.into.weight), self.into.bias))


class Layer(nn.Module):  # type: ignore[misc]
    """Attention of every place to every place, then the feed-forward layer; each is added and normalised."""

    def __init__(self, config: Config, activation: Activation) -> None:
        super().__init__()
        self.heads = config.heads
        self.query_key_value = nn.Linear(config.width, 3 * config.width)
        self.joined = nn.Linear(config.width, config.width)
        self.feed_forward = FeedForward(config, activation)
        self.norms = nn.ModuleList([nn.LayerNorm(config.width), nn.LayerNorm(config.width)])
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Any) -> Any:
        """(batch, length, width) to the same."""
        batch, length, width = x.shape
        parts = self.query_key_value(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        seen = nn.functional.scaled_dot_product_attention(parts[0], parts[1], parts[2])
        x = self.norms[0](x + self.dropout(self.joined(seen.transpose(1, 2).reshape(batch, length, width))))
        return self.norms[1](x + self.dropout(self.feed_forward(x)))


class Bert(nn.Module):  # type: ignore[misc]
    """Tokens (batch, length) to logits (batch, length, vocabulary)."""

    def __init__(self, config: Config, activation: Activation = bias_then_gelu) -> None:
        super().__init__()
        self.tokens = nn.Embedding(config.vocabulary, config.width)
        self.places = nn.Embedding(config.places, config.width)
        self.norm = nn.LayerNorm(config.width)
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList([Layer(config, activation) for _ in range(config.layers)])
        self.head = nn.Sequential(nn.Linear(config.width, config.width), nn.GELU(), nn.LayerNorm(config.width))
        self.bias = nn.Parameter(torch.zeros(config.vocabulary))
        self.apply(start)

    def forward(self, tokens: Any) -> Any:
        """Logits of every place."""
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.dropout(self.norm(self.tokens(tokens) + self.places(places)))
        for layer in self.layers:
            x = layer(x)
        return nn.functional.linear(self.head(x), self.tokens.weight, self.bias)


def start(module: Any) -> None:
    """Weights as BERT's start: normal, of deviation 0.02."""
    if isinstance(module, (nn.Linear, nn.Embedding)):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)
