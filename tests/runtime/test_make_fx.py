"""`make_fx` and its graphs, and tests that are made for operators' authors: beside PyTorch's."""

from __future__ import annotations

import json
import unittest
from pathlib import Path
from typing import Any

import pytest
from torch.fx.experimental.proxy_tensor import make_fx as pytorchs

import mindtorch_v2 as torch
from mindtorch_v2 import fx
from mindtorch_v2.fx.experimental.proxy_tensor import make_fx
from mindtorch_v2.testing._internal.optests import (
    OpCheckError,
    aot_autograd_check,
    dontGenerateOpCheckTests,
    generate_opcheck_tests,
    is_inside_opcheck_mode,
)
from mindtorch_v2.testing._internal.optests.aot_autograd import assert_raises_regex
from mindtorch_v2.testing._internal.optests.generate_tests import FailuresDict
from tests.runtime.both import fresh_namespace, plain

PROGRAMS = {
    "calls": lambda t: lambda x, y: (x @ y).sin().sum() + 2,
    "several": lambda t: lambda x, y: (x.unbind(0), {"y": y.relu()}),
    "in place": lambda t: lambda x, y: x.clone().mul_(2) @ y,
    "a constant": lambda t: lambda x, y: x @ (y + t.full((3, 2), 5.0)),
}


def tensors(t: Any) -> tuple[Any, Any]:
    return t.arange(6.0).reshape(2, 3), t.arange(6.0).reshape(3, 2) - 2


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_graph_computes_what_was_recorded(program: Any, mode: str) -> None:
    function = program(torch)
    graph = make_fx(function, tracing_mode=mode)(*tensors(torch))
    other = tuple(one * 3 for one in tensors(torch))
    assert plain(graph(*other)) == plain(function(*other))
    graph.graph.lint()


@pytest.mark.parametrize("program", [lambda t: lambda x, y: (x @ y).sin().sum(), PROGRAMS["several"]])
def test_the_code_is_pytorchs(program: Any) -> None:
    import torch as pytorch

    theirs = pytorchs(program(pytorch))(*tensors(pytorch)).code
    assert make_fx(program(torch))(*tensors(torch)).code == theirs


def test_a_gradient_is_recorded() -> None:
    def gradient(x: Any) -> Any:
        (found,) = torch.autograd.grad((x * x).sum(), x)
        return found

    graph = make_fx(gradient)(torch.ones(2, requires_grad=True))
    assert graph(torch.tensor([3.0, 4.0])).tolist() == [6.0, 8.0]


def test_a_graph_is_changed() -> None:
    module = make_fx(lambda x: x.sin().cos())(torch.ones(2))
    sin = next(node for node in module.graph.nodes if node.name == "sin")
    assert [node.name for node in sin.users] == ["cos"]
    with pytest.raises(RuntimeError, match="still had 1 users"):
        module.graph.erase_node(sin)
    sin.replace_all_uses_with(sin.args[0])
    assert module.graph.eliminate_dead_code()
    module.recompile()
    assert "sin" not in module.code
    assert torch.equal(module(torch.ones(2)), torch.ones(2).cos())
    text = module.print_readable(print_output=False)
    assert "def forward(self, x_1):" in text
    assert "%cos : [num_users=1] = call_function[target=torch.ops.aten.cos.default]" in str(module.graph)


def test_a_graph_by_hand() -> None:
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(torch.ops.aten.add.Tensor, (x, graph.get_attr("weight")), {"alpha": 2}))
    module = fx.GraphModule({"weight": torch.ones(2)}, graph)
    assert module(torch.ones(2)).tolist() == [3.0, 3.0]
    broken = fx.Graph()
    broken.output(x)
    with pytest.raises(RuntimeError, match="before it has been defined"):
        broken.lint()


# ---------------------------------------------------------------- tests that are made of tests


def case_of(namespace: str) -> type[unittest.TestCase]:
    class Case(unittest.TestCase):
        def test_good(self) -> None:
            getattr(torch.ops, namespace).good(torch.ones(3))

        def test_bad(self) -> None:
            getattr(torch.ops, namespace).bad(torch.ones(3))

        def test_refused(self) -> None:
            assert is_inside_opcheck_mode() in (True, False)
            with pytest.raises(RuntimeError):
                torch.mm(torch.ones(2), torch.ones(2))

        @dontGenerateOpCheckTests("there is nothing to check")
        def test_alone(self) -> None:
            assert not is_inside_opcheck_mode()

    return Case


def statuses(case: type[unittest.TestCase]) -> dict[str, bool]:
    found = {}
    for name in unittest.TestLoader().getTestCaseNames(case):
        result = unittest.TestResult()
        case(name).run(result)
        found[name] = result.wasSuccessful()
    return found


def test_tests_are_made_and_known_failures_stay_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    namespace = fresh_namespace()
    with torch.library._scoped_library(namespace, "DEF") as lib:
        for name, rule in (("good", torch.empty_like), ("bad", lambda x: x.new_empty([1]))):
            lib.define(f"{name}(Tensor x) -> Tensor")
            lib.impl(name, lambda x: x.clone(), "CPU")
            lib.register_fake(name, rule)
        path = tmp_path / "failures.json"
        case = case_of(namespace)
        generate_opcheck_tests(case, [namespace], str(path))
        found = statuses(case)
        assert "test_schema__test_alone" not in found
        assert [name for name, passes in found.items() if not passes] == ["test_faketensor__test_bad"]
        monkeypatch.setenv("PYTORCH_OPCHECK_ACCEPT", "1")
        accepting = case_of(namespace)
        generate_opcheck_tests(accepting, [namespace], str(path))
        statuses(accepting)
        known = json.loads(path.read_text())["data"][f"{namespace}::bad"]
        assert known == {"Case.test_faketensor__test_bad": {"comment": "", "status": "xfail"}}
        monkeypatch.delenv("PYTORCH_OPCHECK_ACCEPT")
        again = case_of(namespace)
        generate_opcheck_tests(again, [namespace], str(path))
        assert all(statuses(again).values())
        lib.register_fake("bad", torch.empty_like, allow_override=True)
        with pytest.raises(OpCheckError, match="Unexpected success"):
            again("test_faketensor__test_bad").debug()


@pytest.mark.parametrize(
    ("test", "status", "message"),
    [
        ("Case.test_schema__test_good", "success?", "got status="),
        ("Case.test_nothing__test_good", "xfail", "should begin with one of"),
        ("Case.test_schema__test_gone", "xfail", "does not exist on the TestCase"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(tmp_path: Path, test: str, status: str, message: str) -> None:
    path = str(tmp_path / "failures.json")
    FailuresDict(path, {"a::b": {test: {"comment": "", "status": status}}}).save()
    with pytest.raises(RuntimeError, match=message):
        generate_opcheck_tests(case_of("a"), ["a"], path)


def test_functions_are_checked_as_they_are_recorded() -> None:
    aot_autograd_check(lambda x: x.sin() * 2, (torch.ones(2, requires_grad=True),), {}, dynamic=False)
    calls = []

    def counts(x: torch.Tensor) -> torch.Tensor:
        calls.append(x)
        return x * len(calls)

    with pytest.raises(AssertionError):
        aot_autograd_check(counts, (torch.ones(2),), {}, dynamic=True)


def test_errors_that_are_expected() -> None:
    with assert_raises_regex(RuntimeError, "b.d"):
        raise RuntimeError("abcd")
    for raised, message in (
        (None, "Expected exception"),
        (ValueError("b"), "instead got"),
        (RuntimeError("x"), "regex"),
    ):
        with pytest.raises(AssertionError, match=message):
            expects(raised)


def expects(raised: Exception | None) -> None:
    with assert_raises_regex(RuntimeError, "b"):
        if raised is not None:
            raise raised


TRANSFORMED = {
    "grad": lambda f: f.grad(lambda x: x.sin().sum()),
    "grad of grad": lambda f: f.grad(lambda x: f.grad(lambda y: y.sin().sum())(x).sum()),
    "jacrev of jacrev": lambda f: f.jacrev(f.jacrev(lambda x: x.sin().sum())),
    "hessian": lambda f: f.hessian(lambda x: x.sin().sum()),
    "grad of what is around": lambda f: lambda x: f.grad(lambda y: (y * x).sum())(x * 2) + x,
}


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
@pytest.mark.parametrize("name", TRANSFORMED)
def test_the_input_of_a_transform_is_the_graphs(name: str, mode: str) -> None:
    """Inside a transform it is another tensor over the same memory, which no mode saw being made."""
    function = TRANSFORMED[name](torch.func)
    graph = make_fx(function, tracing_mode=mode)(torch.tensor([0.1, 0.2, 0.3]))
    other = torch.tensor([0.7, -0.4, 0.5])
    assert torch.equal(graph(other), function(other))
