"""What generated modules call in ``library``: errors of failed checks, and kernels in Python and of MindSpore."""

from __future__ import annotations

import pytest

import mindtorch_v2
from mindtorch_v2.library import CheckError, check_error, mindspore_kernel, python_function, tangent
from tests.needs import require
from tests.runtime.both import plain


def test_check_error_names_operator_condition_and_values() -> None:
    x, y = mindtorch_v2.ones(2, 3), mindtorch_v2.ones(3)
    error = check_error("fused::f", "x to equal y", {"x.shape": x.shape, "y.shape": y.shape, "k": "a"})
    assert isinstance(error, CheckError)
    assert isinstance(error, RuntimeError)
    assert str(error) == "fused::f: expected x to equal y, got x.shape = [2, 3], y.shape = [3], k = 'a'"


def test_python_function() -> None:
    join = python_function("posixpath:join")
    assert join("a", "b") == "a/b"
    assert join.__name__ == "join"


@pytest.mark.parametrize(
    ("reference", "error", "message"),
    [
        ("no_such_module_mt:f", ImportError, "no_such_module_mt:f: No module named 'no_such_module_mt'"),
        ("posixpath:no_such", AttributeError, "posixpath:no_such: 'posixpath' has no function 'no_such'"),
        ("posixpath:sep", TypeError, "posixpath:sep must be callable, not str"),
    ],
)
def test_python_function_mistakes_show_at_the_first_call(reference: str, error: type[Exception], message: str) -> None:
    function = python_function(reference)
    with pytest.raises(error) as info:
        function()
    assert str(info.value) == message


@pytest.mark.parametrize("given", [3, int, [None], [None] * 3, "ab"])
def test_of_several_tensors_there_are_as_many_tangents(given: object) -> None:
    values = [mindtorch_v2.ones(2), mindtorch_v2.ones(3)]
    assert [t.tolist() for t in tangent(values, None)] == [[0, 0], [0, 0, 0]]
    with pytest.raises(TypeError, match=r"tangent\(\): of 2 tensors expected a list of as many tangents"):
        tangent(values, given)


def test_python_function_needs_a_module_and_a_name() -> None:
    with pytest.raises(ValueError, match="a Python function is given as 'module:function', got 'join'"):
        python_function("join")


@pytest.mark.mindspore
def test_mindspore_kernel() -> None:
    require("mindspore")
    a = mindtorch_v2.tensor([[1.0, 2.0], [3.0, 4.0]])
    product = mindspore_kernel("MatMul", transpose_a=False, transpose_b=True)(a, a)
    assert plain(product)[2] == [[5.0, 11.0], [11.0, 25.0]]
