"""The Tracing key: what it records beside PyTorch's traces, and what a recorded graph does when it runs again."""

from __future__ import annotations

import gc
import re
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch as pytorch

import mindtorch_v2 as torch
from tests.runtime.both import agree, fresh_namespace


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # PyTorch has one for the whole of its `torch.jit`
        yield


def mlp(library: Any) -> Any:
    return library.nn.Sequential(library.nn.Linear(3, 4), library.nn.ReLU(), library.nn.Linear(4, 2))


def buffered(library: Any) -> Any:
    class Net(library.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = library.nn.Linear(3, 4), library.nn.Linear(4, 2)
            self.register_buffer("scale", library.ones(4))

        def forward(self, x: Any) -> Any:
            h = self.first(x).tanh() * self.scale
            h += x.sum()
            return library.softmax(self.second(h).detach(), -1), h.t()

    return Net()


def steps(library: Any, make: Callable[[Any], Any], *shapes: Any) -> list[tuple[str, str]]:
    """The aten operators of a trace, with the types of what they make."""
    traced = library.jit.trace(make(library), tuple(library.ones(shape) for shape in shapes), check_trace=False)
    graph = getattr(traced, "inlined_graph", traced.graph)
    made = [(node.kind(), str(node).split(" = ")[0]) for node in graph.nodes() if node.kind().startswith("aten::")]
    return [(kind, re.sub(r"%[\w.]+ : ", "", types)) for kind, types in made]


def views(library: Any) -> Any:
    def function(x: Any, y: Any) -> Any:
        h = (x.view(-1) * 2).reshape(3, 2).transpose(0, 1).unsqueeze(1).squeeze(1)
        h = h.permute(1, 0).expand(3, 2)[1:].clone()
        h.select(0, 1).mul_(3)
        return h + y.exp_()[0, :2], library.cat([x, y])

    return function


def splits(library: Any) -> Any:
    def function(x: Any) -> Any:
        first, second = x.split(2, 1)[:2]
        return library.stack([first, second.sigmoid()]), x.unbind(0)[1].max()

    return function


RECORDED = {
    "MLP": (mlp, (5, 3)),
    "module with a buffer": (buffered, (5, 3)),
    "views and changes in place": (views, (2, 3), (2, 3)),
    "several outputs": (splits, (2, 4)),
    "detach": (lambda library: lambda x: x.detach() + x.mm(x), (2, 2)),
    "factories": (lambda library: lambda x: x + library.zeros(2, 2) * library.arange(2), (2, 2)),
}


@pytest.mark.parametrize("name", RECORDED)
def test_operators_and_types_are_those_of_pytorch(name: str) -> None:
    make, *shapes = RECORDED[name]
    ours, theirs = steps(torch, make, *shapes), steps(pytorch, make, *shapes)
    assert ours == theirs
    assert ours


def test_it_prints_one_line_a_step() -> None:
    def function(x: Any, pair: Any) -> Any:
        y = x + pair[0]
        return y.sum(), (y, pair[1])

    x = torch.ones(2, 3)
    text = str(torch.jit.trace(function, (x, (x, x))).graph)
    line = function.__code__.co_firstlineno + 1
    float23 = "Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu)"
    scalar = "Float(requires_grad=0, device=cpu)"
    assert text == (
        f"graph(%x : {float23},\n"
        f"      %pair.0 : {float23},\n"
        f"      %pair.1 : {float23}):\n"
        "  %1 : int = prim::Constant[value=1]()\n"
        f"  %2 : {float23} = aten::add(%x, %pair.0, %1) # {__file__}:{line}\n"
        "  %3 : NoneType = prim::Constant()\n"
        f"  %4 : {scalar} = aten::sum(%2, %3) # {__file__}:{line + 1}\n"
        f"  %5 : ({float23}, {float23}) = prim::TupleConstruct(%2, %pair.1)\n"
        f"  %6 : ({scalar}, ({float23}, {float23})) = prim::TupleConstruct(%4, %5)\n"
        "  return (%6)\n"
    )


def test_nodes_say_what_they_are() -> None:
    graph = torch.jit.trace(
        lambda x: torch.cat([x, x.to("meta").cpu()]) if False else torch.cat([x, x]), torch.ones(2)
    ).graph
    node = graph.findAllNodes("aten::cat")[0]
    assert node.op is torch.ops.aten.cat.default
    assert node.schema() == "aten::cat(Tensor[] tensors, int dim=0) -> Tensor"
    assert [value.debugName() for value in node.inputs()] == ["1", "2"]
    assert node.output() in list(graph.outputs())
    assert node.device == torch.device("cpu")
    assert graph.operators() == [("aten::cat", torch.device("cpu"))]
    assert str(next(iter(graph.inputs())).type()).startswith("Float(2")


def test_devices_in_order() -> None:
    traced = torch.jit.trace(lambda x: (x * 2).to("meta") + 1, torch.ones(2))
    assert [(name, device.type) for name, device in traced.graph.operators()] == [
        ("aten::mul", "cpu"),
        ("aten::_to_copy", "meta"),
        ("aten::add", "meta"),
    ]


def test_npu_tensors() -> None:
    traced = torch.jit.trace(lambda x: (x * 2 + 1).cpu().exp(), torch.zeros(2, device="npu"))
    assert [(name, device.type) for name, device in traced.graph.operators()] == [
        ("aten::mul", "npu"),
        ("aten::add", "npu"),
        ("aten::_to_copy", "cpu"),
        ("aten::exp", "cpu"),
    ]
    x = torch.full((2,), -0.5, device="npu")
    assert traced(x).tolist() == [1, 1]


def test_autocast_is_recorded_as_its_casts() -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        traced = torch.jit.trace(lambda x: x @ x, torch.ones(2, 2))
    assert [name for name, _ in traced.graph.operators()] == ["aten::_to_copy", "aten::_to_copy", "aten::matmul"]
    assert traced(torch.ones(2, 2)).dtype is torch.bfloat16


# ---------------------------------------------------------------- running again


def test_a_run_computes_what_the_module_does_with_its_own_gradients() -> None:
    module = mlp(torch)
    traced = torch.jit.trace(module, torch.ones(5, 3))
    x, y = torch.randn(7, 3, requires_grad=True), torch.randn(7, 3)
    y.copy_(x.detach()).requires_grad_()
    traced(x).pow(2).sum().backward()
    found = [x.grad, *(p.grad.clone() for p in module.parameters())]
    module.zero_grad()
    module(y).pow(2).sum().backward()
    for a, b in zip(found, [y.grad, *(p.grad for p in module.parameters())], strict=True):
        assert torch.allclose(a, b)


def test_parameters_are_the_modules_own() -> None:
    module = mlp(torch)
    traced = torch.jit.trace(module, torch.ones(5, 3))
    assert [name for name, _ in traced.named_parameters()] == [name for name, _ in module.named_parameters()]
    optimizer = torch.optim.SGD(traced.parameters(), lr=0.1)
    x = torch.randn(5, 3)
    before = traced(x).detach()
    traced(x).sum().backward()
    optimizer.step()
    assert torch.allclose(traced(x), module(x))
    assert not torch.allclose(traced(x), before)
    module[0].weight = torch.nn.Parameter(torch.zeros(4, 3))
    assert torch.allclose(traced(x), module(x))


def test_a_function_captures_by_reference() -> None:
    w = torch.ones(2, requires_grad=True)
    traced = torch.jit.trace(lambda x: x * w, torch.ones(2))
    with torch.no_grad():
        w.mul_(3)
    assert traced(torch.ones(2)).tolist() == [3, 3]
    traced(torch.full((2,), 5.0)).sum().backward()
    assert w.grad.tolist() == [5, 5]


def changes_in_place(library: Any) -> Any:
    def function(x: Any) -> Any:
        y = x * 2
        row = y[0]
        row.add_(1)
        y.view(-1)[1] = 7
        x.mul_(10)
        return row, y

    return function


def test_changes_in_place_and_views_run_again() -> None:
    def case(library: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            example = library.ones(2, 3)
            traced = library.jit.trace(changes_in_place(library), example)
        x = library.arange(6, dtype=library.float32).view(2, 3)
        first = [t.clone() for t in traced(x)]
        return first, x, example

    agree(case)


def test_what_a_factory_makes_is_made_in_every_run() -> None:
    traced = torch.jit.trace(lambda x: torch.zeros(2).add_(x), torch.ones(2))
    assert [traced(torch.ones(2)).tolist() for _ in range(2)] == [[1, 1]] * 2


def test_each_run_gets_a_constant_of_its_own() -> None:  # in PyTorch the runs add up
    with pytest.warns(torch.jit.TracerWarning, match="registered as constants"):
        traced = torch.jit.trace(lambda x: torch.tensor([1.0, 2.0]).add_(x), torch.ones(2))
    assert [traced(torch.ones(2)).tolist() for _ in range(2)] == [[2, 3]] * 2


def test_nested_inputs_and_outputs() -> None:
    def function(x: Any, pair: Any, *, named: Any) -> Any:
        return {"sum": x + pair[0], "parts": [pair[1]["a"] * 2, (named,)]}

    one = torch.ones(2)
    traced = torch.jit.trace(function, (one, (one, {"a": one})), example_kwarg_inputs={"named": one}, strict=False)
    x = torch.arange(2, dtype=torch.float32)
    result = traced(x, (x, {"a": x}), named=x)
    assert result["sum"].tolist() == [0, 2]
    assert result["parts"][0].tolist() == [0, 2]
    assert isinstance(result["parts"], list)
    assert result["parts"][1][0] is x
    with pytest.raises(RuntimeError, match="not nested as those that were traced"):
        traced(x, x, named=x)


def test_a_buffer_changes_once_a_run() -> None:
    class Counter(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("calls", torch.zeros(1))

        def forward(self, x: Any) -> Any:
            self.calls.add_(1)
            return x * self.calls

    module = Counter()
    traced = torch.jit.trace(module, torch.ones(1))
    assert module.calls.tolist() == [1]
    assert traced(torch.ones(1)).tolist() == [2]
    assert module.calls.tolist() == [2]


def test_a_backward_pass_inside_the_function_is_recorded() -> None:
    def function(x: Any, w: Any) -> Any:
        w = w.detach().requires_grad_()
        y = (x @ w).exp().tanh().sum()
        return y, torch.autograd.grad(y, w)[0]

    traced = torch.jit.trace(function, (torch.randn(2, 3), torch.randn(3, 1)))
    x, w = torch.randn(2, 3), torch.randn(3, 1)
    for a, b in zip(traced(x, w), function(x, w), strict=True):
        assert torch.allclose(a, b)
    assert "aten::tanh_backward" in str(traced.graph) or "aten::mm" in str(traced.graph)


def test_random_numbers_are_drawn_anew() -> None:
    traced = torch.jit.trace(lambda x: x + torch.rand(3), torch.zeros(3))  # the check repeats the same numbers
    assert traced(torch.zeros(3)).tolist() != traced(torch.zeros(3)).tolist()


# ---------------------------------------------------------------- operators of users


def test_custom_operators_are_one_node() -> None:
    namespace = fresh_namespace()

    def fill_up(x: Any, value: float) -> None:
        x.fill_(value)

    lib = torch.library.Library(namespace, "FRAGMENT")
    lib.define("composite(Tensor x) -> Tensor")
    lib.impl("composite", lambda x: x * 2 + 1, "CompositeImplicitAutograd")
    lib.define("fill_up(Tensor(a!) x, float value) -> ()")
    lib.impl("fill_up", fill_up, "CPU")

    @torch.library.custom_op(f"{namespace}::custom", mutates_args=())
    def custom(x: torch.Tensor, scale: float) -> tuple[torch.Tensor, list[torch.Tensor]]:
        return x * scale, [x + 1, x + 2]

    ops = getattr(torch.ops, namespace)

    def function(x: Any) -> Any:
        y = ops.composite(x)
        z, (a, b) = custom(y, 3.0)
        ops.fill_up(a, 5.0)
        return z, a, b

    traced = torch.jit.trace(function, torch.ones(2))
    assert [name for name, _ in traced.graph.operators()] == [
        f"{namespace}::composite",
        f"{namespace}::custom",
        f"{namespace}::fill_up",
    ]
    assert [t.tolist() for t in traced(torch.zeros(2))] == [[3, 3], [5, 5], [3, 3]]


def test_a_function_keeps_its_own_backward() -> None:
    def case(library: Any) -> Any:
        class Scale(library.autograd.Function):  # type: ignore[misc, name-defined]
            @staticmethod
            def forward(ctx: Any, x: Any, factor: float) -> Any:
                return x * factor

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return grad * 7, None

        traced = library.jit.trace(lambda x: Scale.apply(x, 2.0) + 1, library.ones(2))
        x = library.full((2,), 3.0, requires_grad=True)
        y = traced(x)
        y.sum().backward()
        return y, x.grad

    agree(case)


def test_a_mode_sees_the_calls_of_a_run() -> None:
    seen = []

    class Watch(torch.overrides.TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func.name())
            return func(*args, **(kwargs or {}))

    traced = torch.jit.trace(lambda x: x.detach() * 2, torch.ones(2))
    x = torch.ones(2)
    with Watch():
        traced(x)
    assert seen == ["aten::detach", "aten::mul.Scalar"]


# ---------------------------------------------------------------- what a trace cannot know


READS: dict[str, Callable[[Any, Any], Any]] = {
    "boolean": lambda library, x: x + 1 if x.sum() > 0 else x - 1,
    "integer": lambda library, x: x + int(x.sum()),
    "float": lambda library, x: x + float(x.sum()),
    "number": lambda library, x: x + x.sum().item(),
    "list": lambda library, x: x + sum(x.tolist()),
    "array": lambda library, x: x + float(x.numpy().sum()),
    "length": lambda library, x: x + len(x),
    "iteration": lambda library, x: sum(x),
    "constant": lambda library, x: x + library.tensor([1.0, 2.0]),
}


@pytest.mark.parametrize("name", READS)
def test_what_leaves_the_trace_is_said_in_pytorchs_words(name: str) -> None:
    def said(library: Any) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            library.jit.trace(lambda x: READS[name](library, x), library.ones(2), check_trace=False)
        found = [w for w in caught if w.category is library.jit.TracerWarning]
        assert all(w.filename == __file__ for w in found)
        return sorted({str(w.message) for w in found})

    assert said(torch) == said(pytorch)
    assert said(torch)


def test_an_index_is_a_read_too() -> None:  # PyTorch is silent
    with pytest.warns(torch.jit.TracerWarning, match="Converting a tensor to a Python index"):
        torch.jit.trace(lambda x: x + [5, 6, 7, 8][x.long().sum()], torch.ones(2))


def test_a_shape_that_was_read_is_checked() -> None:
    with pytest.warns(torch.jit.TracerWarning, match="Using len to get tensor shape"):
        traced = torch.jit.trace(lambda x: x * len(x), torch.ones(2))
    assert traced(torch.ones(2)).tolist() == [2, 2]
    with pytest.warns(torch.jit.TracerWarning, match=r"has the shape \[2\] of %x, read at .*test_jit_trace.py:\d+"):
        traced(torch.ones(3))


def test_shapes_that_only_operators_read_may_differ() -> None:
    traced = torch.jit.trace(lambda x: x[0] * 2 + x[-1], torch.ones(2, 2))
    assert traced(torch.ones(5, 3)).tolist() == [3, 3, 3]


def test_a_trace_that_is_not_the_function_is_said_to_be_wrong() -> None:
    hidden = torch.zeros(1)
    memory = hidden.numpy()

    def function(x: Any) -> Any:
        memory[:] += 1
        y = x + hidden
        memory[:] += 1
        return y

    with pytest.warns(torch.jit.TracerWarning, match=r"Output nr 1\. of the traced function does not match"):
        torch.jit.trace(function, torch.ones(1))


MISTAKES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a number as input": (lambda library: library.jit.trace(lambda x, n: x, (library.ones(2), 3)), "cannot be traced"),
    "a number as output": (
        lambda library: library.jit.trace(lambda x: (x, 3), library.ones(2)),
        "can be output from traced",
    ),
    "nothing returned": (
        lambda library: library.jit.trace(lambda x: None, library.ones(2)),
        "didn't return any values",
    ),
    "a dict returned": (lambda library: library.jit.trace(lambda x: {"a": x + 1}, library.ones(2)), "strict=False"),
    "nested": (
        lambda library: library.jit.trace(lambda x: library.jit.trace(lambda y: y + 1, x)(x), library.ones(2)),
        "Tracing can't be nested",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str) -> None:
    agree(*MISTAKES[name])


# ---------------------------------------------------------------- the state


def test_an_error_leaves_no_state_behind() -> None:
    before = torch._C._dispatch_tls_local_include_set(), torch._C._dispatch_tls_local_exclude_set()

    def fails(x: Any) -> Any:
        assert torch.jit.is_tracing()
        raise KeyError("stop")

    with pytest.raises(KeyError):
        torch.jit.trace(fails, torch.ones(2))
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
        torch.jit.trace(lambda x: x.mm(x), torch.ones(2, 3))
    assert torch._C._get_tracing_state() is None
    assert not torch.jit.is_tracing()
    assert (torch._C._dispatch_tls_local_include_set(), torch._C._dispatch_tls_local_exclude_set()) == before
    assert torch.jit.trace(lambda x: x + 1, torch.ones(2))(torch.zeros(2)).tolist() == [1, 1]


def test_the_state_by_hand() -> None:
    state = torch._C.TracingState()
    x = torch.ones(2)
    state.add_input(x, "x")
    torch._C._set_tracing_state(state)
    try:
        assert torch._C._get_tracing_state() is state
        y = x * 2 + 1
    finally:
        torch._C._set_tracing_state(None)
    z = y * 5  # not recorded
    state.add_output(y)
    assert z.tolist() == [15, 15]
    assert [name for name, _ in state.graph.operators()] == ["aten::mul", "aten::add"]
    assert torch.jit.run_graph(state.graph, [torch.zeros(2)]).tolist() == [1, 1]


def test_a_graph_is_freed_without_the_collector() -> None:
    module = mlp(torch)
    traced = torch.jit.trace(module, torch.ones(2, 3))
    graph, weight = weakref.ref(traced.graph), weakref.ref(module[0].weight)
    first = weakref.ref(next(traced.graph.inputs()))
    gc.disable()
    try:
        del traced, module
        assert (graph(), weight(), first()) == (None, None, None)
    finally:
        gc.enable()


def test_other_threads_are_not_recorded() -> None:
    def function(x: Any) -> Any:
        worker = threading.Thread(target=lambda: x + 100)
        worker.start()
        worker.join()
        return x * 2

    assert [name for name, _ in torch.jit.trace(function, torch.ones(2)).graph.operators()] == ["aten::mul"]


def test_memory_without_a_history_is_refused() -> None:
    from mindtorch_v2 import _core

    with pytest.raises(RuntimeError, match="no operator made it"):
        torch.jit.trace(lambda x: _core.as_strided(x * 2, (2,), (1,)) + 1, torch.ones(4))


def test_a_bound_forward_and_a_trace_are_traced_as_the_module() -> None:
    def case(torch: Any) -> Any:
        module = torch.nn.Linear(2, 2)
        traced = torch.jit.trace(module.forward, torch.ones(2))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            again = torch.jit.trace(traced, torch.ones(2))
        return (
            isinstance(traced, torch.jit.TracedModule),
            again is traced,
            repr(traced),
            repr(torch.jit.TracedModule(module)),
        )

    agree(case)


def test_inputs_to_check_a_trace_by() -> None:
    def function(x: Any) -> Any:
        return x * 2 if x.shape[0] == 3 else x * 3

    example = torch.ones(3), None, True
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.jit.trace(function, *example, [torch.ones(3)])
        assert not [w for w in caught if "does not match" in str(w.message)]
        torch.jit.trace(function, *example, [(torch.ones(2),)])
    assert [w for w in caught if "does not match" in str(w.message)]
