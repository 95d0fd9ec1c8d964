"""PyTorch's OpInfo database run on ours: each sample under both, and what differs. Needs PyTorch and expecttest."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch as pytorch
import yaml

import mindtorch_v2 as ours

__all__ = [
    "DTYPES",
    "Outcome",
    "Skip",
    "converted",
    "entries",
    "error_inputs",
    "find",
    "run",
    "skips",
    "tensors",
    "title",
]

DTYPES = ("float32", "float64", "bfloat16", "int64", "bool", "complex64")
TABLE = Path(__file__).with_name("conformance.yaml")

# How far values may be apart, absolutely and relatively; gradients ten times as far.
TOLERANCES = {"float32": 1e-4, "float64": 1e-7, "bfloat16": 3e-2, "complex64": 1e-4}
SEED = 42  # of each call; some of OpInfo's calls set it themselves


@dataclass(frozen=True)
class Skip:
    """What is not compared of the entries of a name, and why. ``of`` is a kind of check or a dtype; empty: all."""

    name: str
    reason: str
    of: str = ""
    error: str = ""  # a part of the error that ours raises; other errors are failures


@dataclass(frozen=True)
class Outcome:
    """One check of one entry: ``kind`` is ``value``, ``gradient``, ``out``, ``alias`` or ``error``."""

    entry: str
    kind: str
    dtype: str
    fault: str = ""  # what differs; empty: nothing
    skipped: str = ""


@cache
def skips() -> tuple[Skip, ...]:
    """The table of what is not compared."""
    rows = yaml.safe_load(TABLE.read_text("utf-8"))
    return tuple(
        Skip(name, row["reason"], row.get("of", ""), row.get("error", "")) for row in rows for name in row["names"]
    )


@cache
def entries() -> tuple[Any, ...]:
    """The entries, one for each name and variant."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db
    return tuple(op_db)


def title(info: Any) -> str:
    """The name of an entry, with that of its variant."""
    return f"{info.name} {info.variant_test_name}".strip()


_AS_METHODS = (
    "bfloat16", "bool", "byte", "cdouble", "cfloat", "chalf", "char", "double", "float", "half", "int", "long", "short",
    "item",
)  # fmt: skip
_AS_PROPERTIES = ("T", "mT", "H", "mH")
# By name the place of each of our arguments among those that OpInfo gives.
_ORDERS = {
    "einsum": (1, 0),
    "polygamma": (1, 0),
    "special.polygamma": (1, 0),
    "where": (1, 0, 2),
    "nn.functional.embedding": (1, 0),
}


def as_called(name: str) -> Any:
    """Ours, called as OpInfo calls what it has under a name; None where there is none."""
    if name in _AS_PROPERTIES:
        return (lambda x: getattr(x, name)) if hasattr(ours.Tensor, name) else None
    if name in _AS_METHODS:
        return (lambda x, **options: getattr(x, name)(**options)) if hasattr(ours.Tensor, name) else None
    found, order = named(name), _ORDERS[name]
    return found and (lambda *args, **options: found(*(args[k] for k in order), *args[len(order) :], **options))


def find(name: str) -> Any:
    """Our function of that name, or a call of the method; None where there is neither."""
    own = name in _ORDERS or name in _AS_METHODS or name in _AS_PROPERTIES
    return as_called(name) if own else named(name)


def named(name: str) -> Any:
    """As `find`, however OpInfo calls it."""
    name = name.removeprefix("torch.")
    found: Any = ours
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is None and "." not in name and hasattr(ours.Tensor, name):
        return lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)
    return found


def skip_of(info: Any, kind: str, dtype: str, error: BaseException | None = None) -> Skip | None:
    """The row of the table that leaves a check out; one with an error only where ours raises that."""
    for row in skips():
        if row.name not in (info.name, title(info)) or row.of not in ("", kind, dtype):
            continue
        if (not row.error) if error is None else (row.error and row.error in str(error)):
            return row
    return None


# ---------------------------------------------------------------- values of both
def converted(value: Any, known: dict[int, Any]) -> Any:
    """A sample's argument as ours: tensors with the same memory layout, one object for one object."""
    if isinstance(value, pytorch.Tensor):
        if id(value) not in known:
            known[id(value)] = same_layout(value.detach()).requires_grad_(value.requires_grad)
        return known[id(value)]
    if isinstance(value, pytorch.dtype):
        return getattr(ours, str(value).removeprefix("torch."))
    if isinstance(value, pytorch.device):
        return ours.device(str(value))
    if isinstance(value, dict):
        return {name: converted(item, known) for name, item in value.items()}
    if isinstance(value, pytorch.Size):
        return tuple(value)
    if isinstance(value, pytorch.nn.LinearCrossEntropyOptions):
        return ours.nn.LinearCrossEntropyOptions(**converted(dataclasses.asdict(value), known))
    if isinstance(value, pytorch.nn.PairwiseDistance):  # among the samples of a loss
        return functools.partial(
            ours.nn.functional.pairwise_distance, p=value.norm, eps=value.eps, keepdim=value.keepdim
        )
    return type(value)(converted(item, known) for item in value) if isinstance(value, (list, tuple)) else value


def same_layout(tensor: Any) -> Any:
    """Ours with the same values, strides and offset."""
    tensor = tensor.resolve_conj().resolve_neg()
    dtype = converted(tensor.dtype, {})
    if tensor.numel() == 0:
        return ours.zeros(tuple(tensor.shape), dtype=dtype)
    extent = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True)) + 1
    memory = tensor.as_strided((tensor.storage_offset() + extent,), (1,), 0)
    flat = ours.from_numpy(plain(memory).copy()).to(dtype)
    return flat.as_strided(tuple(tensor.shape), tensor.stride(), tensor.storage_offset())


def tensors(*values: Any) -> list[Any]:
    """The tensors among values, in lists too, in order."""
    found: list[Any] = []
    for value in values:
        if isinstance(value, (pytorch.Tensor, ours.Tensor)):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += tensors(*value)
        elif isinstance(value, dict):
            found += tensors(*value.values())
    return found


WIDER = {"torch.bfloat16": "float32", "torch.complex32": "complex64"}  # of dtypes that NumPy does not have


def plain(tensor: Any) -> Any:
    """A tensor of either as an array, of a dtype that NumPy does not have in a wider one."""
    torch = pytorch if isinstance(tensor, pytorch.Tensor) else ours
    wider = WIDER.get(str(tensor.dtype))
    value = tensor.detach() if wider is None else tensor.detach().to(getattr(torch, wider))
    return np.asarray(value.numpy(force=True))


# Whose small elements are what is left of large ones, PyTorch's as well: of these a few bits of the largest may differ.
OF_THE_LARGEST = frozenset(("matrix_exp",))


def differs(mine: Any, theirs: Any, tolerance: float, of_largest: bool = False) -> str:
    """What is unlike of two tensors; empty: nothing."""
    if str(mine.dtype) != str(theirs.dtype):
        return f"dtype {mine.dtype}, not {theirs.dtype}"
    if tuple(mine.shape) != tuple(theirs.shape):
        return f"shape {tuple(mine.shape)}, not {tuple(theirs.shape)}"
    a, b = plain(mine), plain(theirs)
    tolerance = max(tolerance, TOLERANCES.get(str(mine.dtype).removeprefix("torch."), 0.0))
    least = tolerance * (np.abs(b).max(initial=1.0) if of_largest and a.dtype.kind in "fc" else 1.0)
    close = np.isclose(a, b, rtol=tolerance, atol=least, equal_nan=True) if a.dtype.kind in "fc" else a == b
    if np.all(close):
        return ""
    at = np.unravel_index(int(np.argmin(close)), np.shape(close))
    wrong = f"{np.size(close) - np.count_nonzero(close)} of {np.size(close)}"
    return f"{a[at]}, not {b[at]}, at {tuple(map(int, at))}: {wrong}"


# ---------------------------------------------------------------- checks
def caught(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What a call returns, or the exception it raises."""
    try:
        return function(*args, **kwargs)
    except Exception as error:  # whatever it is, it is compared
        return error


Watch = Callable[[Any, Any], str]


def _nothing(mine: Any, theirs: Any) -> str:
    return ""


def run(info: Any, dtype: str, most: int, watch: Watch = _nothing) -> Iterator[Outcome]:
    """The checks of an entry's first samples in a dtype: values, gradients, and what is written to ``out``.

    ``watch(mine, theirs)`` may find fault with a pair of results, too.
    """
    name = title(info)
    row = skip_of(info, "value", dtype)
    if row is not None:
        yield Outcome(name, "value", dtype, skipped=row.reason)
        return
    theirs = getattr(pytorch, dtype)
    differentiable = info.supports_autograd and theirs in info.supported_backward_dtypes("cpu")
    pytorch.manual_seed(0)
    samples = info.sample_inputs("cpu", theirs, requires_grad=differentiable)
    for at, sample in enumerate(itertools.islice(samples, most)):
        yield from _sample(info, dtype, sample, at, differentiable, watch)


def _sample(info: Any, dtype: str, sample: Any, at: int, differentiable: bool, watch: Watch) -> Iterator[Outcome]:
    name, tolerance = title(info), TOLERANCES.get(dtype, 0.0)
    given = (sample.input, *sample.args), sample.kwargs
    with pytorch.random.fork_rng(devices=[]):
        pytorch.manual_seed(SEED)
        expected = caught(info.op, *given[0], **given[1])
    if isinstance(expected, Exception):
        return  # a sample that PyTorch itself refuses
    known: dict[int, Any] = {}
    made = caught(converted, given, known)
    if isinstance(made, Exception):
        yield Outcome(name, "value", dtype, f"sample {at}: {_shown(made)}")
        return
    args, kwargs = made
    ours.manual_seed(SEED)  # the same numbers by chance as PyTorch's
    actual = caught(find(info.name), *args, **kwargs)
    if isinstance(actual, Exception):
        row = skip_of(info, "value", dtype, actual)
        yield Outcome(name, "value", dtype, "" if row else f"sample {at}: {_shown(actual)}", row.reason if row else "")
        return
    results = tensors(expected)
    expected, actual = settled(sample, expected, actual)
    outputs, mine = tensors(expected), tensors(actual)
    if not outputs:
        yield Outcome(name, "value", dtype, "" if str(actual) == str(expected) else f"sample {at}: {actual!r}")
        return
    fault = f"{len(mine)} results, not {len(outputs)}" if len(mine) != len(outputs) else ""
    fault = fault or next(
        (f for a, b in zip(mine, outputs, strict=True) if (f := differs(a, b, tolerance, info.name in OF_THE_LARGEST))),
        "",
    )
    fault = fault or next((f for a, b in zip(mine, outputs, strict=True) if (f := watch(a, b))), "")
    yield Outcome(name, "value", dtype, f"sample {at}: {fault}" if fault else "")
    if fault:
        return
    if at < 4 and info.supports_out:
        yield from _out(info, dtype, sample, results)
    if differentiable and skip_of(info, "gradient", dtype) is None:
        yield from _gradient(info, dtype, (given, known), (outputs, mine), at)


def settled(sample: Any, theirs: Any, mine: Any) -> tuple[Any, Any]:
    """Both results without what PyTorch leaves open in them, as the signs of eigenvectors, by its own tests' rule."""
    pair = tuple(caught(sample.output_process_fn_grad, value) for value in (theirs, mine))
    return (theirs, mine) if any(isinstance(value, Exception) for value in pair) else pair


def _gradient(info: Any, dtype: str, inputs: Any, results: Any, at: int) -> Iterator[Outcome]:
    (given, known), (outputs, mine) = inputs, results
    paired = [(a, b) for a, b in zip(mine, outputs, strict=True) if b.requires_grad]
    leaves = [t for t in tensors(*given) if t.requires_grad]
    if not paired or not leaves:
        return
    starts = [pytorch.randn_like(b.detach()) for _, b in paired]
    wanted = caught(pytorch.autograd.grad, [b for _, b in paired], leaves, starts, allow_unused=True)
    if isinstance(wanted, Exception):
        return
    got = caught(
        ours.autograd.grad,
        [a for a, _ in paired],
        [known[id(t)] for t in leaves],
        converted(starts, {}),
        allow_unused=True,
    )
    fault = _shown(got) if isinstance(got, Exception) else ""
    if not fault:
        for a, b in zip(got, wanted, strict=True):
            if b is None or a is None:  # the same as zeros
                there = a if b is None else b
                fault = fault or ("a gradient where there is none" if there is not None and there.any() else "")
            else:
                fault = fault or differs(a, b, 10 * TOLERANCES.get(dtype, 1e-4))
    yield Outcome(title(info), "gradient", dtype, f"sample {at}: {fault}" if fault else "")


def _out(info: Any, dtype: str, sample: Any, outputs: list[Any]) -> Iterator[Outcome]:
    if skip_of(info, "out", dtype) is not None:
        return
    with ours.no_grad(), pytorch.no_grad():
        args, kwargs = converted((sample.input, *sample.args), {}), converted(sample.kwargs, {})
        targets = [ours.empty(tuple(t.shape), dtype=converted(t.dtype, {})) for t in outputs]
        result = caught(find(info.name), *args, **kwargs, out=targets[0] if len(targets) == 1 else tuple(targets))
        fault = _shown(result) if isinstance(result, Exception) else ""
        pair = (outputs[0], targets[0]) if len(targets) == 1 else (tuple(outputs), tuple(targets))
        theirs, mine = (tensors(value) for value in settled(sample, *pair))
    for a, b in zip(mine, theirs, strict=True):
        fault = fault or differs(a, b.detach(), TOLERANCES.get(dtype, 0.0))
    yield Outcome(title(info), "out", dtype, fault)


def aliases(info: Any) -> Iterator[Outcome]:
    """Whether the entry's other names are there, too."""
    for alias in info.aliases:
        name = alias.name
        yield Outcome(title(info), "alias", "", "" if find(name) is not None else f"{name} is missing")


def error_inputs(info: Any) -> Iterator[Outcome]:
    """Whether what must raise raises PyTorch's class of error."""
    if info.error_inputs_func is None:
        return
    row = skip_of(info, "error", "")
    if row is not None:
        yield Outcome(title(info), "error", "", skipped=row.reason)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for given in info.error_inputs("cpu"):
            sample = given.sample_input
            theirs = caught(info.op, sample.input, *sample.args, **sample.kwargs)
            if not isinstance(theirs, Exception):
                continue
            made = caught(converted, [(sample.input, *sample.args), sample.kwargs], {})
            if isinstance(made, Exception):  # what must be refused cannot even be made here
                continue
            mine = caught(find(info.name), *made[0], **made[1])
            kind = ours.linalg.LinAlgError if isinstance(theirs, pytorch.linalg.LinAlgError) else type(theirs)
            fault = "" if isinstance(mine, kind) else f"{_shown(mine)}, not {_shown(theirs)}"
            yield Outcome(title(info), "error", "", fault)


def _shown(value: Any) -> str:
    return " ".join((repr(value) if isinstance(value, Exception) else f"gives {type(value).__name__}").split())[:220]
