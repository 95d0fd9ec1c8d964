"""Names of the top level and of small modules: what they answer, beside PyTorch."""

from __future__ import annotations

import importlib
import warnings
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

import mindtorch_v2
from tests.runtime.both import agree, agree_or_raise

Pair = namedtuple("Pair", "x y")
TREES: list[Any] = [
    5, [1, (2, 3)], {"b": [1], "a": None}, OrderedDict(x=1), defaultdict(list, x=[1]), deque([1, 2], 3), Pair(1, [2]),
    [], (),
]  # fmt: skip


def cells(t: Any) -> Any:
    x, h = t.arange(6.0).view(2, 3) / 6, t.arange(8.0).view(2, 4) / 8
    weights = [t.arange(float(n * m)).view(n, m).cos() for n, m in ((4, 3), (4, 4), (12, 3), (12, 4), (16, 3), (16, 4))]
    return (
        t.rnn_tanh_cell(x, h, *weights[:2]), t.rnn_relu_cell(x, h, *weights[:2]), t.gru_cell(x, h, *weights[2:4]),
        *t.lstm_cell(x, (h, h), *weights[4:]),
    )  # fmt: skip


def settings(t: Any) -> Any:
    found = [t.get_deterministic_debug_mode(), t.get_float32_matmul_precision(), t.is_warn_always_enabled()]
    try:
        t.use_deterministic_algorithms(True, warn_only=True)
        found += [t.are_deterministic_algorithms_enabled(), t.is_deterministic_algorithms_warn_only_enabled()]
        t.set_deterministic_debug_mode("error")
        t.set_float32_matmul_precision("medium")
        return [*found, t.get_deterministic_debug_mode(), t.get_float32_matmul_precision()]
    finally:
        t.use_deterministic_algorithms(False)
        t.set_float32_matmul_precision("highest")


def cuda(t: Any) -> Any:
    c = t.cuda
    c.empty_cache()
    c.manual_seed_all(1)
    return (
        c.is_available(), c.device_count(), c.memory_allocated(), c.max_memory_reserved(), c.get_arch_list(),
        c.is_bf16_supported(), c.get_rng_state_all(), dict(c.memory_stats()), c.is_initialized(),
    )  # fmt: skip


def old_methods(t: Any) -> Any:
    x = t.arange(6.0).view(2, 3)
    return (
        x.clone().apply_(lambda v: v + 1), x.clone().map_(x, lambda a, b: a * b), x.new([1, 2]),
        x.new(2, 3).shape,
        x.resize(3, 2), x.dense_dim(), x.to_dense() is x, x.name, x.volatile, x.clone().ldexp_(x),
        t.unsafe_split_with_sizes(x, [1, 1]), t.norm_except_dim(x, 2, 0), t.frobenius_norm(x, [1]),
        x.dim_order(),
        (x > 1)._is_any_true(), (x > 1)._is_all_true(), t.typename(x), t.typename([]),
        t.view_as_complex_copy(t.ones(3, 2)),
    )  # fmt: skip


def symbols(t: Any) -> Any:
    return (
        t.sym_max(1, 2.0),
        t.sym_min(1, 2),
        t.sym_int(2.7),
        t.sym_float(2),
        t.sym_not(1),
        t.sym_sum([1, 2]),
        t.sym_ite(True, 1, 2),
    )


@pytest.mark.parametrize("case", [cells, settings, cuda, old_methods, symbols], ids=lambda case: case.__name__)
def test_names_answer_as_in_pytorch(case: Callable[[Any], Any]) -> None:
    agree(case)


REFUSED = [
    "x.cuda()", "x.coalesce()", "x.resize(5)", "x.indices()", "x.map_(x, 3)", "t.cuda.current_device()",
    "t.cuda.Stream()", "t.set_deterministic_debug_mode(7)",
]  # fmt: skip


@pytest.mark.parametrize("call", REFUSED)
def test_what_is_not_there_is_refused(call: str) -> None:
    agree_or_raise(lambda t: eval(call, {"t": t, "x": t.ones(2, 3)}) and None)


def test_trees_come_apart_and_together() -> None:
    theirs, ours = (importlib.import_module(f"{t.__name__}.utils._pytree") for t in (torch, mindtorch_v2))
    for tree in TREES:
        (leaves, spec), (expected, known) = ours.tree_flatten(tree), theirs.tree_flatten(tree)
        assert leaves == expected
        assert repr(spec) == repr(known)
        assert (spec.num_leaves, spec.num_nodes, spec.num_children) == (
            known.num_leaves,
            known.num_nodes,
            known.num_children,
        )
        again = ours.tree_unflatten(leaves, spec)
        assert again == tree
        assert type(again) is type(tree)
        assert ours.tree_structure(tree) == spec
        assert ours.tree_map(lambda x: x, tree) == tree
    with pytest.raises(ValueError, match="holds 2 items"):
        ours.tree_unflatten([1], ours.tree_structure([1, 2]))


def test_classes_that_are_registered_nest() -> None:
    pytree = mindtorch_v2.utils._pytree

    class Box:
        def __init__(self, inside: Any) -> None:
            self.inside = inside

    pytree.register_pytree_node(Box, lambda box: ([box.inside], None), lambda children, _: Box(*children))
    leaves, spec = pytree.tree_flatten([Box((1, 2)), 3])
    assert leaves == [1, 2, 3]
    assert pytree.tree_unflatten([4, 5, 6], spec)[0].inside == (4, 5)
    assert pytree.tree_map(lambda x: x + 1, Box(1)).inside == 2
    with pytest.raises(ValueError, match="already registered"):
        pytree.register_pytree_node(Box, lambda box: ([], None), lambda children, _: Box(None))


def test_what_is_compiled_runs_as_it_is_written() -> None:
    t = mindtorch_v2
    t._dynamo._warned.clear()
    with pytest.warns(UserWarning, match="eagerly"):
        double = t.compile(lambda x: x * 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        layer = t.compile(t.nn.Linear(2, 3), mode="reduce-overhead")
    assert double(t.ones(2)).tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="mode"):
        t.compile(double, mode="fast")
    with pytest.raises(AssertionError, match="module or a function"):
        t.compile(3)
    assert list(layer.state_dict()) == ["_orig_mod.weight", "_orig_mod.bias"]  # as PyTorch names them
    assert layer(t.ones(1, 2)).shape == (1, 3)
    assert layer.weight is layer._orig_mod.weight
    assert layer.eval()._orig_mod.training is False
    assert not any(asked() for asked in (t.compiler.is_compiling, t._dynamo.is_compiling, t.compiler.is_exporting))

    @t.compiler.disable
    @t._dynamo.allow_in_graph
    def function() -> int:
        return 3

    assert function() == 3


def test_the_version_compares_as_one() -> None:
    for t in (torch, mindtorch_v2):
        version = t.torch_version.TorchVersion("2.13.0+x")
        assert version >= (2, 13)
        assert version > "2.9"
        assert version < "2.13.1"
        assert version == "2.13+x"
        assert t.__version__ >= (2, 1)
        assert t.version.cuda is None


# ---------------------------------------------------------------- functions of Python on elements
ON_ELEMENTS = {
    "apply_ of text": lambda t: t.arange(3).apply_(lambda k: "str"),
    "apply_ of nothing": lambda t: t.arange(3).apply_(lambda k: None),
    "apply_ of no function": lambda t: t.arange(3).apply_("str"),
    "apply_ with a gradient": lambda t: t.ones(2, requires_grad=True).apply_(lambda k: k),
    "map_ of no function": lambda t: t.ones(2).map_(t.ones(2), "str"),
    "map_ of another dtype": lambda t: t.ones(2).map_(t.ones(2).int(), lambda a, b: a),
    "map_ by what needs a gradient": lambda t: t.ones(2).map_(t.ones(2, requires_grad=True), lambda a, b: a),
    "map2_ by what needs a gradient": lambda t: t.ones(2).map2_(
        t.ones(2), t.ones(2, requires_grad=True), lambda a, b, c: a
    ),
}


@pytest.mark.parametrize("name", ON_ELEMENTS)
def test_what_a_function_on_elements_refuses(name: str) -> None:
    agree_or_raise(ON_ELEMENTS[name])
    with pytest.raises((TypeError, RuntimeError)):
        ON_ELEMENTS[name](mindtorch_v2)


def test_no_function_is_said_not_to_be_callable() -> None:
    agree(lambda t: t.ones(2).map_(t.ones(2), "str"), quoted="'str' object is not callable")


def test_how_calls_of_to_are_read() -> None:
    def read(*args: Any, **named: Any) -> Any:
        return lambda t: [
            None if part is None else part if isinstance(part, bool) else str(part)
            for part in t._C._nn._parse_to(*(a(t) for a in args), **{k: v(t) for k, v in named.items()})
        ]

    agree(read())
    agree(read(memory_format=lambda t: t.contiguous_format))
    agree(read(lambda t: "cpu", lambda t: t.float64))
    agree(read(lambda t: "cpu", lambda t: t.float64, lambda t: True))
    agree(read(lambda t: t.float16, non_blocking=lambda t: True))
    agree(read(lambda t: t.ones(2)))
    agree(read(lambda t: t.float32, copy=lambda t: True), quoted=".to() does not accept copy argument")


def test_warnings_for_tests_of_warnings() -> None:
    for t in (mindtorch_v2, torch):
        with pytest.warns(UserWarning, match="Test message for TORCH_WARN"):
            t._C._warn()
        with pytest.warns(DeprecationWarning, match="Test message for TORCH_WARN_DEPRECATION"):
            t._C._warn_deprecation()
        assert t._C.has_lapack is True


def test_what_kernels_were_built_with() -> None:
    config = mindtorch_v2.__config__
    assert "-O3" in config._cxx_flags().split()
    assert config._cxx_flags() in config.show()
    assert f"get_num_threads() : {mindtorch_v2.get_num_threads()}\n" in config.parallel_info()


@pytest.mark.parametrize("t", [mindtorch_v2, torch], ids=["ours", "pytorch"])
def test_memory_that_is_read_only_is_warned_of_once_or_always(t: Any) -> None:
    array = np.arange(3)
    array.flags.writeable = False
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        t.set_warn_always(True)
        for _ in range(2):
            t.from_numpy(array)
            t.frombuffer(b"abcd", dtype=t.uint8)
        t.set_warn_always(False)
        always = len(caught)
        for _ in range(3):
            t.from_numpy(array)
    assert all("non-writable tensors" in str(warning.message) for warning in caught)
    assert always == 4
    assert len(caught) - always <= 1
