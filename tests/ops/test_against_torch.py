"""Built-in operators beside PyTorch's: the same code under both, values, dtypes and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

from tests.ops.both import agree, raised

rng = np.random.default_rng(11)


def f(*shape: int, dtype: str = "f4") -> np.ndarray:
    return rng.standard_normal(shape).astype(dtype)


def positive(*shape: int) -> np.ndarray:
    return (np.abs(rng.standard_normal(shape)) + 0.3).astype("f4")


def unit(*shape: int) -> np.ndarray:
    return rng.uniform(-0.9, 0.9, shape).astype("f4")


def ints(*shape: int, low: int = -5, high: int = 6, dtype: str = "i8") -> np.ndarray:
    return rng.integers(low, high, shape).astype(dtype)


def bools(*shape: int) -> np.ndarray:
    return rng.integers(0, 2, shape).astype(bool)


ANY = "neg abs sign square floor ceil round trunc relu exp exp2 expm1 sigmoid tanh sin cos tan atan sinh cosh erf"
POSITIVE = "log log2 log10 log1p sqrt rsqrt reciprocal"


@pytest.mark.parametrize("name", [*ANY.split(), *POSITIVE.split(), "asin", "acos"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "f2"])
def test_unary(name: str, dtype: str) -> None:
    source = unit if name in ("asin", "acos") else positive if name in POSITIVE.split() else f
    x = source(7, 5).astype(dtype) if dtype[0] == "f" else ints(7, 5, low=1)
    if dtype == "i8" and name in ("asin", "acos"):
        x = ints(7, 5, low=0, high=2)
    agree(lambda torch, x: getattr(torch, name)(x), {"x": x}, dtype in ("f4", "f8"), 2e-3 if dtype == "f2" else 1e-5)
    if dtype == "f4":
        agree(lambda torch, x: getattr(x.clone().t(), name + "_")() if name != "square" else x, {"x": x})


@pytest.mark.parametrize("name", ["logical_not", "isnan", "isinf", "isfinite"])
def test_predicates(name: str) -> None:
    x = np.array([0, 1, -2, np.nan, np.inf, -np.inf], "f4")
    agree(lambda torch, x: getattr(torch, name)(x), {"x": x}, False)
    agree(lambda torch, x: getattr(torch, name)(x), {"x": ints(9)}, False)


SHAPES = [((4, 5), (4, 5)), ((3, 1, 5), (4, 1)), ((5,), ()), ((2, 3), (3,))]
DTYPES = [("f4", "f4"), ("f4", "f8"), ("i8", "f4"), ("i4", "i8"), ("u1", "i1"), ("?", "i4"), ("?", "?")]


@pytest.mark.parametrize("dtypes", DTYPES)
@pytest.mark.parametrize(
    "name", ["add", "sub", "mul", "div", "maximum", "minimum", "eq", "lt", "ge", "ne", "logical_and"]
)
def test_binary(name: str, dtypes: tuple[str, str]) -> None:
    if name == "sub" and "?" in dtypes:
        pytest.skip("PyTorch subtracts no bools")
    for left, right in SHAPES:
        x = f(*left).astype(dtypes[0]) if dtypes[0][0] == "f" else ints(*left, low=0).astype(dtypes[0])
        y = positive(*right).astype(dtypes[1]) if dtypes[1][0] == "f" else ints(*right, low=1).astype(dtypes[1])
        agree(lambda torch, x, y: getattr(torch, name)(x, y), {"x": x, "y": y})


OPERATORS = {
    "x + y": lambda torch, x, y: x + y,
    "x - 2.5": lambda torch, x, y: x - 2.5,
    "3 - x": lambda torch, x, y: 3 - x,
    "2 * x": lambda torch, x, y: 2 * x,
    "x / y": lambda torch, x, y: x / y,
    "x / 4": lambda torch, x, y: x / 4,
    "1 / y": lambda torch, x, y: 1 / y,
    "x // y": lambda torch, x, y: (x // y).detach(),
    "x % y": lambda torch, x, y: x % y,
    "-x": lambda torch, x, y: -x,
    "abs": lambda torch, x, y: abs(x),
    "y ** 2": lambda torch, x, y: y**2,
    "y ** 2.5": lambda torch, x, y: y**2.5,
    "y ** x": lambda torch, x, y: y**x,
    "x ** 0": lambda torch, x, y: x**0,
    "2 ** x": lambda torch, x, y: 2**x,
    "x @ y.T": lambda torch, x, y: x @ y.T,
    "comparisons": lambda torch, x, y: [x > y, x == 0.5, x <= 1, ~(x != y), (x > 0) & (y > 1), (x > 0) | (y > 1)],
    "add alpha": lambda torch, x, y: torch.add(x, y, alpha=-3),
    "sub alpha": lambda torch, x, y: x.sub(y, alpha=0.5),
    "rsub": lambda torch, x, y: torch.rsub(x, y, alpha=2),
    "div floor": lambda torch, x, y: torch.div(x, y, rounding_mode="floor").detach(),
    "div trunc": lambda torch, x, y: torch.div(x, 2.0, rounding_mode="trunc").detach(),
    "addcmul": lambda torch, x, y: torch.addcmul(x, y, y, value=0.3),
    "addcdiv": lambda torch, x, y: torch.addcdiv(x, x, y, value=-2),
    "lerp": lambda torch, x, y: [torch.lerp(x, y, 0.3), torch.lerp(x, y, y)],
    "where": lambda torch, x, y: [torch.where(x > 0, x, y), torch.where(x > 0, x, 0.0), torch.where(x > 0, 1.0, y)],
    "masked_fill": lambda torch, x, y: x.masked_fill(y > 1, -1.5),
    "clamp": lambda torch, x, y: [x.clamp(min=0), x.clamp(-0.5, 0.5), torch.clamp(x, max=0.1)],
    "clamp_min": lambda torch, x, y: [x.clamp_min(0.2), x.clamp_max(0.2)],
    "atan2": lambda torch, x, y: torch.atan2(x, y),
    "fmod": lambda torch, x, y: torch.fmod(x, y),
    "gelu": lambda torch, x, y: torch.nn.functional.gelu(x),
    "gelu tanh": lambda torch, x, y: torch.nn.functional.gelu(x, approximate="tanh"),
    "silu": lambda torch, x, y: torch.nn.functional.silu(x),
    "leaky_relu": lambda torch, x, y: torch.nn.functional.leaky_relu(x, 0.1),
    "softmax": lambda torch, x, y: [torch.softmax(x, 1), x.softmax(0), torch.softmax(x, -1, dtype=torch.float64)],
    "log_softmax": lambda torch, x, y: [torch.log_softmax(x, 1), x.log_softmax(0)],
    "seed": lambda torch, x, y: x + 2.0 * y,
    "type": lambda torch, x, y: [x.double(), x.to(torch.float64) * y.double(), x.to(y)],
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name: str) -> None:
    agree(OPERATORS[name], {"x": f(6, 5), "y": positive(6, 5)})
    agree(OPERATORS[name], {"x": f(6, 5, dtype="f8"), "y": positive(6, 5).astype("f8")}, tolerance=1e-9)


INTEGERS = {
    "arithmetic": lambda torch, x, y: [x + y, x * 3, x - 2, x / y, x // y, x % y, -x, 7 - x, x**2, x + 0.5],
    "bits": lambda torch, x, y: [x & y, x | 3, x ^ y, ~x],
    "big": lambda torch, x, y: [x + 2**60, (x * 0 + 2**53) + 1, torch.full((2,), 2**60 + 1), x == 2**60],
    "trunc": lambda torch, x, y: [torch.div(x, y, rounding_mode="trunc"), torch.fmod(x, y)],
}


@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name: str) -> None:
    agree(INTEGERS[name], {"x": ints(40), "y": ints(40, low=1)}, False)


IN_PLACE = {
    "add_": lambda torch, x, y: (x * 1).add_(y, alpha=2),
    "+=": lambda torch, x, y: _in_place(x * 1, lambda t: t.__iadd__(y)),
    "mul_": lambda torch, x, y: (x * 1).mul_(y),
    "mul_ number": lambda torch, x, y: (x * 1).mul_(2.5),
    "div_": lambda torch, x, y: (x * 1).div_(y),
    "sub_ of a view": lambda torch, x, y: _in_place(x * 1, lambda t: t[1:3].sub_(y[0:2])),
    "pow_": lambda torch, x, y: (y * 1).pow_(2),
    "exp_": lambda torch, x, y: (x * 1).exp_(),
    "relu_": lambda torch, x, y: (x * 1).relu_(),
    "sqrt_": lambda torch, x, y: (y * 1).sqrt_(),
    "addcmul_": lambda torch, x, y: (x * 1).addcmul_(y, y, value=0.5),
    "addcdiv_": lambda torch, x, y: (x * 1).addcdiv_(x, y, value=0.5),
    "lerp_": lambda torch, x, y: (x * 1).lerp_(y, 0.25),
    "clamp_": lambda torch, x, y: (x * 1).clamp_(min=0),
    "masked_fill_": lambda torch, x, y: (x * 1).masked_fill_(y > 1, 3),
    "zero_": lambda torch, x, y: _in_place(x * 1, lambda t: t[0].zero_()),
    "fill_": lambda torch, x, y: _in_place(x * 1, lambda t: t[:, 1].fill_(2)),
    "copy_": lambda torch, x, y: (x * 1).copy_(y[0]),
    "diamond": lambda torch, x, y: _in_place(x + 1, lambda t: t.add_(y)).sum(),
}


def _in_place(tensor: Any, change: Any) -> Any:
    change(tensor)
    return tensor


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(name: str) -> None:
    agree(IN_PLACE[name], {"x": f(4, 5), "y": positive(4, 5)})


def test_augmented_assignment_of_integers() -> None:
    def run(torch: Any, x: Any, y: Any) -> Any:
        results = []
        for change in ("+= 3", "-= y", "*= 2", "//= 3", "//= y", "%= 4", "&= 6", "|= y", "^= 5", "**= 2"):
            scope = {"t": x.clone(), "y": y}
            exec(f"t {change}", scope)
            results.append(scope["t"])
        return results

    agree(run, {"x": ints(40), "y": ints(40, low=1)}, False)


REDUCTIONS = {
    "sum": lambda torch, x: [x.sum(), x.sum(0), x.sum((0, 2)), x.sum(-1, keepdim=True), x.sum(dtype=torch.float64)],
    "mean": lambda torch, x: [x.mean(), x.mean(1), torch.mean(x, (0, 1), keepdim=True)],
    "prod": lambda torch, x: [x.prod(), x.prod(1), x.prod(0, keepdim=True)],
    "max": lambda torch, x: [x.max(), *x.max(1), *x.max(dim=0, keepdim=True), torch.max(x, x * 2)],
    "min": lambda torch, x: [x.min(), *x.min(-1)],
    "amax": lambda torch, x: [x.amax(), x.amax((0, 1)), x.amin(2, True)],
    "arg": lambda torch, x: [x.argmax(), x.argmax(1), x.argmin(0, keepdim=True)],
    "any": lambda torch, x: [(x > 1).any(), (x > 1).any(0), (x > -9).all(), (x > 0).all(-1, keepdim=True)],
    "var": lambda torch, x: [x.var(), x.var(1), x.std(0, keepdim=True), torch.var(x, 1, correction=0)],
    "norm": lambda torch, x: [x.norm(), x.norm(1, dim=1), x.norm(p=3, dim=0)],
    "closeness": lambda torch, x: [torch.allclose(x, x), torch.equal(x, x + 1), torch.isclose(x, x + 1e-9)],
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name: str) -> None:
    agree(REDUCTIONS[name], {"x": f(4, 5, 3)})


def test_extremes_have_names() -> None:
    agree(lambda torch, x: [x.max(1).values, x.min(0).indices, torch.max(x, dim=0).indices], {"x": f(4, 5)})


def test_reductions_of_integers() -> None:
    agree(
        lambda torch, x: [x.sum(), x.sum(0), x.prod(1), x.max(), *x.min(0), x.argmax()],
        {"x": ints(4, 5, dtype="i4")},
        False,
    )
    agree(lambda torch, x: [x.sum(), x.any(), x.all(0), x.sum(1)], {"x": bools(4, 5)}, False)


SHAPING = {
    "view": lambda torch, x: [x.view(6, 20), x.view(-1, 10), x.t() if x.dim() == 2 else x.view(2, 60).t()],
    "reshape": lambda torch, x: [
        x.permute(2, 0, 1).reshape(5, -1),
        x.reshape(120),
        x.flatten(),
        x.flatten(1),
        x.flatten(0, 1),
    ],
    "permute": lambda torch, x: [x.permute(2, 1, 0), x.transpose(0, 2), x.transpose(-1, -2), x.mT, x.movedim(0, 2)],
    "expand": lambda torch, x: [x[:, :1].expand(6, 4, 5), x.expand(2, -1, -1, -1), x[0, :, :1].expand(4, 7)],
    "select": lambda torch, x: [x.select(1, 2), x.narrow(2, 1, 3), x[-1], x[1:4, ::2, None], x[..., 0]],
    "squeeze": lambda torch, x: [
        x.unsqueeze(0),
        x.unsqueeze(-1).squeeze(),
        x.unsqueeze(2).squeeze(2),
        x.unsqueeze(1).squeeze((1, 0)),
    ],
    "split": lambda torch, x: [*x.split(4), *x.split([1, 3], 1), *x.chunk(2, 2), *x.unbind(1)],
    "unused part": lambda torch, x: x.split(2)[1] * x.unbind(1)[3][2:4].sum(),
    "cat": lambda torch, x: [torch.cat([x, x * 2], 1), torch.stack([x, x + 1], -1), torch.cat([x[:1], x], dim=0)],
    "repeat": lambda torch, x: [
        x.repeat(2, 1, 1),
        x.repeat(1, 1, 1),
        x.transpose(0, 1).repeat(1, 1, 1),
        x[0, 0].repeat(3, 2),
    ],
    "as_strided": lambda torch, x: x.as_strided((3, 4), (1, 2), 5),
    "contiguous": lambda torch, x: [x.permute(1, 0, 2).contiguous(), x.contiguous(), x.permute(1, 2, 0).clone()],
    "unfolded": lambda torch, x: x.as_strided((5, 3), (1, 1)).sum(1),
}


@pytest.mark.parametrize("name", SHAPING)
def test_shapes(name: str) -> None:
    agree(SHAPING[name], {"x": f(6, 4, 5)})


INDEXING = {
    "basic": lambda torch, x, i, m: [
        x[0],
        x[-1, 2],
        x[1:3],
        x[:, ::2],
        x[..., -1],
        x[None],
        x[2, None, :],
        x[()],
        x[:, 1:1],
    ],
    "tensors": lambda torch, x, i, m: [x[i], x[i, i], x[:, i], x[1, i], x[i, :, 0], x[i, 1:3], x[:, i, None]],
    "lists": lambda torch, x, i, m: [x[[0, 2]], x[[0, 1], [1, 2]], x[:, [0, 0, 1]]],
    "masks": lambda torch, x, i, m: [x[m], x[m[:, 0]], x[:, m[0]], x[m[:, 1], 1], x[x > 0]],
    "truths": lambda torch, x, i, m: [x[True], x[False].shape, x[None, True].shape],
    "index_select": lambda torch, x, i, m: [
        x.index_select(0, i),
        x.index_select(1, i),
        torch.gather(x[:, :, 0], 1, m.long()),
    ],
    "nonzero": lambda torch, x, i, m: m.nonzero(),
}


@pytest.mark.parametrize("name", INDEXING)
def test_indexing(name: str) -> None:
    agree(INDEXING[name], {"x": f(5, 4, 3), "i": ints(3, low=0, high=4), "m": bools(5, 4)})


def _assign(index: Any, value: Any) -> Any:
    def run(torch: Any, x: Any, y: Any, i: Any, m: Any) -> Any:
        result = x * 1
        scope = {"i": i, "m": m, "y": y, "x": x}
        result[eval(f"I({index})", {"I": lambda *k: k[0] if len(k) == 1 else k, **scope})] = value(y)
        return result

    return run


ASSIGNMENTS = [
    ("0", lambda y: 3.0),
    ("slice(1, 3)", lambda y: y[:2]),
    ("Ellipsis, 1", lambda y: y[:, :, 0]),
    ("x < 0", lambda y: 0),
    ("m", lambda y: y[0, 0]),
    ("i", lambda y: y[:3]),
    ("i, i", lambda y: y[:3, 0]),
    ("slice(None), i", lambda y: 2.5),
    ("m[:, 0], 1", lambda y: y[0, 0]),
    ("x > 0", lambda y: y.sum()),
]


@pytest.mark.parametrize(("index", "value"), ASSIGNMENTS, ids=[a[0] for a in ASSIGNMENTS])
def test_assignment(index: str, value: Any) -> None:
    unique = np.array([2, 0, 3])
    agree(_assign(index, value), {"x": f(5, 4, 3), "y": f(5, 4, 3), "i": unique, "m": bools(5, 4)})


PRODUCTS = [
    ((3, 4), (4, 5)),
    ((4,), (4,)),
    ((4,), (4, 5)),
    ((3, 4), (4,)),
    ((2, 3, 4), (4, 5)),
    ((2, 3, 4), (2, 4, 5)),
    ((2, 3, 4), (4,)),
    ((4,), (2, 4, 5)),
    ((2, 1, 3, 4), (5, 4, 2)),
    ((0, 4), (4, 3)),
    ((3, 0), (0, 2)),
]


@pytest.mark.parametrize(("left", "right"), PRODUCTS)
def test_matmul(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    agree(lambda torch, x, y: torch.matmul(x, y), {"x": f(*left), "y": f(*right)})


def test_other_products() -> None:
    agree(lambda torch, b, x, y: torch.addmm(b, x, y, beta=0.5, alpha=2), {"b": f(5), "x": f(3, 4), "y": f(4, 5)})
    agree(lambda torch, b, x, y: torch.baddbmm(b, x, y), {"b": f(2, 3, 5), "x": f(2, 3, 4), "y": f(2, 4, 5)})
    agree(lambda torch, x, y: [torch.mv(x, y), torch.outer(y, y), y.dot(y)], {"x": f(3, 4), "y": f(4)})
    agree(lambda torch, x, y: x @ y, {"x": ints(3, 4), "y": ints(4, 5)}, False)


CREATION = {
    "zeros": lambda torch: [
        torch.zeros(2, 3),
        torch.zeros((2,), dtype=torch.int32),
        torch.ones([2, 2]),
        torch.zeros(()),
    ],
    "full": lambda torch: [
        torch.full((2, 2), 1.5),
        torch.full((2,), 7),
        torch.full((1,), True),
        torch.full((2,), 3, dtype=torch.float64),
    ],
    "arange": lambda torch: [
        torch.arange(5),
        torch.arange(1, 4.0),
        torch.arange(10, 0, -3),
        torch.arange(0, 1, 0.1),
        torch.arange(3, dtype=torch.float32),
    ],
    "linspace": lambda torch: [
        torch.linspace(0, 1, 5),
        torch.linspace(3, -3, 7),
        torch.linspace(1, 2, 1),
        torch.eye(3),
    ],
    "like": lambda torch: [
        torch.zeros_like(torch.ones(2, 3)),
        torch.ones_like(torch.arange(3)),
        torch.full_like(torch.ones(2), 9),
    ],
    "new": lambda torch: [
        torch.ones(1, dtype=torch.float64).new_zeros(2, 3),
        torch.arange(2).new_full((2,), 4),
        torch.ones(2).new_tensor([1, 2]),
    ],
    "tensor": lambda torch: [
        torch.tensor(1),
        torch.tensor(2.5),
        torch.tensor([True]),
        torch.tensor([[1, 2], [3, 4.5]]),
        torch.tensor([]),
        torch.tensor([1, 2], dtype=torch.float16),
        torch.tensor([[[]]]),
        torch.tensor(np.arange(3, dtype="i4")),
        torch.tensor([torch.tensor(1), torch.tensor(2)]),
        torch.tensor([1, 2, 3], dtype=torch.bfloat16),
    ],
    "item": lambda torch: [
        torch.tensor(3).item(),
        torch.tensor([2.5]).item(),
        torch.arange(4).view(2, 2).tolist(),
        torch.tensor(True).item(),
    ],
}


@pytest.mark.parametrize("name", CREATION)
def test_creation(name: str) -> None:
    agree(CREATION[name], {}, False)


ERRORS = {
    "sizes": (lambda torch: torch.ones(2, 3) + torch.ones(4), RuntimeError),
    "mm": (lambda torch: torch.ones(2, 3).mm(torch.ones(2, 3)), RuntimeError),
    "view": (lambda torch: torch.ones(2, 3).t().view(6), RuntimeError),
    "reshape": (lambda torch: torch.ones(2, 3).reshape(4), RuntimeError),
    "dim": (lambda torch: torch.ones(2, 3).sum(5), IndexError),
    "index": (lambda torch: torch.ones(3)[7], IndexError),
    "indices": (lambda torch: torch.ones(3)[0, 0], IndexError),
    "mask": (lambda torch: torch.ones(3)[torch.tensor([True, False])], IndexError),
    "index tensor": (lambda torch: torch.ones(3)[torch.tensor([3])], IndexError),
    "item": (lambda torch: torch.ones(3).item(), RuntimeError),
    "ragged": (lambda torch: torch.tensor([[1, 2], [3]]), ValueError),
    "string": (lambda torch: torch.tensor(["a"]), (TypeError, ValueError)),
    "result type": (lambda torch: torch.arange(3).add_(1.5), RuntimeError),
    "integer division": (lambda torch: torch.arange(3) // torch.tensor([1, 0, 1]), RuntimeError),
    "mean of integers": (lambda torch: torch.arange(3).mean(), RuntimeError),
    "empty max": (lambda torch: torch.empty(0).max(), RuntimeError),
    "numpy of grad": (lambda torch: torch.ones(2, requires_grad=True).numpy(), RuntimeError),
    "expand": (lambda torch: torch.ones(2, 3).expand(4, 3), RuntimeError),
    "cat": (lambda torch: torch.cat([torch.ones(2, 3), torch.ones(3, 2)]), RuntimeError),
    "permute": (lambda torch: torch.ones(2, 3).permute(0, 0), RuntimeError),
    "matmul 0-d": (lambda torch: torch.matmul(torch.tensor(1.0), torch.ones(2)), RuntimeError),
    "step": (lambda torch: torch.arange(0, 5, -1), RuntimeError),
    "bernoulli": (lambda torch: torch.ones(2).bernoulli_(2.0), RuntimeError),
    "bool of many": (lambda torch: bool(torch.ones(2)), RuntimeError),
    "negative step": (lambda torch: torch.ones(3)[::-1], ValueError),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_have_pytorchs_class(name: str) -> None:
    function, kind = ERRORS[name]
    mine, theirs = raised(function)
    assert isinstance(theirs, kind)
    assert isinstance(mine, kind), repr(mine)


def test_memory_is_shared_with_numpy() -> None:
    import mindtorch_v2 as torch

    array = np.arange(6.0).reshape(2, 3)
    x = torch.from_numpy(array)
    x[0, 0] = 100
    array[1, 2] = -1
    assert array[0, 0] == 100
    assert x[1, 2].item() == -1
    view = x.t().numpy()
    view[0, 1] = 7
    assert array[1, 0] == 7
    assert torch.as_tensor(array).data_ptr() == array.ctypes.data


def test_random_numbers() -> None:
    import mindtorch_v2 as torch

    torch.manual_seed(3)
    first = torch.randn(1000)
    torch.manual_seed(3)
    assert torch.equal(first, torch.randn(1000))
    assert abs(first.mean().item()) < 0.2
    assert abs(first.std().item() - 1) < 0.1
    u = torch.rand(2000)
    assert 0 <= u.min().item() < 0.05 < 0.95 < u.max().item() < 1
    assert set(torch.randint(2, 5, (200,)).tolist()) == {2, 3, 4}
    assert sorted(torch.randperm(50).tolist()) == list(range(50))
    assert 0.3 < torch.empty(1000).bernoulli_(0.4).mean().item() < 0.5
    generator = torch.Generator().manual_seed(5)
    again = torch.Generator().manual_seed(5)
    assert torch.equal(torch.empty(5).normal_(2, 3, generator=generator), torch.empty(5).normal_(2, 3, generator=again))


@pytest.mark.parametrize("shape", [(2**20 + 3,), (3, 2**19), (1, 2, 2**20)])
def test_nonzero_and_masks_of_many_elements(shape: tuple[int, ...]) -> None:
    x = (rng.random(shape) < 1e-3).astype("f4")
    agree(lambda torch, x: x.nonzero(), {"x": x}, grad=False)
    agree(lambda torch, x: x[x > 0], {"x": x}, grad=False)
