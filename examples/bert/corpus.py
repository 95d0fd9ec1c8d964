"""The text as batches of tokens, some hidden. Each follows from its number: a run that goes on sees the same."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Tokens = NDArray[np.int64]
TEXT = Path(__file__).with_name("text.txt")
VOCABULARY, MASK, UNKNOWN = 600, "[MASK]", "[UNK]"
IGNORED = -100  # the label of a place that is not asked for, as losses have it
HELD_OUT = 8  # every eighth line is for evaluation


@dataclass(frozen=True)
class Corpus:
    """A tokenised text: lines to learn from, and those held out, end to end."""

    train: Tokens
    held_out: Tokens
    vocabulary: int
    mask: int


def load(path: Path = TEXT) -> Corpus:
    """Learns a vocabulary of pieces of words from the text, and reads it in these."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # so that ties are broken alike in every run
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    lines = path.read_text("utf-8").splitlines()
    tokenizer = Tokenizer(models.BPE(unk_token=UNKNOWN))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=[UNKNOWN, MASK], show_progress=False)
    tokenizer.train_from_iterator(lines, trainer)
    parts: tuple[list[int], list[int]] = ([], [])
    for number, line in enumerate(lines):
        parts[number % HELD_OUT == 0].extend(tokenizer.encode(line).ids)
    train, held_out = (np.array(part, np.int64) for part in parts)
    return Corpus(train, held_out, tokenizer.get_vocab_size(), tokenizer.token_to_id(MASK))


def batch(corpus: Corpus, number: int, size: int, length: int, *, held_out: bool = False) -> tuple[Tokens, Tokens]:
    """Tokens and labels, (size, length) each: 15 % are asked for, of which 80 % are hidden and 10 % changed."""
    text = corpus.held_out if held_out else corpus.train
    rng = np.random.default_rng([number, held_out])
    starts = rng.integers(0, len(text) - length, size)
    tokens = np.stack([text[start : start + length] for start in starts])
    draws, kinds = rng.random(tokens.shape), rng.random(tokens.shape)
    asked = draws < 0.15
    labels = np.where(asked, tokens, IGNORED)
    changed = np.where(kinds < 0.9, rng.integers(2, corpus.vocabulary, tokens.shape), tokens)
    return np.where(asked, np.where(kinds < 0.8, corpus.mask, changed), tokens), labels
