"""`torch.testing`: the same verdicts and messages as PyTorch's, and the same random values."""

from __future__ import annotations

import numpy as np
import pytest

import mindtorch_v2 as torch

pytorch = pytest.importorskip("torch")
NAN, INF = float("nan"), float("inf")

# Each is called with a torch and returns the arguments of `assert_close`.
CASES = [
    lambda t: ((t.tensor([1.0, 2.0, 3.0]), t.tensor([1.0, 2.0, 4.0])), {}),
    lambda t: ((t.tensor([1.0, 2.0, 3.0]), t.tensor([1.0, 2.0, 4.0])), {"rtol": 0, "atol": 0}),
    lambda t: ((t.tensor([1, 2, 3]), t.tensor([1, 2, 4])), {}),
    lambda t: ((t.tensor([True, False]), t.tensor([True, True])), {}),
    lambda t: ((t.tensor(1.0), t.tensor(2.0)), {}),
    lambda t: ((t.tensor([[1.0, 2.0], [3.0, 4.0]]), t.tensor([[1.0, 2.0], [3.0, 5.0]])), {}),
    lambda t: ((t.tensor([INF, 1.0]), t.tensor([1.0, 1.0])), {}),
    lambda t: ((t.tensor([0.0]), t.tensor([1.0])), {}),
    lambda t: ((t.tensor([1.0]), t.tensor([0.0])), {}),
    lambda t: ((t.tensor([1 + 1j]), t.tensor([1 + 2j])), {}),
    lambda t: ((t.tensor([255], dtype=t.uint8), t.tensor([0], dtype=t.uint8)), {}),
    lambda t: ((t.tensor([1.0], dtype=t.bfloat16), t.tensor([1.1], dtype=t.bfloat16)), {}),
    lambda t: ((t.tensor([1.0], dtype=t.float16), t.tensor([1.1], dtype=t.bfloat16)), {"check_dtype": False}),
    lambda t: ((t.tensor([1.0, 2.0]).to(t.int8), t.tensor([1, 9], dtype=t.int8)), {"rtol": 0, "atol": 1}),
    lambda t: ((t.tensor([NAN]), t.tensor([NAN])), {}),
    lambda t: ((t.tensor([NAN]), t.tensor([NAN])), {"equal_nan": True}),
    lambda t: ((t.tensor([]), t.tensor([])), {}),
    lambda t: ((t.tensor([1.0]), t.tensor([1.0, 2.0])), {}),
    lambda t: ((t.tensor([1.0]), t.tensor([1.0], dtype=t.float64)), {}),
    lambda t: ((t.tensor([1.0]), t.tensor([1.0], dtype=t.float64)), {"check_dtype": False}),
    lambda t: ((t.tensor([1.0]), t.tensor([1.0]).to("meta")), {}),
    lambda t: ((t.tensor([1.0, 2.0])[:, None].expand(2, 2), t.ones(2, 2)), {"check_stride": True}),
    lambda t: ((t.tensor([1.0]), t.tensor([2.0])), {"msg": "bad"}),
    lambda t: ((t.tensor([1.0]), t.tensor([2.0])), {"msg": lambda message: f"model: {message}"}),
    lambda t: ((t.tensor([1.0]), t.tensor([2.0])), {"rtol": 1.0}),
    lambda t: (([t.tensor([1.0]), t.tensor([2.0])], [t.tensor([1.0]), t.tensor([3.0])]), {}),
    lambda t: (([[1, 2], [3]], [[1, 2], [4]]), {}),
    lambda t: (({"a": [1], "b": 2}, {"a": [2], "b": 3}), {}),
    lambda t: (([1, 2], [1, 2, 3]), {}),
    lambda t: (({"a": 1}, {"b": 1}), {}),
    lambda t: (((1,), [1]), {}),
    lambda t: ((1.0, 2.0), {}),
    lambda t: ((1, 2), {}),
    lambda t: ((1, 1.5), {}),
    lambda t: ((1 + 1j, 1 + 2j), {}),
    lambda t: ((2**70, 2**70), {}),
    lambda t: ((NAN, NAN), {}),
    lambda t: ((True, False), {}),
    lambda t: ((None, None), {}),
    lambda t: ((None, 1), {}),
    lambda t: ((object(), object()), {}),
    lambda t: (("a", "a"), {}),
    lambda t: (({1}, {1}), {}),
    lambda t: ((np.array([1.0]), np.array([2.0])), {}),
]


def verdict(module, case):
    args, kwargs = case(module)
    try:
        module.testing.assert_close(*args, **kwargs)
    except (AssertionError, TypeError, ValueError) as error:
        return type(error), str(error)
    return None


@pytest.mark.parametrize("case", CASES)
def test_what_is_close_and_what_is_said_of_the_rest(case):
    assert verdict(torch, case) == verdict(pytorch, case)


def test_a_tensor_and_a_number_are_no_pair():
    with pytest.raises(TypeError, match="No comparison pair was able to handle inputs of type"):
        torch.testing.assert_close(torch.ones(1), 1.0)


def test_tensors_of_an_npu_are_compared_there():
    x = torch.linspace(0.0, 1.0, 5).npu()
    torch.testing.assert_close(x, x.clone())
    with pytest.raises(AssertionError, match=r"Greatest absolute difference: 1\.0 at index \(0,\)"):
        torch.testing.assert_close(x, x + 1)


SHAPE = (3, 4)
MADE = [
    {"dtype": "float32"},
    {"dtype": "float64", "low": -1.0, "high": 2.0},
    {"dtype": "bfloat16"},
    {"dtype": "float16", "exclude_zero": True},
    {"dtype": "complex64"},
    {"dtype": "int64"},
    {"dtype": "int8", "low": -200, "high": 5},
    {"dtype": "uint8"},
    {"dtype": "bool"},
    {"dtype": "int32", "noncontiguous": True, "exclude_zero": True},
    {"dtype": "float32", "noncontiguous": True, "requires_grad": True},
]


def made(module, options):
    module.manual_seed(3)
    options = {**options, "dtype": getattr(module, options["dtype"])}
    return module.testing.make_tensor(SHAPE, device="cpu", **options)


@pytest.mark.parametrize("options", MADE, ids=lambda options: "-".join(map(str, options.values())))
def test_made_tensors_are_those_of_pytorch(options):
    ours, theirs = made(torch, options), made(pytorch, options)
    assert ours.tolist() == theirs.tolist()
    assert (tuple(ours.shape), ours.stride()) == (tuple(theirs.shape), theirs.stride())
    assert ours.requires_grad == theirs.requires_grad


@pytest.mark.parametrize(
    "options",
    [
        {"dtype": "int64", "requires_grad": True},
        {"dtype": "float32", "low": 2.0, "high": 1.0},
        {"dtype": "float32", "low": NAN},
        {"dtype": "uint8", "low": 300, "high": 400},
        {"dtype": "float32", "noncontiguous": True, "memory_format": 0},
    ],
    ids=str,
)
def test_what_no_tensor_is_made_of(options):
    messages = []
    for module in (torch, pytorch):
        with pytest.raises(ValueError, match=r"low|requires_grad|mutually exclusive|interval") as caught:
            made(module, options)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
