"""Delegates and lowered modules: values, gradients, what is refused and how, and what is shown to the surroundings."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from typing import ClassVar

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn, npu
from mindtorch_v2.npu import BackendInitContext, Delegate, DelegateError
from mindtorch_v2.npu.cpu_delegate import c_source
from mindtorch_v2.npu.delegates import _delegates
from mindtorch_v2.npu.tracing import trace
from mindtorch_v2.utils._python_dispatch import TorchDispatchMode
from tests.npu import scheduled  # noqa: F401 - which defines the operators


class Chain(nn.Module):
    """Works element by element."""

    def __init__(self, shape=(5,), dtype=torch.float32):
        super().__init__()
        self.scale = nn.Parameter(torch.linspace(0.5, 2.0, 5, dtype=dtype).expand(*shape).clone())
        self.register_buffer("shift", torch.full((1,), 0.25, dtype=dtype))

    def forward(self, x, y):
        h = (x * self.scale - self.shift).relu() + 0.5 * y
        return torch.maximum(h, -h).clamp(min=-3.0, max=2.5), h / 4


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(-1.0, 1.0, 64))

    def forward(self, x):
        return (x * self.weight).relu() + x


def inputs(*shape, dtype=torch.float32, seed=0):
    rng = np.random.default_rng(seed)
    return [torch.from_numpy(rng.standard_normal(shape).astype(str(dtype).removeprefix("torch."))) for _ in range(2)]


# ---------------------------------------------------------------- the CPU's
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(5,), (3, 5), (2000, 5)])
def test_a_chain_in_c_gives_the_same(dtype, shape):
    module = Chain(shape, dtype)
    x, y = inputs(*shape, dtype=dtype)
    module = module.requires_grad_(False)
    low = torch.npu.lower(module, x, y, delegate="cpu_c")
    expected, got = module(x, y), low(x, y)
    assert isinstance(got, tuple)
    for one, other in zip(expected, got, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one.numpy(), other.numpy())
    np.testing.assert_array_equal(low(x.t().contiguous().t() if x.dim() == 2 else x, y)[0].numpy(), expected[0].numpy())


FUNCTIONS = {
    "abs": lambda x: x.abs(),
    "exp": torch.exp,
    "log": lambda x: torch.log(x.abs()),
    "sqrt": lambda x: x.abs().sqrt(),
    "rsqrt": lambda x: x.abs().rsqrt(),
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "silu": nn.functional.silu,
    "reciprocal": torch.reciprocal,
    "neg": torch.neg,
    "minimum": lambda x: torch.minimum(x, x * 2),
    "maximum": lambda x: torch.maximum(x, x * 2),
    "clamp_min": lambda x: x.clamp(min=-0.5),
    "clamp_max": lambda x: x.clamp(max=float("inf")),
    "sub_alpha": lambda x: torch.sub(x, x * x, alpha=2),
    "add_alpha": lambda x: torch.add(x, 3, alpha=0.5),
}


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_operator_of_the_chain_with_odd_values(name):
    module = Function(FUNCTIONS[name])
    x = torch.tensor([0.0, -0.0, 1.0, -2.5, 80.0, -80.0, float("inf"), float("-inf"), float("nan"), 1e-40, 3e38])
    low = torch.npu.lower(module, x, delegate="cpu_c")
    np.testing.assert_allclose(low(x).numpy(), module(x).numpy(), rtol=2e-6)


def test_it_is_one_call_of_compiled_code():
    x, y = inputs(5)
    module = Chain().requires_grad_(False)
    text = c_source(trace(module, (x, y)))
    assert text.count("for (int64_t i") == 1
    low = torch.npu.lower(module, x, y, delegate="cpu_c")
    plan = torch.npu.plan(low, x, y)
    assert [(o.operator, o.is_delegate) for o in plan.operations] == [(f"lowered::{low.name}", True)]


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (lambda x: x.sum(), r"aten::sum cannot be lowered to C; it lowers abs, add"),
        (lambda x: x.t() + 1, r"aten::t looks at memory in another way"),
        (lambda x: x + torch.ones(2, 3), r"cannot be lowered|reads a tensor that is no input"),
        (lambda x: torch.ops.scheduled_tests.tell(x), r"scheduled_tests::tell cannot be lowered to C"),
        (lambda x: x.add(1).add_(1), r"aten::add_"),
        (lambda x: x.expand(4, 2, 3) * 2, r"aten::expand looks at memory"),
    ],
)
def test_what_the_c_delegate_refuses(function, problem):
    with pytest.raises(DelegateError, match=problem):
        torch.npu.lower(Function(function), torch.ones(2, 3), delegate="cpu_c")


def test_other_dtypes_and_shapes_are_refused():
    with pytest.raises(DelegateError, match="tensors of int64; it lowers float32 and float64"):
        torch.npu.lower(Function(lambda x: x + 1), torch.ones(2, dtype=torch.int64), delegate="cpu_c")

    class Two(nn.Module):
        def forward(self, x, y):
            return x + y

    with pytest.raises(DelegateError, match=r"a tensor of shape \[3\] beside the output's \[2, 3\]"):
        torch.npu.lower(Two(), torch.ones(2, 3), torch.ones(3), delegate="cpu_c")
    with pytest.raises(DelegateError, match=r"'cpu_c' runs on cpu, and the example inputs are on npu:0"):
        torch.npu.lower(Function(lambda x: x + 1), torch.ones(2, device="npu"), delegate="cpu_c")


# ---------------------------------------------------------------- the NPU's
def test_a_graph_gives_the_same_bits_call_after_call():
    module = Block().to("npu").requires_grad_(False)
    low = torch.npu.lower(module, torch.zeros(64, device="npu"), delegate="npu_graph")
    kept = []
    for seed in range(5):
        x = inputs(64, seed=seed)[0].npu()
        kept.append((low(x), module(x)))
    for got, expected in kept:  # a result is not the next call's
        np.testing.assert_array_equal(got.cpu().numpy(), expected.cpu().numpy())


def test_a_graph_reads_its_parameters_where_they_are():
    module = Block().to("npu").requires_grad_(False)
    x = inputs(64)[0].npu()
    low = torch.npu.lower(module, x, delegate="npu_graph")
    module.weight.mul_(2.0)
    np.testing.assert_array_equal(low(x).cpu().numpy(), module(x).cpu().numpy())
    module.weight = nn.Parameter(torch.ones(64, device="npu"), requires_grad=False)
    with pytest.raises(DelegateError, match="another tensor than when the graph was captured"):
        low(x)


@pytest.mark.parametrize(("delegate", "device"), [("npu_graph", "npu"), ("cpu_c", "cpu")])
def test_the_operator_itself_reads_no_other_memory(delegate, device):
    module = Block().to(device).requires_grad_(False)
    x = inputs(64)[0].to(device)
    low = torch.npu.lower(module, x, delegate=delegate)
    op, state = getattr(torch.ops.lowered, low.name), [module.weight]
    every_other = inputs(128)[0].to(device)[::2]
    given = [every_other]
    torch.testing.assert_close(op(given, state)[0], module(every_other))
    assert given[0] is every_other
    whole = torch.zeros(64, dtype=torch.int32, device=device)
    for values in ([], [x, x], [x[:32]], [whole], [x.reshape(8, 8)]):
        with pytest.raises(ValueError, match=r"was lowered for .*, got .*lower the module for these"):
            op(values, state)
    for parameters in ([], [module.weight, x], [x[:32]]):
        with pytest.raises(ValueError, match=r"was lowered with parameters and buffers \(float32\[64\].* got .* again"):
            op([x], parameters)
    module.weight = nn.Parameter(torch.ones(1, device=device), requires_grad=False)
    with pytest.raises(ValueError, match=r"parameters and buffers .*, got \(float32\[1\]"):
        low(x)


def test_what_cannot_be_captured_is_refused():
    with pytest.raises(DelegateError, match="cannot be captured as a graph"):
        torch.npu.lower(Function(lambda x: (x.cpu() + 1).npu()), torch.ones(4, device="npu"), delegate="npu_graph")


def test_threads_share_a_lowered_module():
    module = Block().to("npu").requires_grad_(False)
    low = torch.npu.lower(module, torch.zeros(64, device="npu"), delegate="npu_graph")
    failed = []

    def work(seed):
        with npu.stream(npu.Stream()):
            for step in range(20):
                x = inputs(64, seed=100 * seed + step)[0].npu()
                if low(x).cpu().tolist() != module(x).cpu().tolist():
                    failed.append((seed, step))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


# ---------------------------------------------------------------- to the surroundings
def test_gradients_are_those_of_the_module():
    module = Chain()
    x, y = inputs(5)
    low = torch.npu.lower(module, x, y, delegate="cpu_c")
    results = []
    for call in (module, low):
        a, b = x.clone().requires_grad_(), y.clone()
        first, second = call(a, b)
        (first.sum() + (second * second).sum()).backward()
        results.append((a.grad.numpy(), module.scale.grad.numpy()))
        module.scale.grad = None
        assert b.grad is None
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_a_gradient_of_a_gradient_is_a_clear_error():
    x, y = inputs(5)
    low = torch.npu.lower(Chain(), x, y, delegate="cpu_c")
    x.requires_grad_()
    with pytest.raises(NotImplementedError, match="gradients of the first order only"):
        torch.autograd.grad(low(x, y)[0].sum(), x, create_graph=True)


def test_other_inputs_than_it_was_lowered_for():
    x, y = inputs(5)
    low = torch.npu.lower(Chain().requires_grad_(False), x, y, delegate="cpu_c", name="narrow")
    with pytest.raises(
        ValueError, match=r"lowered::narrow was lowered for \(float32\[5\] on cpu, float32\[5\] on cpu\), got"
    ):
        low(x, torch.ones(6))
    with pytest.raises(ValueError, match="got"):
        low(x)


def test_an_operator_among_others():
    x, y = inputs(5)
    low = torch.npu.lower(Chain().requires_grad_(False), x, y, delegate="cpu_c", name="among")
    op = torch.ops.lowered.among.default
    assert op.is_delegate
    assert op.devices == ("cpu",)
    assert [tuple(each.shape) for each in op([x.to("meta"), y.to("meta")], [])] == [(5,), (5,)]
    assert "lowered::among" in repr(low)
    model = nn.Sequential(Function(lambda x: x + 1), Function(lambda x: low(x, x)[0]))
    assert model(x).shape == (5,)
    with pytest.raises(RuntimeError, match="already defined"):
        torch.npu.lower(Chain(), x, y, delegate="cpu_c", name="among")


def test_the_operator_goes_with_its_module():
    x, y = inputs(5)
    low = torch.npu.lower(Chain().requires_grad_(False), x, y, delegate="cpu_c", name="gone")
    low(x, y)
    assert torch._core.find_operator("lowered::gone") is not None
    del low
    assert torch._core.find_operator("lowered::gone") is None


def test_lower_says_what_it_takes():
    x = torch.ones(3)
    with pytest.raises(TypeError, match=r"lower\(\): expected an nn\.Module, got function"):
        torch.npu.lower(lambda x: x, x, delegate="cpu_c")
    with pytest.raises(TypeError, match="example input 0 must be a tensor, got int"):
        torch.npu.lower(Block(), 3, delegate="cpu_c")
    with pytest.raises(TypeError, match="give the inputs"):
        torch.npu.lower(Block(), delegate="cpu_c")
    with pytest.raises(ValueError, match="must be an identifier, got 'a b'"):
        torch.npu.lower(Function(torch.relu), x, delegate="cpu_c", name="a b")
    with pytest.raises(DelegateError, match="weight is on cpu, and input 0 on npu:0"):
        torch.npu.lower(Block(), torch.ones(64, device="npu"), delegate="npu_graph")
    with pytest.raises(DelegateError, match="a module returns a tensor, or a list or tuple of tensors"):
        torch.npu.lower(Function(lambda x: {"a": x + 1}), x, delegate="cpu_c")


# ---------------------------------------------------------------- the registry
@pytest.fixture
def registered():
    """Takes back what a test registers."""
    before = dict(_delegates)
    yield
    _delegates.clear()
    _delegates.update(before)


class Noting(Delegate):
    """Runs the module itself, and notes what it is told."""

    device_types = ("cpu", "npu")
    told: ClassVar[list] = []

    def init(self, context, module, inputs, state):
        self.module = module
        self.told.append(context)

    def execute(self, context, inputs, state, outputs):
        self.told.append(context)
        for output, value in zip(outputs, [self.module(*inputs)], strict=True):
            output.copy_(value)


def test_a_delegate_of_ones_own(registered):
    torch.npu.register_delegate("noting")(Noting)
    assert torch.npu.delegate_names() == ["cpu_c", "noting", "npu_graph"]
    Noting.told.clear()
    x = torch.ones(64)
    low = torch.npu.lower(Block().requires_grad_(False), x, delegate="noting", next_kind="kernel", next_device="npu:0")
    made = Noting.told[0]
    assert isinstance(made, BackendInitContext)
    assert (made.name, str(made.device), made.next_kind, made.next_device) == (low.name, "cpu", "kernel", "npu:0")
    assert [call.op.name() for call in made.trace.calls] == ["aten::mul.Tensor", "aten::relu", "aten::add.Tensor"]

    def twice(x):
        return low(low(x))

    with torch.npu.plan(twice, x).follow():
        twice(x)
    first, second = Noting.told[1:]
    assert (first.next_kind, second.next_kind, second.commit_and_continue) == ("delegate", "end", False)


def test_registered_once_and_found_by_its_name(registered):
    torch.npu.register_delegate("noting")(Noting)
    with pytest.raises(ValueError, match=r"the name is taken by tests\.npu\.test_delegates\.Noting"):
        torch.npu.register_delegate("noting")(Noting)
    with pytest.raises(TypeError, match="expected a subclass of Delegate, got <class 'int'>"):
        torch.npu.register_delegate("number")(int)
    with pytest.raises(ValueError, match="must be an identifier, got 'a-b'"):
        torch.npu.register_delegate("a-b")
    with pytest.raises(DelegateError, match=r"no delegate is registered by the name 'notin'; did you mean 'noting'\?"):
        torch.npu.lower(Block(), torch.ones(64), delegate="notin")


def test_an_init_that_fails_names_the_delegate(registered):
    @torch.npu.register_delegate("failing")
    class Failing(Noting):
        def init(self, context, module, inputs, state):
            raise DelegateError("it has no use for modules")

    before = set(torch._core.operator_names())
    with pytest.raises(DelegateError, match="delegate 'failing' cannot run Block: it has no use for modules"):
        torch.npu.lower(Block(), torch.ones(64), delegate="failing")
    assert set(torch._core.operator_names()) == before


def test_an_execute_that_fails_leaves_all_usable(registered):
    @torch.npu.register_delegate("stumbling")
    class Stumbling(Noting):
        fail = True

        def execute(self, context, inputs, state, outputs):
            if self.fail:
                raise RuntimeError("stumbled")
            super().execute(context, inputs, state, outputs)

    x = torch.ones(64, device="npu")
    low = torch.npu.lower(Block().to("npu").requires_grad_(False), x, delegate="stumbling")
    with pytest.raises(RuntimeError, match="stumbled"), torch.npu.lookahead():
        low(x)  # held back; raises when the block ends
    assert not torch._core.in_run()
    Stumbling.fail = False
    with torch.npu.lookahead():
        y = low(x)
    np.testing.assert_array_equal(y.cpu().numpy(), Block().to("npu")(x).detach().cpu().numpy())


# ---------------------------------------------------------------- held back, and run when the next operation comes
@pytest.fixture
def noting(registered):
    torch.npu.register_delegate("noting")(Noting)
    module = Block().to("npu")
    return module, torch.npu.lower(module, torch.zeros(64, device="npu"), delegate="noting")


NEXT = {
    "a planned operator that calls another": torch.neg,
    "a planned operator by a launch": torch.relu,
    "an operator that falls back": lambda y: y * 2.0,
    "a kernel that takes a context": lambda y: torch.ops.scheduled_tests.softshrink(y),
    "in place": lambda y: y.add_(1.0),
}


@pytest.mark.parametrize("what", NEXT)
def test_what_comes_next_does_not_take_its_work_for_its_own(noting, what):
    """The delegate writes its outputs while the next operation, which reads them, begins."""
    module, low = noting
    x = inputs(64)[0].npu()
    with torch.no_grad():
        expected = NEXT[what](module(x)).cpu().numpy()
        with torch.npu.lookahead():
            result = NEXT[what](low(x))
    np.testing.assert_array_equal(result.cpu().numpy(), expected)


def test_gradients_of_what_was_held_back(noting):
    module, low = noting
    found = []
    for block in (nullcontext(), torch.npu.lookahead()):
        module.weight.grad = None
        x = inputs(64)[0].npu().requires_grad_()
        with block:
            y = low(x)
            z = torch.relu(y)
        assert type(y.grad_fn).__name__ == type(low(x).grad_fn).__name__  # and not that of a copy into it
        z.sum().backward()
        found.append((x.grad.cpu().numpy(), module.weight.grad.cpu().numpy()))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_mode_sees_the_lowered_operator_alone(noting):
    _, low = noting
    x = inputs(64)[0].npu()

    class Seen(TorchDispatchMode):
        names: ClassVar[list] = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.names.append(func.name())
            return func(*args, **(kwargs or {}))

    with torch.no_grad(), torch.npu.lookahead(), Seen():
        low(x)
        npu.current_stream().synchronize()  # which takes what is held back
    assert Seen.names == [f"lowered::{low.name}"]
