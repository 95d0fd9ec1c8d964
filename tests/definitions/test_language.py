"""What definitions can say, and what they say when they cannot."""

from __future__ import annotations

import gc
import math
import re
import signal
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.library import Library
from mindtorch_v2.library.definitions import (
    align_up,
    all_of,
    any_of,
    broadcast,
    broadcast_shapes,
    can_cast,
    ceil_div,
    dim_bits,
    empty,
    f32,
    i32,
    like,
    maximum,
    minimum,
    one_of,
    promote_types,
    reduced_shape,
    result_type,
    struct,
    u64,
    upload,
)
from mindtorch_v2.npu import KernelLauncher
from tests.definitions import helpers
from tests.runtime.both import fresh_namespace

_cpu = KernelLauncher.from_source("defined_cpu", ["kernels.c"], relative_to=__file__)
HELPERS = "tests.definitions.helpers"


@pytest.fixture
def lib() -> Library:
    return Library(fresh_namespace(), "FRAGMENT")


def shaped(lib: Library, schema: str, shape: Callable[..., Any], dtype: Any = torch.float32) -> Any:
    """An operator that returns an empty tensor whose shape, or dtype, tells what was computed."""

    @lib.operator(schema)
    def op(op: Any, x: Any, *args: Any) -> None:
        found = dtype(x, *args) if callable(dtype) else dtype
        out = op.returns(empty(shape(x, *args), found, x))
        op.launch("CPU", _cpu["failing"], out, i32(0))

    return op


# ---------------------------------------------------------------- numbers and shapes
@pytest.mark.parametrize("n", [-7, -2, 0, 3, 2**40])
@pytest.mark.parametrize(
    "of",
    [
        lambda n: n + 3,
        lambda n: 3 - n,
        lambda n: -n * 2,
        lambda n: n // 3,
        lambda n: n // -3,
        lambda n: n % 3,
        lambda n: n % -3,
        lambda n: ceil_div(n, 4),
        lambda n: align_up(n, 8),
        lambda n: minimum(n, 2),
        lambda n: maximum(n, 2),
    ],
)
def test_ints_are_computed_as_python_does(lib: Library, n: int, of: Callable[[Any], Any]) -> None:
    @lib.operator("op(Tensor x, int n) -> Tensor")
    def op(op: Any, x: Any, n: Any) -> None:
        op.check(of(n) == -1)
        op.returns(like(x))
        op.launch("CPU", _cpu["failing"], x, i32(0))

    if of(n) == -1:
        op(torch.ones(1), n)
    else:
        with pytest.raises(torch.library.CheckError, match=rf"= {of(n)}(,|$)"):
            op(torch.ones(1), n)


def test_zeros_of_both_signs_are_two_constants(lib: Library) -> None:
    @lib.operator("signs(Tensor x) -> Tensor")
    def signs(op: Any, x: Any) -> Any:
        return op.returns(torch.cat([torch.copysign(x, 0.0), torch.copysign(x, -0.0)]))

    assert signs(torch.ones(1)).tolist() == [1.0, -1.0]


def test_an_int_beyond_64_bits_is_an_error(lib: Library) -> None:
    op = shaped(lib, "op(Tensor x, int n) -> Tensor", lambda x, n: [n * n * 4])
    assert op(torch.ones(1), 3).shape == (36,)
    with pytest.raises(
        OverflowError, match=rf"{lib.ns}::op: a number of its definition needs more than 64 bits: \d+ \* "
    ):
        op(torch.ones(1), 2**31)
    with pytest.raises(RuntimeError):  # PyTorch's class too
        op(torch.ones(1), 2**62)


def test_division_by_zero(lib: Library) -> None:
    op = shaped(lib, "op(Tensor x, int n) -> Tensor", lambda x, n: [x.numel() // n])
    assert op(torch.ones(6), 2).shape == (3,)
    with pytest.raises(ZeroDivisionError, match="op: integer division by zero: 6 by 0"):
        op(torch.ones(6), 0)


def test_shapes(lib: Library) -> None:
    x = torch.ones(2, 3, 4)
    for number, (of, expected) in enumerate(
        {
            (lambda x: x.shape): (2, 3, 4),
            (lambda x: x.shape[1:]): (3, 4),
            (lambda x: x.shape[:-1] + [x.size(-1) * 2]): (2, 3, 8),  # noqa: RUF005
            (lambda x: [x.dim(), *[x.shape[-3]]]): (3, 2),
            (lambda x: broadcast_shapes(x.shape, [5, 1, 1, 1])): (5, 2, 3, 4),
            (lambda x: reduced_shape(x.shape, [1], False)): (2, 4),
            (lambda x: reduced_shape(x.shape, [0, -1], True)): (1, 3, 1),
            (lambda x: reduced_shape(x.shape, None, False)): (),
            (lambda x: [dim_bits([0, -1], x.dim()), dim_bits([], 3) % 8]): (5, 7),
            (lambda x: [x.shape.numel(), x.shape.rank()]): (24, 3),
        }.items()
    ):
        assert shaped(lib, f"op{number}(Tensor x) -> Tensor", of)(x).shape == expected


def test_shapes_that_do_not_broadcast_are_an_error_in_pytorchs_words(lib: Library) -> None:
    op = shaped(lib, "op(Tensor x, Tensor y) -> Tensor", lambda x, y: broadcast_shapes(x.shape, y.shape))
    with pytest.raises(RuntimeError, match=r"[Ss]hape mismatch|must match"):
        op(torch.ones(2), torch.ones(3))


def test_dtypes(lib: Library) -> None:
    x, y = torch.ones(2, dtype=torch.int32), torch.ones(2, dtype=torch.float16)
    for number, (of, expected) in enumerate(
        {
            (lambda x, y, d: x.dtype): torch.int32,
            (lambda x, y, d: result_type(x, y)): torch.float16,
            (lambda x, y, d: promote_types(x.dtype, torch.int64)): torch.int64,
            (lambda x, y, d: x.dtype if d is None else d): torch.float64,
            (lambda x, y, d: y.dtype if one_of(x.dtype, torch.int8, torch.int32) else x.dtype): torch.float16,
            (lambda x, y, d: y.dtype if can_cast(y.dtype, x.dtype) else x.dtype): torch.int32,
            (
                lambda x, y, d: y.dtype if any_of(x.is_floating_point(), y.is_floating_point()) else x.dtype
            ): torch.float16,
            (lambda x, y, d: y.dtype if all_of(x.is_floating_point(), y.is_floating_point()) else x.dtype): torch.int32,
            (lambda x, y, d: y.dtype if x.dtype == y.dtype else x.dtype): torch.int32,
        }.items()
    ):
        schema = f"op{number}(Tensor x, Tensor y, *, ScalarType? dtype=None) -> Tensor"
        assert shaped(lib, schema, lambda x, *_: x.shape, of)(x, y, dtype=torch.float64).dtype is expected


def test_a_joined_condition_is_one_and_asks_no_further_than_it_must(lib: Library) -> None:
    runs = []

    @lib.operator("op(Tensor x, Tensor? y=None) -> Tensor")
    def op(op: Any, x: Any, y: Any) -> None:
        runs.append(1)
        op.check(any_of(x.dim() == 0, x.size(0) == 2, 6 // x.size(0) == 2))
        op.check(all_of(x.dim() <= 1, any_of(x.dim() < 1, x.size(-1) > 1)))
        op.check(y is None)
        op.returns(empty([x.numel() if all_of(x.dim() > 0, x.shape[0] > 2) else x.dim()], x.dtype, x))
        op.launch("CPU", _cpu["failing"], x, i32(0))

    assert [op(torch.ones(shape)).shape for shape in ((), (2,), (3,))] == [(0,), (1,), (3,)]
    assert len(runs) == 2 * 2  # with and without y, and the size
    for arguments, said in {
        (torch.ones(4),): (
            "op: expected x to have 0 dimensions, or x.size(0) to be 2, or 6 // x.size(0) to be 2, got x.dim() = 1, "
            "x.size(0) = 4, 6 // x.size(0) = 1"
        ),
        (torch.ones(2, 2),): (
            "op: expected x.dim() to be at most 1 and x.dim() to be less than 1, or x.size(-1) to be greater than 1, "
            "got x.dim() = 2"
        ),
        (torch.ones(()), torch.ones(())): "op: expected y to be None",
    }.items():
        with pytest.raises(RuntimeError, match=re.escape(said)):
            op(*arguments)
    with pytest.raises(ZeroDivisionError, match="6 by 0"):
        op(torch.ones(0))


def test_conditions_are_ways(lib: Library) -> None:
    @lib.operator("op(Tensor x, int n, str mode, bool flag, float f) -> Tensor")
    def op(op: Any, x: Any, n: Any, mode: Any, flag: Any, f: Any) -> None:
        size = 1 if 0 < n <= 5 else 2
        if mode == "long" and flag:
            size += 10
        if f >= 0.5 or not flag:
            size += 100
        op.returns(empty([size], x.dtype, x))
        op.launch("CPU", _cpu["failing"], x, i32(0))

    x = torch.ones(1)
    assert op(x, 3, "short", False, 0.0).shape == (101,)
    assert op(x, 6, "long", True, 0.1).shape == (12,)
    assert op(x, 0, "short", True, 0.5).shape == (102,)


def test_the_function_runs_once_for_each_way_and_not_at_import(lib: Library) -> None:
    runs = []

    @lib.operator("op(Tensor x, Tensor? y=None) -> Tensor")
    def op(op: Any, x: Any, y: Any) -> None:
        runs.append(y is None)
        op.returns(like(x))
        op.launch("CPU", _cpu["failing"], x, i32(0))

    assert not runs
    for _ in range(3):
        op(torch.ones(2))
    assert sorted(runs) == [False, True]


def test_a_look_at_an_operator_completes_it(lib: Library) -> None:
    @lib.operator("op(Tensor x) -> Tensor", tags=("core",))
    def op(op: Any, x: Any) -> None:
        """Nothing."""
        op.returns(like(x))
        op.launch("CPU", _cpu["failing"], x, i32(0))

    assert op.has_kernel("CPU")
    assert not op.has_kernel("NPU")
    assert op.kernel_sources()["Meta"] == op.source
    assert op.source.startswith(f"{__file__}:")
    assert op.__doc__ == "Nothing."


def test_a_kernel_registered_later_runs_in_its_place(lib: Library) -> None:
    @lib.operator("op(Tensor x) -> Tensor")
    def op(op: Any, x: Any) -> None:
        op.returns(like(x))
        op.launch("CPU", _cpu["failing"], x, i32(3))

    lib.impl("op", lambda x: x + 1, "CPU")
    assert op(torch.zeros(2)).tolist() == [1.0, 1.0]


def test_an_operator_goes_with_its_library() -> None:
    lib = Library(fresh_namespace(), "FRAGMENT")
    ns = lib.ns

    @lib.operator("op(Tensor x) -> Tensor")
    def op(op: Any, x: Any) -> None:
        op.returns(like(x))
        op.launch("CPU", _cpu["failing"], x, i32(0))

    del lib
    gc.collect()
    assert not hasattr(getattr(torch.ops, ns), "op")
    with pytest.raises(NotImplementedError):
        op(torch.ones(1))


@pytest.mark.parametrize("called", [False, True])
def test_nothing_of_a_definition_is_left_for_the_collector(called: bool) -> None:
    lib = Library(fresh_namespace(), "FRAGMENT")

    @lib.operator("op(Tensor x, float scale=1.0) -> Tensor")
    def op(op: Any, x: Any, scale: Any) -> None:
        op.returns(like(x))
        op.launch("CPU", _cpu["scaled_add_grad"], x, x, f32(scale), u64(x.numel()))

        @op.gradient
        def _(grad: Any) -> Any:
            op.check  # noqa: B018  (the function refers to what refers to it)
            return {x: grad * scale}

    if called:
        x = torch.ones(2, requires_grad=True)
        op(x).sum().backward()
        op(x.to("meta"))
        del x
    left = [weakref.ref(lib._definitions[0]), weakref.ref(lib._definitions[0]._function)]
    left += [weakref.ref(op)] + ([weakref.ref(lib._definitions[0].builder.of)] if called else [])
    gc.collect()
    gc.disable()
    try:
        del lib, op
        assert [reference() for reference in left] == [None] * len(left)
    finally:
        gc.enable()


# ---------------------------------------------------------------- what computes
def test_composed_of_operators_that_have_gradients(lib: Library) -> None:
    @lib.operator("op(Tensor x, Tensor y, float scale=2.0) -> Tensor")
    def op(op: Any, x: Any, y: Any, scale: Any) -> None:
        op.returns((x * scale - 1 / y).exp())

    x, y = torch.tensor([0.1], requires_grad=True), torch.tensor([2.0], requires_grad=True)
    op(x, y).backward()
    assert x.grad.tolist() == pytest.approx([2 * math.exp(0.2 - 0.5)])
    assert op.has_kernel("CompositeImplicitAutograd")
    assert op(x.to("meta"), y.to("meta")).shape == (1,)


def test_composed_with_a_gradient_of_its_own(lib: Library) -> None:
    @lib.operator("op(Tensor x) -> Tensor")
    def op(op: Any, x: Any) -> None:
        op.returns(x * 3)

        @op.gradient
        def _(grad: Any) -> Any:
            return {x: grad * 100}

    x = torch.ones(2, requires_grad=True)
    op(x).sum().backward()
    assert x.grad.tolist() == [100.0, 100.0]
    assert op.has_kernel("CompositeExplicitAutograd")


@pytest.mark.parametrize("off", [torch._C.DisableTorchFunction, torch._C.DisableTorchFunctionSubclass])
def test_what_a_definition_says_is_the_same_whatever_the_first_call_has_switched_off(lib: Library, off: Any) -> None:
    @lib.operator("op(Tensor x) -> Tensor")
    def op(op: Any, x: Any) -> None:
        op.returns(torch.cat([x, torch.zeros(1)]))

    with off():
        assert op(torch.ones(1)).tolist() == [1.0, 0.0]
    seen = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func)
            return func(*args, **(kwargs or {}))

    @lib.operator("other(Tensor x) -> Tensor")
    def other(op: Any, x: Any) -> None:
        op.returns(torch.cat([x, torch.zeros(1)]))

    with Mode():
        other(torch.ones(1))
    assert "cat" not in str(seen)


def test_several_outputs_of_an_operator(lib: Library) -> None:
    @lib.operator("op(Tensor x) -> (Tensor, Tensor)")
    def op(op: Any, x: Any) -> None:
        values, indices = x.max(0)
        op.returns(values, indices)

    values, indices = op(torch.tensor([1.0, 5.0, 2.0]))
    assert (values.item(), indices.item()) == (5.0, 1)


def test_a_kernel_in_python_instead_of_a_launch(lib: Library) -> None:
    @lib.operator("op(Tensor x, *, float scale) -> Tensor")
    def op(op: Any, x: Any, scale: Any) -> None:
        out = op.returns(like(x))
        if one_of(x.dtype, torch.float32):
            op.launch("CPU", _cpu["scaled_add_grad"], x.contiguous(), out, f32(scale), u64(x.numel()))
        else:
            op.python(f"{HELPERS}:scaled", x, scale=scale)

        @op.gradient
        def _(grad: Any) -> Any:
            return {x: grad * scale}

    helpers.calls.clear()
    assert op(torch.ones(2), scale=3.0).tolist() == [3.0, 3.0]
    assert not helpers.calls
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    out = op(x, scale=3.0)
    assert helpers.calls == ["scaled"]
    out.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    assert op(torch.ones(2, device="meta", dtype=torch.float64), scale=1.0).dtype is torch.float64


def test_a_kernel_in_python_whose_shape_depends_on_data(lib: Library) -> None:
    @lib.operator("op(Tensor x) -> Tensor")
    def op(op: Any, x: Any) -> None:
        op.returns(op.python(f"{HELPERS}:positive", x, fake=f"{HELPERS}:positive_fake"))

    assert op(torch.tensor([1.0, -1.0, 2.0])).tolist() == [1.0, 2.0]
    assert op(torch.empty(3, device="meta")).shape == (3,)


def test_python_with_two_outputs(lib: Library) -> None:
    @lib.operator("op(Tensor x) -> (Tensor, Tensor)")
    def op(op: Any, x: Any) -> None:
        op.returns(like(x), like(x))
        op.python(f"{HELPERS}:halves", x)

    assert [t.tolist() for t in op(torch.tensor([4.0]))] == [[2.0], [1.0]]
    assert len(op(torch.empty(3, device="meta"))) == 2


@pytest.mark.parametrize(("name", "words"), [("same", "shares memory with argument 'x'"), ("no_tensor", "is a Tensor")])
def test_what_python_returns_is_looked_at(lib: Library, name: str, words: str) -> None:
    @lib.operator("op(Tensor x) -> Tensor")
    def op(op: Any, x: Any) -> None:
        op.returns(like(x))
        op.python(f"{HELPERS}:{name}", x)

    with pytest.raises(RuntimeError, match=words):
        op(torch.ones(1))


def test_writing_to_an_argument(lib: Library) -> None:
    @lib.operator("op_(Tensor(a!) x, float scale) -> Tensor(a!)")
    def op(op: Any, x: Any, scale: Any) -> None:
        op.returns(x)
        op.launch("CPU", _cpu["scaled_add_grad"], x, x, f32(scale), u64(x.numel()))

    x = torch.ones(3)
    version = x._version
    assert op(x, 2.0) is x
    assert x.tolist() == [2.0] * 3
    assert x._version == version + 1


def test_an_operator_that_returns_nothing(lib: Library) -> None:
    @lib.operator("doubles(Tensor(a!) x) -> ()")
    def doubles(op, x):
        op.compute(x.mul_(2), device="CPU")
        op.not_differentiable()

    x = torch.ones(2)
    assert doubles(x) is None
    assert x.tolist() == [2, 2]
    assert doubles(torch.ones(2, device="meta")) is None


def test_a_gradient_may_read_what_is_overwritten(lib: Library) -> None:
    """A copy is kept by calls whose gradient reads it, and by no others."""

    @lib.operator("op_(Tensor(a!) x, Tensor y, float power) -> Tensor(a!)")
    def op(op: Any, x: Any, y: Any, power: Any) -> None:
        op.returns(x)
        op.python(f"{HELPERS}:multiply_")

        @op.gradient
        def _(grad: Any) -> Any:
            was = op.before(x)
            return {x: grad * y, y: grad * was + x * 0 if power < 1.0 else grad * was.view(was.shape)}

    y = torch.tensor([5.0, 7.0], requires_grad=True)
    for power in (0.5, 2.0):
        x = torch.tensor([2.0, 3.0], requires_grad=True)
        changed = op(x * 1, y, power)
        assert changed.tolist() == [10.0, 21.0]
        first = torch.autograd.grad(changed.sum(), [x, y], create_graph=True)
        assert [g.tolist() for g in first] == [[5.0, 7.0], [2.0, 3.0]]
        assert torch.autograd.grad(first[1].sum(), x)[0].tolist() == [1.0, 1.0]
    saved = {}
    for name, (of, by) in {"y": (x.detach().clone(), y), "x": (x * 1, y.detach())}.items():
        saved[name] = [t.tolist() for t in op(of, by, 2.0).grad_fn.saved_tensors if t is not None]
    assert saved == {"y": [[2.0, 3.0], [10.0, 21.0]], "x": [[5.0, 7.0]]}


def test_broadcasting_outputs(lib: Library) -> None:
    @lib.operator("op(Tensor x, Tensor y) -> Tensor")
    def op(op: Any, x: Any, y: Any) -> None:
        op.returns(broadcast(x, y))
        op.launch("CPU", _cpu["failing"], x, i32(0))

    out = op(torch.ones(2, 1), torch.ones(3, dtype=torch.float64))
    assert (out.shape, out.dtype) == ((2, 3), torch.float64)


def test_devices_may_be_compared_before_the_call(lib: Library) -> None:
    @lib.operator("op(Tensor x, Tensor y) -> Tensor", device_check="ExactSame")
    def op(op: Any, x: Any, y: Any) -> None:
        op.returns(like(x))
        op.launch("CPU", _cpu["failing"], x, i32(0))

    assert op(torch.ones(1), torch.ones(1)).shape == (1,)
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        op(torch.ones(1, device="meta"), torch.ones(1))


# ---------------------------------------------------------------- a kernel's status
@pytest.mark.parametrize(
    ("status", "error"), [(1, NotImplementedError), (4, IndexError), (77, torch.library.KernelError)]
)
@pytest.mark.parametrize("grad", [False, True])
def test_a_status_becomes_the_operators_error(lib: Library, status: int, error: type[Exception], grad: bool) -> None:
    @lib.operator("op(Tensor x, int status) -> Tensor")
    def op(op: Any, x: Any, status: Any) -> None:
        op.returns(like(x))
        op.launch("CPU", _cpu["failing"], x, i32(status))

        @op.gradient
        def _(g: Any) -> Any:
            return {x: g}

    with pytest.raises(error) as caught:
        op(torch.ones(1, requires_grad=grad), status)
    if status == 77:
        assert str(caught.value).startswith(f"{lib.ns}::op: kernel failing returned 77")
        assert caught.value.status == 77


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="only there are signals handled")
@pytest.mark.parametrize("grad", [False, True])
def test_control_c_ends_a_launch(lib: Library, grad: bool) -> None:
    @lib.operator("op(Tensor x) -> Tensor")
    def op(op: Any, x: Any) -> None:
        op.returns(like(x))
        op.launch("CPU", _cpu["endless"], x)

        @op.gradient
        def _(g: Any) -> Any:
            return {x: g}

    x = torch.ones(100, 100, requires_grad=grad)
    lib.check()
    # Python's own handler: a shell's background ignores the signal, and MindSpore's, once it has computed in this
    # process, ends it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            op(x)
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
    assert (torch.ones(3) * 2).tolist() == [2.0] * 3


def test_threads_that_make_the_first_call(lib: Library) -> None:
    runs = []

    @lib.operator("op(Tensor x) -> Tensor")
    def op(op: Any, x: Any) -> None:
        runs.append(threading.get_ident())
        time.sleep(0.05)  # others come while it runs
        out = op.returns(like(x))
        op.launch("CPU", _cpu["scaled_add_grad"], x, out, f32(2.0), u64(x.numel()))

    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(op(torch.ones(2)).tolist())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[2.0, 2.0]] * 8
    assert len(runs) == 1


def test_ways_that_are_composed_beside_ways_that_run_something(lib: Library) -> None:
    @lib.operator("op(Tensor x, int n) -> Tensor")
    def op(op: Any, x: Any, n: Any) -> None:
        if n > 2:
            op.returns(x * n)
        else:
            op.returns(like(x))
            op.python(lambda x, n: x - n, device="any")

    assert op(torch.ones(1), 3).tolist() == [3.0]
    assert op(torch.ones(1), 2).tolist() == [-1.0]


def test_a_struct_of_constants_is_passed_and_uploaded(lib: Library) -> None:
    @lib.operator("op(Tensor x) -> Tensor")
    def op(op: Any, x: Any) -> None:
        out = op.returns(like(x))
        op.launch("CPU", _cpu["tiled"], x, None, out, upload(struct(n=i32(7)), x))

    assert op(torch.ones(1)).tolist() == [7.0]
