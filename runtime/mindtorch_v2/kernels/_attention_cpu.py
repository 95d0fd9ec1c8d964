"""Attention and its gradients on the CPU, by operators: head by head."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import mindtorch_v2 as torch

from .._core import Tensor
from ._attention import Problem, Rows, Softmax, TokenSequence, refuse

__all__ = ["compose", "compose_gradients"]


@dataclass(frozen=True)
class _Head:
    """One head of one sequence: where its rows lie in each tensor."""

    problem: Problem
    number: int
    each: TokenSequence
    head: int

    @property
    def key_head(self) -> int:
        return self.head // (self.problem.heads // self.problem.key_heads)

    def of_queries(self, tensor: Tensor, rows: Rows, size: int) -> Tensor:
        start = self.problem.offset(rows, self.number, self.each.first) + self.head * rows.head
        return _strided(tensor, self.each.queries, size, rows, start)

    def of_keys(self, tensor: Tensor, rows: Rows, size: int) -> Tensor:
        problem, each = self.problem, self.each
        if problem.table is None:
            start = problem.offset(rows, self.number, each.key_first) + self.key_head * rows.head
            return _strided(tensor, each.keys, size, rows, start)
        count = -(-each.keys // problem.block_size)
        blocks = [
            _strided(tensor, problem.block_size, size, rows, block * rows.sequence + self.key_head * rows.head)
            for block in problem.table[self.number, :count].tolist()
        ]
        whole: Tensor = torch.cat(blocks)[: each.keys]
        return whole

    def of_statistics(self, tensor: Tensor) -> Tensor:
        """Rows of a tensor of the softmax, whatever numbers there are of each."""
        rows, size = self.problem.lse_rows, tensor.shape[-1]
        return self.of_queries(tensor, Rows(rows.token * size, rows.head * size, rows.sequence * size), size)

    def scores(self) -> Tensor:
        """(queries, keys), scaled, and -inf where a query does not see a key."""
        problem = self.problem
        width, second_width, _ = problem.widths
        found: Tensor = self.of_queries(problem.query, problem.query_rows, width).float() @ (
            self.of_keys(problem.key, problem.key_rows, width).float().t()
        )
        if problem.second is not None:
            q_rows, k_rows = problem.second_rows
            found = found + self.of_queries(problem.second[0], q_rows, second_width).float() @ (
                self.of_keys(problem.second[1], k_rows, second_width).float().t()
            )
        found = found * problem.scale
        left_out = _left_out(problem, self.number, self.each)
        return found if left_out is None else found.masked_fill(left_out, float("-inf"))


def _heads(problem: Problem) -> Iterator[_Head]:
    """Those that have queries and keys."""
    for number, each in enumerate(problem.sequences):
        if each.queries and each.keys:
            for head in range(problem.heads):
                yield _Head(problem, number, each, head)


def compose(problem: Problem, out: Tensor, softmax: Softmax) -> None:
    """Writes what a problem comes to, and what is wanted of its softmax."""
    nothing = float("inf")
    with torch.no_grad():
        out.zero_()
        for left, of_none in ((softmax.logarithms, nothing), (softmax.peaks, -nothing), (softmax.sums, 0.0)):
            if left is not None:
                left.fill_(of_none)
        for each in _heads(problem):
            _compose_head(each, out, softmax)


def _compose_head(one: _Head, out: Tensor, softmax: Softmax) -> None:
    problem, value_width = one.problem, one.problem.widths[2]
    scores = one.scores()
    peak = scores.amax(-1, keepdim=True)
    shares = (scores - peak.masked_fill(peak == float("-inf"), 0.0)).exp()
    total = shares.sum(-1, keepdim=True)
    mixed = shares @ one.of_keys(problem.value, problem.value_rows, value_width).float()
    one.of_queries(out, problem.out_rows, value_width).copy_(mixed / total.masked_fill(total == 0, 1.0))
    if softmax.logarithms is not None:
        one.of_statistics(softmax.logarithms).copy_((peak + total.log()).masked_fill(total == 0, float("inf")))
    for left, found in ((softmax.peaks, peak), (softmax.sums, total)):
        if left is not None:
            one.of_statistics(left).copy_(found)


def compose_gradients(
    problem: Problem, grad: Tensor, out: Tensor, softmax: Softmax, gradients: Sequence[Tensor]
) -> None:
    """Writes the gradients of query, key and value."""
    if softmax.peaks is None or softmax.sums is None:
        raise refuse("attention", "softmax_max and softmax_sum", "what the forward left", None)
    width, _, value_width = problem.widths
    wide = [
        torch.zeros(each.shape) for each in gradients
    ]  # sums over heads and queries, which the gradients' type would round
    with torch.no_grad():
        for one in _heads(problem):
            peak, total = (one.of_statistics(each)[:, :1] for each in (softmax.peaks, softmax.sums))
            shares = (one.scores() - peak).exp() / total
            shares = shares.masked_fill(total == 0, 0.0)
            above = one.of_queries(grad, problem.out_rows, value_width).float()
            delta = (above * one.of_queries(out, problem.out_rows, value_width).float()).sum(-1, keepdim=True)
            q = one.of_queries(problem.query, problem.query_rows, width).float()
            k = one.of_keys(problem.key, problem.key_rows, width).float()
            v = one.of_keys(problem.value, problem.value_rows, value_width).float()
            slopes = shares * (above @ v.t() - delta) * problem.scale
            one.of_queries(wide[0], problem.query_rows, width).add_(slopes @ k)
            one.of_keys(wide[1], problem.key_rows, width).add_(slopes.t() @ q)
            one.of_keys(wide[2], problem.value_rows, value_width).add_(shares.t() @ above)
        for each, found in zip(gradients, wide, strict=True):
            each.copy_(found)


def _strided(tensor: Tensor, count: int, size: int, rows: Rows, start: int) -> Tensor:
    part: Tensor = tensor.as_strided((count, size), (rows.token, 1), tensor.storage_offset() + start)
    return part


def _left_out(problem: Problem, number: int, each: TokenSequence) -> Tensor | None:
    """(queries, keys): the keys that a query does not see; None where it sees all."""
    if problem.causal:
        own, known = torch.arange(each.queries).unsqueeze(1), torch.arange(each.keys).unsqueeze(0)
        unseen: Tensor = known > own + problem.shift(each)
        return unseen
    if problem.mask is None:
        return None
    mask: Tensor = problem.mask[0 if problem.mask.shape[0] == 1 else number]
    return mask[: each.queries, : each.keys] != 0
