"""Calls that PyTorch refuses: the class of the error under both imports, and that it is one."""

import pytest

import mindtorch_v2 as torch


def unpooled(module, dims, *numbers):
    image = module.ones(1, 1, *[2] * dims)
    indices = module.zeros(1, 1, *[2] * dims, dtype=module.int64)
    return getattr(module.nn.functional, f"max_unpool{dims}d")(image, indices, *numbers)


def truths(module):
    return module.ones(3, dtype=module.bool)


CALLS = {
    **{
        f"{name} of {what}": lambda t, name=name, args=args: getattr(t, name)(*args(t))
        for name in ("trapezoid", "trapz", "cumulative_trapezoid")
        for what, args in {
            "truths": lambda t: (truths(t),),
            "truths at places": lambda t: (truths(t), t.ones(3)),
            "numbers at truths": lambda t: (t.ones(3), truths(t)),
            "one truth": lambda t: (t.ones((), dtype=t.bool),),
            "truths without memory": lambda t: (truths(t).to("meta"),),
        }.items()
    },
    **{
        f"{name} with {p}": lambda t, name=name, p=p: getattr(t, name)(t.ones(2, 3, 4), p, False)
        for name in ("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout", "alpha_dropout_")
        for p in (1.5, -0.5)
    },
    "hardtanh below 0 of uint8": lambda t: t.nn.functional.hardtanh(t.arange(3, dtype=t.uint8), -1, 1),
    "hardtanh_ below 0 of uint8": lambda t: t.nn.functional.hardtanh_(t.arange(3, dtype=t.uint8), -1, 1),
    "hardtanh below 0 without memory": lambda t: t.nn.functional.hardtanh(t.zeros(3, dtype=t.uint8, device="meta")),
    "unpooling, three numbers": lambda t: unpooled(t, 2, (2, 2, 2)),
    "unpooling, one number in a tuple": lambda t: unpooled(t, 2, (2,)),
    "unpooling, one step in a tuple": lambda t: unpooled(t, 2, 2, (2,)),
    "unpooling, two numbers for a line": lambda t: unpooled(t, 1, (2, 2)),
    "unpooling, two numbers for a volume": lambda t: unpooled(t, 3, (2, 2)),
    "unpooling, four numbers for a volume": lambda t: unpooled(t, 3, (2, 2, 2, 2)),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_what_pytorch_refuses_is_refused(call):
    pytorch = pytest.importorskip("torch")
    with pytest.raises((RuntimeError, IndexError)) as theirs:
        call(pytorch)
    with pytest.raises(theirs.type):
        call(torch)


def test_the_nearest_calls_that_are_fine():
    assert torch.trapezoid(torch.ones(3), torch.arange(3)).item() == 2
    assert torch.alpha_dropout(torch.ones(2), 0.5, False).tolist() == [1, 1]
    assert torch.nn.functional.hardtanh(torch.arange(3, dtype=torch.uint8), -0.5, 1).tolist() == [0, 1, 1]
    assert unpooled(torch, 2, (2, 2), (2, 2), (0, 0)).shape == (1, 1, 4, 4)
