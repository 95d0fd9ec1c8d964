"""What definitions cannot say, and what calls are refused, in which words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.library import Library, definitions
from mindtorch_v2.library.definitions import DefinitionError, i32, like, struct
from mindtorch_v2.npu import KernelLauncher
from tests.runtime.both import fresh_namespace

_cpu = KernelLauncher.from_source("defined_cpu", ["kernels.c"], relative_to=__file__)


@pytest.fixture
def lib() -> Library:
    return Library(fresh_namespace(), "FRAGMENT")


def refused(lib: Library, function: Callable[..., Any], schema: str = "op(Tensor x, float scale=1.0) -> Tensor") -> str:
    """What the first call says of a definition, and the check before it."""
    op = lib.operator(schema)(function)
    with pytest.raises(DefinitionError) as caught:
        lib.check()
    with pytest.raises(DefinitionError) as again:
        op(torch.ones(2, requires_grad=True)).sum().backward()
    assert str(again.value) == str(caught.value)
    assert f"{lib.ns}::op, defined at {__file__}:" in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda op, x, scale: None, r"op.returns(...) was not called"),
        (lambda op, x, scale: op.returns(like(x), like(x)), "the schema declares 1 outputs, got 2"),
        (lambda op, x, scale: op.returns(3), "expected like(...), empty(...), broadcast(...) or a tensor, got 3"),
        (lambda op, x, scale: op.returns(x) if x.sum() else None, "the value of sum("),
        (lambda op, x, scale: op.returns(x + torch.tensor([1.0])), "(x, a tensor that is there already)"),
        (lambda op, x, scale: op.returns(x.add("text")), "no overload of it takes (x, 'text')"),
        (lambda op, x, scale: op.returns(*[x for _ in x.shape]), "x.shape has no length before the operator is called"),
        (lambda op, x, scale: op.launch("TPU", _cpu["failing"], x), "'TPU' is no device that kernels run on"),
        (lambda op, x, scale: op.launch("CPU", _cpu["failing"], scale), "scale has no C type: write f32(...)"),
        (lambda op, x, scale: op.returns(op.python(len, x)), "say `fake=` too"),
        (lambda op, x, scale: op.check(*[x.size(0) == i for i in range(9) if x.size(0) > i]), "op.returns(...)"),
        (lambda op, x, scale: [op.returns(like(x)), *(bool(x.size(0) > i) for i in range(70))], "more than 64 ways"),
    ],
)  # fmt: skip
def test_refusals(lib: Library, function: Callable[..., Any], words: str) -> None:
    assert words in refused(lib, function)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda d: d.like(3), RuntimeError, "like(): expected a tensor of the operator that is defined, got 3"),
        (lambda d: d.broadcast(None, None), RuntimeError, "broadcast(): expected a tensor"),
        (lambda d: d.workspace(8, "cpu"), RuntimeError, "workspace(): expected a tensor"),
        (lambda d: d.stream(0), RuntimeError, "stream(): expected a tensor"),
        (lambda d: d.upload(3, None), RuntimeError, "upload(): argument 'value': expected a value with its C type"),
        (lambda d: d.struct(n=3), RuntimeError, "struct(): field 'n': expected a value with its C type"),
        (lambda d: d.exp(None), TypeError, "exp(None) cannot be computed"),
        (lambda d: d.sqrt(-1.0), ValueError, "sqrt(-1.0) cannot be computed"),
        (lambda d: d.ceil_div("x", 2), TypeError, "ceil_div('x', 2) cannot be computed"),
        (lambda d: d.ceil_div(1, 0), ZeroDivisionError, "ceil_div(1, 0) cannot be computed"),
        (lambda d: d.maximum(3), TypeError, "maximum(3) cannot be computed"),
        (lambda d: d.total(3), TypeError, "total(3) cannot be computed"),
    ],
)
def test_functions_of_definitions_say_what_they_are_for(
    call: Callable[[Any], Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error) as caught:
        call(definitions)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        (lambda op, x, scale: lambda grad: grad, "the gradient returns {argument: its gradient}, got TensorSymbol"),
        (lambda op, x, scale: lambda grad: {scale: grad}, "the gradient is of scale, which is no tensor argument"),
        (lambda op, x, scale: lambda grad: {x: scale}, "the gradient of x must be a tensor, got scale"),
        (
            lambda op, x, scale: lambda grad: {x: op.before(x)},
            "expected an argument that the operator writes to, got x",
        ),
        (
            lambda op, x, scale: lambda grad: {x: op.check(scale > 0) or grad},
            "op.check(...) is called in",
        ),
    ],
)
def test_refused_gradients(lib: Library, formula: Callable[..., Any], words: str) -> None:
    def function(op: Any, x: Any, scale: Any) -> None:
        op.returns(like(x))
        op.launch("CPU", _cpu["failing"], x, i32(0))
        op.gradient(formula(op, x, scale))

    assert words in refused(lib, function)


def test_what_is_not_kept(lib: Library) -> None:
    @lib.operator("op(Tensor(a!) x, Tensor[] y) -> Tensor(a!)")
    def op(op: Any, x: Any, y: Any) -> None:
        op.returns(x)
        op.launch("CPU", _cpu["failing"], x, i32(0))

        @op.gradient
        def _(grad: Any) -> Any:
            return {x: grad * op.before(x)}

    with pytest.raises(DefinitionError, match=r"reads before\(x\), which is not kept where tensors come in lists"):
        lib.check()


def test_an_unknown_property(lib: Library) -> None:
    @lib.operator("op(Tensor x) -> Tensor")
    def op(op: Any, x: Any) -> None:
        x.no_such_thing()

    with pytest.raises(
        AttributeError, match=r"x.no_such_thing: no property that is known before the call, and no operator"
    ):
        lib.check()


def test_a_way_without_a_kernel_says_which(lib: Library) -> None:
    @lib.operator("op(Tensor x, int n) -> Tensor")
    def op(op: Any, x: Any, n: Any) -> None:
        op.returns(like(x))
        if n > 2:
            op.launch("NPU", _cpu["failing"], x, i32(0))
        else:
            op.launch("CPU", _cpu["failing"], x, i32(0))

    op(torch.ones(1), 1)
    with pytest.raises(NotImplementedError) as caught:
        op(torch.ones(1), 3)
    text = f"{lib.ns}::op: expected arguments that a kernel for CPU takes: n to be at most 2, got n = 3"
    assert str(caught.value) == text


def test_a_way_that_runs_nothing_at_all_says_what_others_take(lib: Library) -> None:
    @lib.operator("op(Tensor x, Tensor? y=None, *, int n=0, str mode) -> Tensor")
    def op(op: Any, x: Any, y: Any, n: Any, mode: Any) -> None:
        op.returns(like(x))
        if mode == "both":
            if n > 2 or y is not None:
                op.launch("CPU", _cpu["failing"], x, i32(0))
        elif y is None:
            op.launch("CPU", _cpu["failing"], x, i32(0))

    x = torch.ones(1)
    for y, n, mode in [(x, 0, "both"), (None, 3, "both"), (None, 0, "one")]:
        assert op(x, y, n=n, mode=mode).shape == (1,)
    head = f"{lib.ns}::op: expected arguments that a kernel for CPU takes: "
    for y, n, mode, words in [
        (None, 0, "both", "y not to be None; or mode not to be 'both'; or n to be greater than 2"),
        (x, 0, "one", "y to be None; or mode to be 'both'"),
    ]:
        with pytest.raises(NotImplementedError) as caught:
            op(x, y, n=n, mode=mode)
        assert str(caught.value).rpartition(", got mode")[0] == head + words


def test_dtypes_are_judged_of_an_argument_that_may_be_missing(lib: Library) -> None:
    @lib.operator("op(Tensor x, Tensor? y=None) -> Tensor")
    def op(op: Any, x: Any, y: Any) -> None:
        out = op.returns(like(x))
        op.launch("CPU", _cpu["tiled"], x, y, out, struct(n=i32(3)), dtypes=[torch.float32])

    x = torch.ones(1)
    assert op(x).tolist() == op(x, x).tolist() == [3.0]
    with pytest.raises(RuntimeError, match=r"kernel tiled, argument 2 \(npu.ptr\): expected dtype float32"):
        op(x, x.to(torch.float64))


def test_a_check_that_is_false_on_one_way(lib: Library) -> None:
    @lib.operator("op(Tensor x, Tensor? y=None, int n=0) -> Tensor")
    def op(op: Any, x: Any, y: Any, n: Any) -> None:
        op.check(y is not None or n == 1)
        op.returns(like(x))
        op.launch("CPU", _cpu["failing"], x, i32(0))

    op(torch.ones(1), torch.ones(1))
    op(torch.ones(1), n=1)
    with pytest.raises(RuntimeError, match=r"op: expected n to be 1, got n = 0"):
        op(torch.ones(1))


def test_programs_refuse_registers_outside_of_the_frame() -> None:
    from mindtorch_v2 import _core

    op = torch.ops.aten.neg.default
    code = _core.PLAN_STEPS["numel"][0]
    for step in [(code, 0, 9, 0, 0, None), (code, 7, 0, 0, 0, None), (10**6, 0, 0, 0, 0, None)]:
        with pytest.raises(ValueError, match="step"):
            _core.Program(op, 1, (1, 1, 0), [step], [], [], (), len)
    with pytest.raises(ValueError, match="registers"):
        _core.Program(op, 1, (10**6, 0, 0), [], [], [], (), len)
    with pytest.raises(SystemError, match="without a return"):
        _core.Program(op, 1, (1, 0, 0), [], [], [], (), len)(None)
