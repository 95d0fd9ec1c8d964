"""Conjugates and negatives are views: kept as a bit, worked out where values are read, and written through."""

from __future__ import annotations

import importlib
import io
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from tests.runtime.both import agree, agree_or_raise

Case = Callable[[Any, Any], Any]


def matrix(t: Any, requires_grad: bool = False) -> Any:
    values = [[1 + 2j, 3 - 4j], [5 + 6j, -7j]]
    return t.tensor(values, dtype=t.complex128, requires_grad=requires_grad)


def kept(value: Any) -> tuple[bool, bool]:
    return value.is_conj(), value.is_neg()


VIEWS: dict[str, Case] = {
    "conjugates": lambda t, x: x.conj(),
    "of conjugates": lambda t, x: x.conj().conj(),
    "of a part": lambda t, x: x[0].conj(),
    "a part of them": lambda t, x: x.conj()[:, 1],
    "transposed": lambda t, x: x.mH,
    "of a matrix": lambda t, x: x.H,
    "their real parts": lambda t, x: x.conj().real,
    "their imaginary parts": lambda t, x: x.conj().imag,
    "negatives": lambda t, x: x._neg_view(),
    "negatives of conjugates": lambda t, x: x.conj()._neg_view(),
    "conjugates of negatives": lambda t, x: x._neg_view().conj(),
    "imaginary parts of those": lambda t, x: x._neg_view().conj().imag,
}

READS: dict[str, Case] = {
    "copies": lambda t, y: (y.clone(), kept(y.clone())),
    "in rows": lambda t, y: (y.contiguous(), kept(y.contiguous())),
    "resolved": lambda t, y: (y.resolve_conj(), y.resolve_neg(), kept(y.resolve_conj()), kept(y.resolve_neg())),
    "numbers": lambda t, y: (y.tolist(), y.flatten()[0].item()),
    "text": lambda t, y: repr(y + 0) == repr(y),
    "an array": lambda t, y: y.numpy(force=True).tolist(),
    "arithmetic": lambda t, y: y * y + 1,
    "a reduction": lambda t, y: (y.sum(), y.abs()),
    "joined": lambda t, y: (t.cat([y, y.clone()]), kept(t.cat([y, y.clone()]))),
    "a list of them": lambda t, y: t._foreach_add([y, y.clone()], 1),
    "compared": lambda t, y: (t.equal(y, y.clone()), y == y.clone()),
    "other dtypes": lambda t, y: y.to(t.complex64),
    "what has no values": lambda t, y: kept(t.empty_like(y)),
    "outside the graph": lambda t, y: (y.detach(), kept(y.detach()), kept(y.data)),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_what_they_stand_for_is_read(view: Case, read: Case) -> None:
    def case(t: Any) -> Any:
        y = view(t, matrix(t))
        return y, kept(y), y.stride(), read(t, y)

    agree(case)


WRITES: dict[str, Case] = {
    "in place": lambda t, y: y.mul_(3),
    "a number": lambda t, y: y.fill_(2),
    "zeros": lambda t, y: y.zero_(),
    "an index": lambda t, y: y.__setitem__(0, 9),
    "a copy": lambda t, y: y.copy_(t.ones_like(y) * 5),
    "a mask": lambda t, y: y.masked_fill_(y == y, 4),
    "out": lambda t, y: t.add(y.clone(), 1, out=y),
    "itself": lambda t, y: y.add_(y),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_what_is_written_reaches_the_memory(view: Case, write: Case) -> None:
    def case(t: Any) -> Any:
        x = matrix(t)
        before = x._version
        y = view(t, x)
        write(t, y)
        return x, y, kept(y), x._version > before

    agree(case)


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_gradients_pass_them(view: Case) -> None:
    def case(t: Any) -> Any:
        x = matrix(t, requires_grad=True)
        y = view(t, x)
        (y * y * (2 if not y.is_complex() else 2 - 1j)).sum().real.backward()
        return x.grad, y.grad_fn.name()

    agree(case)


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_a_change_in_place_is_seen_by_the_gradient(view: Case) -> None:
    def case(t: Any) -> Any:
        x = matrix(t, requires_grad=True)
        base = x * (1 + 1j)
        view(t, base).mul_(3)
        seen = view(t, base) * 2
        (base * base * (2 - 1j)).sum().real.backward(retain_graph=True)
        (seen * seen).sum().real.backward()
        return x.grad, base

    agree(case)


@pytest.mark.parametrize("primal", ["resolve_conj", "conj", "_neg_view"])
@pytest.mark.parametrize("tangent", ["resolve_conj", "conj", "_neg_view"])
def test_tangents_pass_them(primal: str, tangent: str) -> None:
    def case(t: Any) -> Any:
        level = t.autograd.forward_ad
        with level.dual_level():
            given = getattr(t.tensor([[1 + 1j, 2 - 2j], [3 + 3j, -4j]], dtype=t.complex128), tangent)()
            dual = level.make_dual(getattr(matrix(t), primal)(), given)
            changed = dual * 1
            view = changed.conj()
            view.mul_(2 + 1j)
            results = (t.real(dual), t.imag(dual), dual.conj().imag, dual.mH @ dual, changed, view)
            return [level.unpack_dual(result).tangent for result in results]

    agree(case)


def test_batches_keep_them() -> None:
    def case(t: Any) -> Any:
        kept_view, read = t.vmap(lambda v: v.conj())(matrix(t)), t.vmap(lambda v: v.conj() * v)(matrix(t))
        changed = matrix(t)
        t.vmap(lambda v: v.conj().mul_(2j))(changed)
        return kept_view, kept(kept_view), read, changed

    agree(case)


def test_without_autograd() -> None:
    def case(t: Any) -> Any:
        with t.inference_mode():
            x = matrix(t)
            return kept(x.mH), x.conj() * 2, x.conj().real, x.conj().imag

    agree(case)


REFUSED: dict[str, Case] = {
    "an array": lambda t, x: x.conj().numpy(),
    "an array of negatives": lambda t, x: x.conj().imag.numpy(),
    "parts as a dimension": lambda t, x: t.view_as_real(x.conj()),
    "another dtype": lambda t, x: x.conj().view(t.float64),
    "another dtype of negatives": lambda t, x: x.conj().imag.view(t.int64),
    "for another library": lambda t, x: x.conj().__dlpack__(),
    "a change of zeros": lambda t, x: t._efficientzerotensor([2]).add_(1),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_the_memory_itself_is_not_given_away(case: Case) -> None:
    agree_or_raise(lambda t: case(t, matrix(t)))


def test_checkpoints_and_pickles_keep_them() -> None:
    import torch

    import mindtorch_v2

    for writer, reader in ((mindtorch_v2, torch), (torch, mindtorch_v2), (mindtorch_v2, mindtorch_v2)):
        for view in (lambda x: x.conj(), lambda x: x.conj().imag):
            held = view(matrix(writer))
            file = io.BytesIO()
            writer.save(held, file)
            file.seek(0)
            found = reader.load(file)
            assert kept(found) == kept(held)
            assert found.tolist() == held.tolist()
    again = pickle.loads(pickle.dumps(matrix(mindtorch_v2).conj()))
    assert again.is_conj()
    assert again.tolist() == matrix(mindtorch_v2).conj().tolist()


def test_zeros_without_memory() -> None:
    def case(t: Any) -> Any:
        zeros = t._efficientzerotensor([2, 3])
        part = zeros[0]
        return zeros._is_zerotensor(), part._is_zerotensor(), zeros.clone()._is_zerotensor(), zeros + 1, part + 2

    agree(case)


FUNCTIONAL: dict[str, Callable[[Any, Any], Any]] = {
    "the conjugate resolved": lambda t, x: t.view_as_real(x.conj().resolve_conj()),
    "the conjugate changed": lambda t, x: t.view_as_real(x.clone().conj().mul_(2).resolve_conj()),
    "the imaginary part": lambda t, x: x.conj().imag,
    "a change of the imaginary part": lambda t, x: x.clone().conj().imag.mul_(2),
    "the negative": lambda t, x: x.real.clone()._neg_view() + 1,
    "the negative changed": lambda t, x: x.real.clone()._neg_view().mul_(2),
    "a product": lambda t, x: x.conj() @ x,
    "what is asked": lambda t, x: t.tensor([x.is_conj(), x.conj().is_conj(), x.conj().clone().is_conj()]),
}


@pytest.mark.parametrize("how", ["functionalize", "a mode"])
@pytest.mark.parametrize("given", ["plain", "conjugated"])
@pytest.mark.parametrize("name", FUNCTIONAL)
def test_without_changes_in_place(name: str, given: str, how: str) -> None:
    def case(t: Any) -> Any:
        x = t.tensor([1 + 2j, 3 - 4j])
        x = x.conj() if given == "conjugated" else x
        if how == "a mode":
            functional = importlib.import_module(f"{t.__name__}._subclasses.functional_tensor").dispatch_functionalize
        else:
            functional = t.func.functionalize
        return functional(lambda x: FUNCTIONAL[name](t, x))(x)

    agree(case)


def test_sizes_of_kept_zeros_one_by_one() -> None:
    """As those of ``zeros``."""
    agree(lambda t: [tuple(t._efficientzerotensor(*sizes).shape) for sizes in ((3,), (2, 3), ((2, 3),), ([],))])
