"""Everyday calls, which the core answers at once: tensors made and read give what PyTorch gives, whoever follows."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest

import mindtorch_v2
from tests.runtime.both import Case, agree

DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
          "complex128", "float8_e5m2", "uint16", "uint32", "uint64")  # fmt: skip


def kind(value: Any) -> Any:
    """A value with its type: True is no 1."""
    return [kind(item) for item in value] if isinstance(value, list) else (type(value).__name__, repr(value))


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_are_read_as_their_kind(dtype: str) -> None:
    def case(torch: Any) -> Any:
        x = torch.tensor([[0, 1, 3], [5, 2, 1]]).to(getattr(torch, dtype))
        parts = x, x.t(), x[1:, ::2], x[0], x[1, 2]
        return [kind(part.tolist()) for part in parts], kind(x[1, 2].item()), kind(x[:1, 1:2].item()), bool(x[1, 0])

    agree(case)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize(
    "bits", [0, 1, 2, 0x3FF, 0x400, 0x3C01, 0x7BFF, 0x7C00, 0x7C01, 0x8000, 0x8001, 0xFBFF, 0xFC00]
)
def test_odd_floats_are_read(dtype: str, bits: int) -> None:
    def case(torch: Any) -> Any:
        wide = torch.tensor([bits - (1 << 16) if bits >> 15 else bits], dtype=torch.int16)
        x = wide.view(torch.float16).to(getattr(torch, dtype))
        y = wide.view(torch.bfloat16).to(getattr(torch, dtype))
        return [repr(t.item()).lstrip("-") if math.isnan(t.item()) else repr(t.item()) for t in (x, y)]

    agree(case)


READ: dict[str, Case] = {
    "requires grad": lambda torch: torch.ones(1, requires_grad=True).item(),
    "a result": lambda torch: float((torch.ones(1, requires_grad=True) * 3).sum()),
    "conjugate": lambda torch: (torch.tensor([1 + 2j]).conj().item(), torch.tensor([1 + 2j]).conj().tolist()),
    "negative": lambda torch: torch.tensor([1 + 2j]).conj().imag.tolist(),
    "inference": lambda torch: torch.inference_mode(lambda: torch.ones(2)[1].item())(),
    "expanded": lambda torch: torch.tensor(2.5).expand(2, 3).tolist(),
    "nothing": lambda torch: [torch.zeros(n).tolist() for n in ((0,), (0, 3), (2, 0))],
    "vmap": lambda torch: torch.vmap(lambda x: x * torch.tensor(2.0))(torch.ones(3)),
    "grad": lambda torch: torch.func.grad(lambda x: x * torch.tensor(2.0) + torch.zeros(()) + x.detach().new_tensor(1))(
        torch.ones(())
    ),
    "int of bool": lambda torch: (kind(int(torch.tensor(True))), kind(float(torch.tensor(7)))),
    "index": lambda torch: [1, 2, 3][torch.tensor(1)],
    "real numbers among the complex": lambda torch: (float(torch.tensor(2 + 0j)), int(torch.tensor([-3.5 + 0j]))),
    "parameter": lambda torch: (torch.nn.Parameter(torch.ones(())).item(), float(torch.nn.Parameter(torch.ones(())))),
}


@pytest.mark.parametrize("name", READ)
def test_values_are_read(name: str) -> None:
    agree(READ[name])


REFUSED: dict[str, tuple[Case, str]] = {
    "item of two": (lambda torch: torch.ones(2).item(), "a Tensor with 2 elements cannot be converted to Scalar"),
    "item of none": (lambda torch: torch.ones(0).item(), "a Tensor with 0 elements cannot be converted to Scalar"),
    "item on meta": (lambda torch: torch.ones(1, device="meta").item(), "cannot be called on meta tensors"),
    "float of two": (lambda torch: float(torch.ones(2)), "only one element tensors can be converted to Python scalars"),
    "bool of two": (lambda torch: bool(torch.ones(2)), "more than one value is ambiguous"),
    "item of a batch": (lambda torch: torch.vmap(lambda x: x.item())(torch.ones(2)), "item() on a Tensor"),
    "numpy of grad": (
        lambda torch: torch.ones(1, requires_grad=True).numpy(),
        "Can't call numpy() on Tensor that requires grad",
    ),
    "ragged": (lambda torch: torch.tensor([[1, 2], [3]]), "expected sequence of length 2 at dim 1 (got 1)"),
    "text": (lambda torch: torch.tensor(["a"]), "too many dimensions 'str'"),
    "too wide": (lambda torch: torch.tensor(1 << 64), "Overflow when unpacking long long"),
    "too wide for int32": (
        lambda torch: torch.tensor([1, 1 << 31], dtype=torch.int32),
        "value cannot be converted to type int",
    ),
    "integers with grad": (lambda torch: torch.tensor([1, 2], requires_grad=True), "floating point"),
    "grad of text": (lambda torch: torch.zeros(2, requires_grad="yes"), "must be bool, not str"),
    "negative size": (lambda torch: torch.zeros(-1), "negative"),
    "no size": (lambda torch: torch.zeros("a"), "zeros()"),
    "unknown option": (lambda torch: torch.ones_like(torch.ones(1), devise="cpu"), "devise"),
    "like nothing": (lambda torch: torch.zeros_like(3), "zeros_like()"),
    "too large to fill": (lambda torch: torch.full((2,), 300, dtype=torch.uint8), "value cannot be converted to type"),
    "no real number": (lambda torch: float(torch.tensor(1 + 2j)), "value cannot be converted to type double without"),
    "no whole number": (lambda torch: int(torch.tensor(1 + 2j)), "value cannot be converted to type int64_t without"),
    "nor in range": (lambda torch: int(torch.tensor(complex("nan"))), "value cannot be converted to type int64_t"),
    "bytes in the other order": (lambda torch: torch.from_numpy(np.zeros(2, ">f4")), "byte order different from the"),
    "steps backwards": (lambda torch: torch.from_numpy(np.zeros(4)[::-1]), "negative"),
    "no array": (lambda torch: torch.from_numpy([1.0]), "expected np.ndarray (got list)"),
    "array of text": (lambda torch: torch.from_numpy(np.array(["a"])), "can't convert np.ndarray of type"),
    "type as a dtype": (lambda torch: torch.ones(1).type_as(torch.float64), "must be Tensor"),
    "type as with a copy": (lambda torch: torch.ones(1).type_as(torch.ones(1), copy=True), "copy"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_refused(name: str) -> None:
    agree(*REFUSED[name])


def shown(x: Any) -> Any:
    return str(x.dtype).rpartition(".")[2], list(x.shape), x.stride(), x.requires_grad, str(x.device), x.tolist()


MADE: dict[str, Case] = {
    "a number": lambda torch: [shown(torch.tensor(n)) for n in (1, 1.5, True, 1j, -(1 << 63), math.inf)],
    "lists": lambda torch: [
        shown(torch.tensor(n)) for n in ([1, 2], (1, 2.5), [True, 2], [[1], [2]], [[[1.0]]], [], [[], []], [1, 2j])
    ],
    "dtypes": lambda torch: [
        shown(torch.tensor([0, 1, 200], dtype=getattr(torch, d))) for d in DTYPES[:2] + DTYPES[4:9]
    ],
    "floats as others": lambda torch: [
        shown(torch.tensor([1.5, 2.0], dtype=getattr(torch, d))) for d in ("int64", "bool", "float16")
    ],
    "large": lambda torch: [
        shown(torch.tensor(n, dtype=torch.float32)) for n in ((1 << 53) + 1, 1 << 62, 3.5e38 / 1.1, 1e-46)
    ],
    "of Python's types": lambda torch: [shown(torch.tensor([1, 0], dtype=d)) for d in (int, float, bool)],
    "another default": lambda torch: with_default(torch, torch.float64, lambda: shown(torch.tensor([1.5, 2]))),
    "half by default": lambda torch: with_default(torch, torch.float16, lambda: shown(torch.tensor([1.5, 2]))),
    "with grad": lambda torch: [
        shown(f())
        for f in (
            lambda: torch.tensor([1.0], requires_grad=True),
            lambda: torch.ones(2, requires_grad=True),
            lambda: torch.zeros_like(torch.ones(2), requires_grad=True),
        )
    ],
    "of sizes": lambda torch: [
        shown(torch.zeros(*s)) for s in ((2, 3), ((2, 3),), ([2, 3],), (torch.Size([2]),), (0,), ((),))
    ],
    "of odd sizes": lambda torch: [shown(torch.ones(s)) for s in (np.int64(2), torch.tensor(2))],
    "size by name": lambda torch: shown(torch.zeros(size=(2,))),
    "into": lambda torch: shown(torch.zeros(2, out=torch.ones(2))),
    "ones": lambda torch: [shown(torch.ones(3, dtype=getattr(torch, d))) for d in DTYPES],
    "many": lambda torch: [
        (x.sum().item(), x._version) for x in (torch.zeros(70, 70), torch.ones(70, 70), torch.arange(5000))
    ],
    "on meta": lambda torch: [
        (x.shape, x.device.type) for x in (torch.zeros(2, device="meta"), torch.ones_like(torch.ones(2), device="meta"))
    ],
    "where others are by default": lambda torch: on_meta(
        torch, lambda: [torch.as_tensor(v).device for v in (np.ones(1), [1.0], 1, torch.ones(1, device="cpu"))]
    ),
    "none given": lambda torch: shown(torch.zeros(2, dtype=None, device=None)),
    "full": lambda torch: (
        [shown(torch.full((2,), v)) for v in (1, 1.5, True, 2j)] + [shown(torch.full((2,), 3, dtype=torch.float16))]
    ),
    "arange": lambda torch: (
        [shown(torch.arange(*a)) for a in ((3,), (3.5,), (1, 3), (0,), (1, 2, 0.5))]
        + [shown(torch.arange(3, dtype=torch.float32))]
    ),
    "like": lambda torch: [
        shown(f(torch.zeros(2, 3).t())) for f in (torch.zeros_like, torch.ones_like, lambda x: torch.full_like(x, 7))
    ],
    "like, last channels": lambda torch: torch.zeros_like(
        torch.ones(1, 2, 3, 4).to(memory_format=torch.channels_last)
    ).stride(),
    "new": lambda torch: [
        shown(x)
        for x in (
            torch.ones(1).half().new_zeros(2),
            torch.ones(1).int().new_ones((2, 2)),
            torch.ones(1).double().new_full((2,), 3),
            torch.ones(1).int().new_tensor([1, 2]),
            torch.ones(1).int().new_tensor([1.5]),
        )
    ],
    "lists in lists": lambda torch: [
        shown(torch.tensor(nested(x, n))) for n in (3, 4, 5, 6, 20) for x in (1.5, [], [2])
    ],
    "a copy of an array": lambda torch: [
        shown(torch.tensor(a))
        for a in (np.ones((2, 3), "f4").T, np.arange(24).reshape(2, 3, 4).transpose(1, 2, 0)[:2], np.array(1))
    ],
    "of an array": lambda torch: [
        shown(torch.from_numpy(a))
        for a in (
            np.arange(3),
            np.ones((2, 3), "f4").T,
            np.zeros((2, 0)),
            np.array(1.5),
            np.ones(4, "?")[::2],
            np.ones(2, "c8"),
            np.ones(2, "f2"),
            np.ones(2, "u1"),
        )
    ],
    "as it is": lambda torch: (
        [torch.as_tensor(x) is x for x in (torch.ones(2),)]
        + [shown(torch.as_tensor(v)) for v in ([1.0], 2, np.ones(2))]
    ),
    "as another": lambda torch: shown(torch.as_tensor(torch.ones(2), dtype=torch.float64)),
    "type as": lambda torch: [
        shown(torch.ones(2).type_as(x)) for x in (torch.ones(1), torch.ones(1, dtype=torch.int32))
    ],
    "to another": lambda torch: shown(torch.ones(2).to(torch.ones(1, dtype=torch.float16))),
    "norm": lambda torch: (
        [
            x.norm().item()
            for x in (torch.tensor([3.0, 4.0]), torch.ones(()), torch.ones(1, 1), torch.ones(2, dtype=torch.complex64))
        ]
        + [torch.ones(2, 2).norm(keepdim=True).shape]
    ),
    "std of one value": lambda torch: torch.ones(3).std(),
    "names of functions": lambda torch: [
        f.__name__ for f in (torch.zeros, torch.ones_like, torch.tensor, torch.from_numpy, torch.as_tensor)
    ],
}


def on_meta(torch: Any, made: Any) -> list[str]:
    with torch.device("meta"):
        return [str(device) for device in made()]


def nested(x: Any, levels: int) -> Any:
    return [nested(x, levels - 1)] if levels else x


def with_default(torch: Any, dtype: Any, make: Any) -> Any:
    torch.set_default_dtype(dtype)
    try:
        return make()
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("name", MADE)
def test_tensors_are_made(name: str) -> None:
    agree(MADE[name])


def test_the_gradient_of_a_deviation_of_equal_numbers_is_zero() -> None:
    def case(torch: Any) -> Any:
        x = torch.ones(3, requires_grad=True)
        x.std().backward()
        batch = torch.func.vmap(torch.func.grad(lambda v: v.std()))(torch.ones(2, 3))
        dual = torch.func.jvp(lambda v: v.var(), (torch.ones(3),), (torch.ones(3),))
        return x.grad, batch, *dual

    agree(case)


EQUAL: dict[str, Case] = {
    "dtypes": lambda torch: [
        torch.equal(torch.ones(3).to(getattr(torch, d)), torch.ones(3).to(getattr(torch, d))) for d in DTYPES[:12]
    ],
    "values": lambda torch: [
        torch.equal(torch.tensor(a), torch.tensor(b))
        for a, b in (([1.0, 2.0], [1.0, 3.0]), ([0.0], [-0.0]), ([math.nan], [math.nan]), ([1, 2], [1]), (True, False))
    ],
    "views": lambda torch: [
        torch.equal(torch.ones(2, 3).t(), torch.ones(3, 2)),
        torch.equal(torch.arange(4)[::2], torch.tensor([0, 2])),
    ],
    "conjugates": lambda torch: torch.equal(torch.tensor([1j]).conj(), torch.tensor([-1j])),
    "nothing": lambda torch: [torch.equal(torch.ones(0), torch.ones(0)), torch.equal(torch.ones(0, 2), torch.ones(0))],
}


@pytest.mark.parametrize("name", EQUAL)
def test_tensors_are_compared(name: str) -> None:
    agree(EQUAL[name])


def followed(torch: Any) -> Any:
    """What a mode of each kind, and a subclass, hear of the calls."""
    overrides = torch.overrides
    heard: list[str] = []

    class Functions(overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            heard.append(func.__name__)
            return func(*args, **(kwargs or {}))

    class Own(torch.Tensor):  # type: ignore[misc]
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            heard.append(f"own {func.__name__}")
            return super().__torch_function__(func, types, args, kwargs or {})

    x, own = torch.ones(2), torch.ones(()).as_subclass(Own)
    with Functions():
        torch.zeros(2)
        torch.tensor([1.0])
        torch.as_tensor(1.0)
        torch.ones_like(x)
        x.tolist()
        x.numpy()
        x[0].item()
        x.new_tensor([1.0])
        x.type_as(x)
        float(x[0])
        torch.equal(x, x)
    own.item()
    own.tolist()
    own.new_tensor(1.0)
    torch.zeros_like(own)
    x.type_as(own)
    return heard


def test_calls_are_followed() -> None:
    agree(followed)


def test_dispatch_modes_see_the_operators() -> None:
    def case(torch: Any) -> Any:
        heard: list[str] = []
        modes = __import__(f"{torch.__name__}.utils._python_dispatch", fromlist=["TorchDispatchMode"])

        class Operators(modes.TorchDispatchMode):  # type: ignore[misc]
            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                heard.append(f"{func} {sorted(kwargs or {})}")
                return func(*args, **(kwargs or {}))

        x = torch.ones(1)
        with Operators():
            torch.zeros(2)
            torch.tensor([1.0])
            torch.zeros_like(x)
            x.item()
            float(x)
        return heard

    agree(case)


def test_a_kernel_of_a_library_is_called_for_item() -> None:
    def case(torch: Any) -> Any:
        lib = torch.library.Library("aten", "IMPL")
        x = torch.ones(1)
        before = x.item()
        with __import__("warnings").catch_warnings():
            __import__("warnings").simplefilter("ignore")
            lib.impl("_local_scalar_dense", lambda self: 7.0, "CPU")
        try:
            return before, x.item(), float(x)
        finally:
            lib._destroy()

    agree(case)
    assert mindtorch_v2.ones(1).item() == 1


def test_item_is_profiled() -> None:
    def case(torch: Any) -> Any:
        with torch.profiler.profile() as found:
            torch.ones(1).item()
        return "aten::item" in {event.name for event in found.events()}

    agree(case)


def test_the_memory_of_an_array_is_shared_and_kept() -> None:
    def case(torch: Any) -> Any:
        array = np.zeros(3, np.float32)
        x = torch.from_numpy(array)
        x[0] = 1
        array[1] = 2
        back = x.numpy()
        del array
        back[2] = 3
        y = torch.ones(2)
        y.numpy()
        try:
            y.untyped_storage().resize_(1 << 12)
        except RuntimeError:
            return x.tolist(), "not resizable"
        return x.tolist()

    agree(case)


def test_functions_are_pickled_and_copied_as_themselves() -> None:
    for function in (mindtorch_v2.zeros, mindtorch_v2.zeros_like, mindtorch_v2.tensor, mindtorch_v2.from_numpy):
        assert pickle.loads(pickle.dumps(function)) is function
        assert copy.deepcopy(function) is function


def test_a_subscript_may_stand_for_all_dimensions_of_both_sides() -> None:
    agree(lambda torch: [torch.einsum(e, torch.ones(2, 3)) for e in ("...->...", "i...->i...", "...j->...", "ij->ji")])
    agree(lambda torch: torch.einsum("ij,jk->ik", torch.ones(2, 1), torch.ones(3, 4)))
    agree(lambda torch: torch.einsum("iij,j,->i", torch.ones(2, 2, 3), torch.ones(3), torch.tensor(2.0)))
