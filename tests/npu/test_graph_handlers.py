"""Handlers of captured operators: classes, their registry, what they keep of a call, and what they may not do."""

from __future__ import annotations

import functools
import gc
import threading
from collections import namedtuple
from typing import ClassVar

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import library, npu
from mindtorch_v2.npu.graphs import (
    _NPU_GRAPH_OP_HANDLERS,
    DispatchRecord,
    NpuGraphOpHandler,
    WeakTensor,
    register_npu_graph_handler,
)
from tests.npu.conftest import on, values
from tests.runtime.both import fresh_namespace


@pytest.fixture(autouse=True)
def _registry():
    before = dict(_NPU_GRAPH_OP_HANDLERS)
    yield
    _NPU_GRAPH_OP_HANDLERS.clear()
    _NPU_GRAPH_OP_HANDLERS.update(before)


@pytest.fixture
def x():
    return on("npu", np.arange(1, 5, dtype=np.float32))


@pytest.fixture
def lib(scale):
    """``scaled`` multiplies by a number, new or into ``out``; ``swap`` has a list that the kernel does not read."""
    made = library.Library(fresh_namespace(), "FRAGMENT")
    made.define("scaled(Tensor x, float factor=1.0, *, int[]? lens=None) -> Tensor")
    made.define("scaled.out(Tensor x, float factor=1.0, *, int[]? lens=None, Tensor(a!) out) -> Tensor(a!)")
    made.define("scaled_all(Tensor[] xs, *, float factor=1.0, Tensor? bias=None) -> Tensor")

    def out_kernel(x, factor, *, lens, out):
        scale(1, x, out, factor, x.numel() if lens is None else lens[0])
        return out

    def kernel(x, factor, *, lens):
        return out_kernel(x, factor, lens=lens, out=npu.alloc_like(x))

    def all_kernel(xs, *, factor, bias):
        return out_kernel(xs[0], factor, lens=None, out=npu.alloc_like(xs[0]))

    made.impl("scaled", kernel, "NPU")
    made.impl("scaled.out", out_kernel, "NPU")
    made.impl("scaled_all", all_kernel, "NPU")
    made.impl("scaled", lambda x, factor, *, lens: torch.empty_like(x), "Meta")
    yield made
    made._destroy()


@pytest.fixture
def ops(lib):
    return getattr(torch.ops, lib.ns)


def captured(run):
    graph = npu.NPUGraph()
    with npu.graph(graph, auto_dispatch_capture=True):
        result = run()
    return graph, result


def refused(call, kind=RuntimeError):
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


# ---------------------------------------------------------------- the registry
def test_one_name_and_several():
    @register_npu_graph_handler("one")
    class One(NpuGraphOpHandler):
        pass

    @register_npu_graph_handler(["two", "two.default"])
    class Two(NpuGraphOpHandler):
        pass

    assert (_NPU_GRAPH_OP_HANDLERS["one"], _NPU_GRAPH_OP_HANDLERS["two.default"]) == (One, Two)
    assert torch.npu.graphs._NPU_GRAPH_OP_HANDLERS is _NPU_GRAPH_OP_HANDLERS
    assert torch.npu.NpuGraphOpHandler is NpuGraphOpHandler


def test_overriding_warns_with_both_names():
    @register_npu_graph_handler("one")
    class First(NpuGraphOpHandler):
        pass

    class Second(NpuGraphOpHandler):
        pass

    with pytest.warns(UserWarning, match=r"'one' is overridden: First -> Second"):
        register_npu_graph_handler("one")(Second)
    assert _NPU_GRAPH_OP_HANDLERS["one"] is Second


def test_instances_are_none():
    assert "never made an instance of" in refused(NpuGraphOpHandler, TypeError)
    assert "expected a class derived from NpuGraphOpHandler, got an instance of object" in refused(
        lambda: register_npu_graph_handler("one")(object()), TypeError
    )
    assert "got the class int" in refused(lambda: register_npu_graph_handler("one")(int), TypeError)
    for names in ("", [], [1], None):
        assert "expected the name of an operator" in refused(lambda n=names: register_npu_graph_handler(n), TypeError)


HOOKS = ("prepare_capture", "postprocess_result", "get_update_specs", "update_args", "record_wrap_kwarg")


@pytest.mark.parametrize("hook", HOOKS)
def test_a_hook_is_a_classmethod(hook):
    class Callable:
        def __call__(self, *args):
            return args

    for given, what in (
        (lambda self, *args: args, "a plain method"),
        (Callable(), "Callable"),
        (staticmethod(lambda *args: args), "staticmethod"),
    ):
        message = refused(lambda g=given: type("Wrong", (NpuGraphOpHandler,), {hook: g}), TypeError)
        assert message.startswith(f"Wrong.{hook} must be a classmethod, got {what}")
    mixin = type("Mixin", (), {hook: lambda self, *args: args})
    assert "must be a classmethod" in refused(lambda: type("Wrong", (mixin, NpuGraphOpHandler), {}), TypeError)
    few = classmethod(lambda cls: None)
    assert f"Wrong.{hook}(cls, " in refused(lambda: type("Wrong", (NpuGraphOpHandler,), {hook: few}), TypeError)


@pytest.mark.parametrize(
    "spec", [("arg", "x", "k"), ("arg", -1, "k"), ("arg", True, "k"), ("kwarg", 1, "k"), ("x", 1, "k"), 5]
)
def test_specs_are_checked(spec):
    assert "expected ('arg', index, key)" in refused(
        lambda: type("Wrong", (NpuGraphOpHandler,), {"UPDATE_SPECS": {"f": [spec]}}), TypeError
    )


def test_default_and_bare_names_are_one():
    class Handler(NpuGraphOpHandler):
        UPDATE_SPECS: ClassVar = {"f": [("arg", 1, "n")], "g.default": [("kwarg", "m", "m")]}

    assert Handler.get_update_specs("f.default") == [("arg", 1, "n")]
    assert Handler.get_update_specs("g") == [("kwarg", "m", "m")]
    assert list(Handler.get_update_specs("f.out")) == []


# ---------------------------------------------------------------- what is kept of a call
def test_what_is_kept_of_keyword_arguments(x):
    wrap = NpuGraphOpHandler.record_wrap_kwarg
    names = ["x", "out"]
    assert wrap("x", None, names) is None
    weak = wrap("x", x, names)
    assert isinstance(weak, WeakTensor)
    assert weak().data_ptr() == x.data_ptr()
    Pair = namedtuple("Pair", "a b")
    for kind in (list, tuple, lambda items: Pair(*items)):
        given = kind([x, [1, 2]])
        kept = wrap("out", given, names)
        assert type(kept) is type(given)
        assert isinstance(kept[0], WeakTensor)
        assert kept[1] == [1, 2]
        assert kept[1] is not given[1]
    host = torch.ones(3)
    kept = wrap("x", host, names)
    host.fill_(2.0)
    assert kept.tolist() == [1, 1, 1]
    nested = {"a": [1]}
    assert wrap("tag", nested, names) == nested
    assert wrap("tag", nested, names)["a"] is not nested["a"]
    held = torch.ones(2, requires_grad=True) * 2  # no leaf, which no deep copy is made of
    assert wrap("x", [held], names)[0].tolist() == [2, 2]


def test_a_freed_tensor_is_noticed_also_when_its_memory_has_another():
    early = on("npu", np.ones(4, np.float32))
    view = early[1:]
    weak, of_view = WeakTensor(early), WeakTensor(view)
    del early
    assert weak() is not None  # the view keeps the memory
    address = view.data_ptr() - 4
    del view
    assert weak() is None
    assert of_view() is None
    again = [on("npu", np.zeros(4, np.float32)) for _ in range(8)]
    assert address in {each.data_ptr() for each in again}
    assert weak() is None
    assert "freed" in repr(weak)


class Recording(NpuGraphOpHandler):
    """Notes what its hooks were called with."""

    calls: ClassVar = []

    @classmethod
    def prepare_capture(cls, func, args, kwargs):
        cls.calls.append(("prepare", func.__name__, len(args), sorted(kwargs)))
        return func, args, kwargs

    @classmethod
    def postprocess_result(cls, result, kwargs):
        cls.calls.append(("postprocess", sorted(kwargs)))
        return result.reshape(2, 2)

    @classmethod
    def update_args(cls, dispatch_record, update_input):
        assert isinstance(dispatch_record, DispatchRecord)
        cls.calls.append(("update", dispatch_record.op_cache_entry.__name__))
        if "by" in update_input:
            dispatch_record.args[1] = update_input["by"]


def test_hooks_of_a_user_win_over_the_library_s(lib, ops, x):
    lib.register_graph("scaled", update="factor")
    declared = _NPU_GRAPH_OP_HANDLERS["scaled.default"]
    assert declared.get_update_specs("scaled.default") == [("arg", 1, "factor")]
    Recording.calls.clear()
    with pytest.warns(UserWarning, match="scaled_default_graph -> Recording"):
        register_npu_graph_handler(["scaled", "scaled.default"])(Recording)
    graph, result = captured(lambda: ops.scaled(x, 2.0, lens=[4]))
    assert result.shape == (2, 2)
    for by in (3.0, 5.0):
        graph.update([{"by": by}])
        graph.replay()
        np.testing.assert_array_equal(values(result).ravel(), by * np.arange(1, 5))
    graph.update([{"lens": [2], "by": 10.0}])  # keyword arguments of the name have the value already
    graph.replay()
    np.testing.assert_array_equal(values(result).ravel(), [10, 20, 15, 20])
    assert Recording.calls[:2] == [("prepare", "scaled.default", 2, ["lens"]), ("postprocess", ["lens"])]
    assert Recording.calls[2] == ("update", "scaled.default")
    assert "'factr' cannot be updated" in refused(lambda: graph.update([{"factr": 1.0}]), ValueError)


def test_a_handler_of_the_same_name_in_another_namespace(lib, ops, x):
    lib.register_graph("scaled", update="factor")
    other = library.Library(fresh_namespace(), "FRAGMENT")
    other.define("scaled(Tensor x) -> Tensor")
    other.impl("scaled", lambda x: npu.alloc_like(x), "NPU")
    graph, _ = captured(lambda: getattr(torch.ops, other.ns).scaled(x))
    graph.replay()  # it has no handler, and waits for nothing
    npu.synchronize()
    other._destroy()
    graph, out = captured(lambda: ops.scaled(x, 2.0))
    graph.update([{"factor": 7.0}])
    graph.replay()
    np.testing.assert_array_equal(values(out), 7 * np.arange(1, 5))


def test_declared_handlers_go_with_their_library(scale):
    made = library.Library(fresh_namespace(), "FRAGMENT")
    made.define("fleeting(Tensor x, int n) -> Tensor")
    made.register_graph("fleeting", update="n")
    assert "fleeting" in _NPU_GRAPH_OP_HANDLERS
    made._destroy()
    assert "fleeting" not in _NPU_GRAPH_OP_HANDLERS


def test_an_argument_that_was_left_out_can_be_updated(lib, ops, x):
    lib.register_graph("scaled", update=("factor", "lens"))
    graph, out = captured(lambda: ops.scaled(x))
    graph.update([{"factor": 3.0, "lens": [2]}])
    graph.replay()
    np.testing.assert_array_equal(values(out)[:2], [3, 6])


def test_a_handler_registered_after_the_capture_is_for_the_next(lib, ops, x):
    graph, _ = captured(lambda: ops.scaled(x, 2.0))
    lib.register_graph("scaled", update="factor")
    assert "the arguments that can be are none" in refused(lambda: graph.update([{"factor": 2.0}]), ValueError)
    graph, out = captured(lambda: ops.scaled(x, 2.0))
    register_npu_graph_handler("fresh_name")(Recording)
    graph.update([{"factor": 4.0}])
    graph.replay()
    np.testing.assert_array_equal(values(out), 4 * np.arange(1, 5))


# ---------------------------------------------------------------- another function in the place of one
def test_prepare_out_by_declaration(lib, ops, x):
    lib.register_graph("scaled", update="factor", prepare="out")
    lib.register_graph("scaled.out", update="factor")
    graph, out = captured(lambda: ops.scaled(x, 2.0))
    assert graph._captured.updates.records[0].op_cache_entry.__name__ == "scaled.out"
    for factor in (3.0, 4.0):
        graph.update([{"factor": factor}])
        graph.replay()
        np.testing.assert_array_equal(values(out), factor * np.arange(1, 5))


class Swapping(NpuGraphOpHandler):
    UPDATE_SPECS: ClassVar = {"scaled.default": [("arg", 1, "factor")]}

    @classmethod
    def prepare_capture(cls, func, args, kwargs):
        target = getattr(torch.ops, func.namespace).scaled.out
        return target, args, {**kwargs, "out": npu.alloc_like(args[0])}


def test_a_replacement_without_a_handler_is_refused_at_the_capture(lib, ops, x):
    register_npu_graph_handler("scaled.default")(Swapping)
    message = refused(lambda: captured(lambda: ops.scaled(x, 2.0)))
    assert message.startswith(
        "Swapping.prepare_capture captures 'scaled.out' in the place of 'scaled.default', and 'scaled.out' has no "
    )


def test_a_replacement_that_is_updated_otherwise_is_refused_at_the_registration():
    register_npu_graph_handler("scaled.default")(Swapping)

    class Other(NpuGraphOpHandler):
        UPDATE_SPECS: ClassVar = {"scaled.out": [("arg", 1, "by")]}

    message = refused(lambda: register_npu_graph_handler("scaled.out")(Other))
    assert "Other for 'scaled.out' and Swapping for 'scaled.default'" in message
    assert "scaled.out" not in _NPU_GRAPH_OP_HANDLERS


def test_a_replacement_with_the_same_keys_is_updated(lib, ops, x):
    class Same(NpuGraphOpHandler):
        UPDATE_SPECS: ClassVar = {"scaled.out": [("arg", 1, "factor")]}

    register_npu_graph_handler("scaled.default")(Swapping)
    register_npu_graph_handler("scaled.out")(Same)
    graph, out = captured(lambda: ops.scaled(x, 2.0))
    graph.update([{"factor": 9.0}])
    graph.replay()
    np.testing.assert_array_equal(values(out), 9 * np.arange(1, 5))


@pytest.mark.parametrize("made", [None, (1, 2), (1, (), {}), ("f", (), {})])
def test_what_prepare_capture_has_to_return(lib, ops, x, made):
    class Wrong(NpuGraphOpHandler):
        @classmethod
        def prepare_capture(cls, func, args, kwargs):
            return made

    register_npu_graph_handler("scaled.default")(Wrong)
    assert "expected (function, args, kwargs)" in refused(lambda: captured(lambda: ops.scaled(x, 2.0)), TypeError)


# ---------------------------------------------------------------- errors, after which the graph is as it was
def test_an_argument_that_cannot_be_copied(lib, ops, x):
    class Locking(NpuGraphOpHandler):
        @classmethod
        def prepare_capture(cls, func, args, kwargs):
            return func, args, {**kwargs, "tag": threading.Lock()}

    lib.register_graph("scaled", update="factor")
    graph = npu.NPUGraph()
    with npu.graph(graph, auto_dispatch_capture=True):
        with pytest.warns(UserWarning, match="overridden"):
            register_npu_graph_handler("scaled.default")(Locking)
        message = refused(lambda: ops.scaled(x, 2.0), TypeError)
        del _NPU_GRAPH_OP_HANDLERS["scaled.default"]
        out = ops.scaled(x, 2.0)  # nothing of the other call was captured
    assert f"the capture of {lib.ns}::scaled, record 0: `tag` cannot be kept for later updates: TypeError" in message
    works(graph, out)


def works(graph, out, by=3.0):
    graph.update([{"factor": by}])
    graph.replay()
    np.testing.assert_array_equal(values(out), by * np.arange(1, 5))


def test_errors_name_operator_key_and_record_and_leave_the_graph_usable(lib, ops, x):
    lib.register_graph("scaled", update=("factor", "lens"))
    graph, out = captured(lambda: (ops.scaled(x, 2.0, lens=[4]), ops.scaled(x, 5.0, lens=[4]))[1])
    name = f"{lib.ns}::scaled"
    message = refused(lambda: graph.update([{}, {"lens": [1, 2]}]), ValueError)
    assert message.startswith(f"NPUGraph.update of {name}: record 1, `lens`: had 1 values at the capture, got 2")
    message = refused(lambda: graph.update([{}, {"lengths": [1]}]), ValueError)
    assert message.startswith(
        "NPUGraph.update: 'lengths' cannot be updated; the arguments that can be are factor, lens of "
        f"{name} (record 1) (`graph"
    )
    message = refused(lambda: graph.update([{"lens": [4]}, {"factor": "two"}]))
    assert message.startswith(f"NPUGraph.update of {name}: record 1, `factor`: ")
    works(graph, out)


def test_a_freed_input_is_told(lib, ops):
    lib.register_graph("scaled", update="factor")
    early = on("npu", np.arange(1, 5, dtype=np.float32))
    graph, out = captured(functools.partial(ops.scaled, early, 2.0))
    works(graph, out)
    del early
    gc.collect()
    message = refused(lambda: graph.update([{"factor": 2.0}]))
    assert message.startswith(
        f"NPUGraph.update of {lib.ns}::scaled: record 0, `factor`: the tensor that `x` was at the capture has been"
    )


def test_an_update_that_fails_half_way_is_taken_back(lib, ops, x):
    lib.register_graph("scaled", update=("factor", "lens"))
    graph, outs = captured(lambda: [ops.scaled(x, 2.0, lens=[4]), ops.scaled(x, 5.0, lens=[4])])
    refused(lambda: graph.update([{"factor": 100.0}, {"lens": [-1]}]), OverflowError)
    graph.update([{}, {}])
    graph.replay()
    np.testing.assert_array_equal(values(outs[0]), 2 * np.arange(1, 5))
    np.testing.assert_array_equal(values(outs[1]), 5 * np.arange(1, 5))


def test_an_error_in_a_handler_s_update(lib, ops, x):
    class Failing(NpuGraphOpHandler):
        @classmethod
        def update_args(cls, dispatch_record, update_input):
            dispatch_record.args[1] = 50.0
            raise ZeroDivisionError("no")

    register_npu_graph_handler("scaled.default")(Failing)
    graph, out = captured(lambda: ops.scaled(x, 2.0))
    message = refused(lambda: graph.update([{"factor": 2.0}]), ZeroDivisionError)
    assert message == f"NPUGraph.update of {lib.ns}::scaled: record 0, `factor`: no"
    graph.update([{}])
    graph.replay()
    np.testing.assert_array_equal(values(out), 2 * np.arange(1, 5))


def test_elements_that_a_handler_assigns_to(lib, ops, x):
    class InPlace(NpuGraphOpHandler):
        @classmethod
        def update_args(cls, dispatch_record, update_input):
            if "first" in update_input:
                dispatch_record.kwargs["lens"][0] = update_input["first"]

    register_npu_graph_handler("scaled.default")(InPlace)
    graph, out = captured(lambda: ops.scaled(x, 2.0, lens=[4]))
    npu.copy_(out, on("cpu", np.zeros(4, np.float32)))
    graph.update([{"first": 2}])
    graph.replay()
    np.testing.assert_array_equal(values(out), [2, 4, 0, 0])


def test_lists_of_tensors_are_kept_weakly(lib, ops, x):
    lib.register_graph("scaled_all", update="factor")
    gc.collect()
    graph, out = captured(lambda: ops.scaled_all([x, x], factor=2.0))
    record = graph._captured.updates.records[0]
    assert [type(each) for each in record.args[0]] == [WeakTensor, WeakTensor]
    works(graph, out)


def test_hooks_by_python_functions(lib, ops, x):
    lib.register_graph("scaled", update="factor", postprocess=f"{__name__}:_turned", update_args=f"{__name__}:_doubled")
    graph, result = captured(lambda: ops.scaled(x, 2.0))
    graph.update([{"factor": 3.0}])
    graph.replay()
    np.testing.assert_array_equal(values(result).ravel(), 6 * np.arange(1, 5))


def _turned(result, kwargs):
    return result.reshape(4, 1)


def _doubled(record, update_input):
    record.args[1] = 2 * update_input["factor"]


@pytest.mark.parametrize(
    ("hooks", "message"),
    [
        ({"prepare": "in"}, "graph hook `prepare`: expected `out` or a function as `module:function`, got 'in'"),
        ({"postprocess": "out"}, "graph hook `postprocess`: expected a function as `module:function`"),
        ({"prepared": "out"}, "there is no graph hook `prepared`; there are prepare, postprocess, update_args, record"),
    ],
)
def test_unknown_hooks_are_refused(lib, hooks, message):
    assert message in refused(lambda: lib.register_graph("scaled", **hooks))


# ---------------------------------------------------------------- threads
def test_updates_and_replays_of_several_threads(lib, ops):
    """Each thread has a graph of its own; records are played back for one at a time."""
    lib.register_graph("scaled", update="factor")
    sources = [on("npu", np.arange(1, 5, dtype=np.float32)) for _ in range(3)]
    graphs = [captured(lambda source=source: ops.scaled(source, 1.0)) for source in sources]
    errors = []

    def work(number):
        try:
            graph, out = graphs[number]
            with npu.stream(npu.Stream()):
                for step in range(25):
                    graph.update([{"factor": float(step + number)}])
                    graph.replay()
                    npu.current_stream().synchronize()
                    np.testing.assert_array_equal(values(out), (step + number) * np.arange(1, 5))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
