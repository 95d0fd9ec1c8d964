"""Forward-mode AD by formulas of one's own: `register_jvp`, and gradients that serve in their place."""

from __future__ import annotations

from typing import Any

import pytest

import mindtorch_v2
from mindtorch_v2 import library
from tests.runtime.both import agree, fresh_namespace
from tests.runtime.duals import dual, forward_ad, ours, parts


@pytest.fixture
def lib() -> library.Library:
    return library.Library(fresh_namespace(), "FRAGMENT")


def test_register_jvp_sees_bound_arguments_in_schema_order(lib: library.Library) -> None:
    seen: list[Any] = []

    def formula(inputs: Any, tangents: Any, output: Any) -> Any:
        seen.append((inputs, tangents, output))
        return tangents[0] * inputs[3], None

    lib.define("f(Tensor x, Tensor[] others, Tensor? bias=None, *, float scale=2.0) -> (Tensor, Tensor)")
    lib.impl("f", lambda x, others, bias, *, scale: (x * scale, others[0] + 1), "CPU")
    lib.register_jvp("f", formula, source="ops.yaml:7")
    op = getattr(mindtorch_v2.ops, lib.ns).f
    with ours.dual_level():
        x, plain = dual(mindtorch_v2, 2), mindtorch_v2.ones(2)
        first, second = op(x, [plain, dual(mindtorch_v2, 2)])
        assert ours.unpack_dual(first).tangent.tolist() == [2.0, pytest.approx(0.79 * 2)]
        assert ours.unpack_dual(second).tangent is None
    ((inputs, tangents, output),) = seen
    assert inputs[2:] == (None, 2.0)
    assert inputs[0] is x
    assert tangents[2:] == (None, None)
    assert [tangent is None for tangent in tangents[1]] == [True, False]
    assert output[0] is first
    assert op.default.jvp_source == "ops.yaml:7"


def test_register_jvp_of_an_in_place_operator_sees_the_value_before(lib: library.Library) -> None:
    lib.define("square_(Tensor(a!) x) -> Tensor(a!)")
    lib.impl("square_", lambda x: x.mul_(x), "CPU")
    lib.register_jvp("square_", lambda inputs, tangents, output: 2 * inputs[0] * tangents[0])
    op = getattr(mindtorch_v2.ops, lib.ns).square_
    with ours.dual_level():
        x = ours.make_dual(mindtorch_v2.tensor([3.0]), mindtorch_v2.tensor([1.0]))
        assert op(x) is x
        assert x.tolist() == [9.0]
        assert ours.unpack_dual(x).tangent.tolist() == [6.0]


def test_an_in_place_operator_on_itself() -> None:
    """PyTorch's tangent takes the new value for the second factor; the derivative is of the old one."""
    with ours.dual_level():
        x = ours.make_dual(mindtorch_v2.tensor([3.0]), mindtorch_v2.tensor([1.0]))
        assert ours.unpack_dual(x.mul_(x)).tangent.tolist() == [6.0]


def test_a_formula_goes_with_its_library(lib: library.Library) -> None:
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x * 2, "CPU")
    second = library.Library(lib.ns, "IMPL")
    second.register_jvp("f", lambda inputs, tangents, output: tangents[0])
    op = getattr(mindtorch_v2.ops, lib.ns).f
    with ours.dual_level():
        assert ours.unpack_dual(op(dual(mindtorch_v2, 1))).tangent.tolist() == [1.0]
        second._destroy()
        with pytest.raises(NotImplementedError, match=r"Trying to use forward AD with .*::f that does not support it"):
            op(dual(mindtorch_v2, 1))


def test_an_operator_without_any_formula_is_an_error(lib: library.Library) -> None:
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x * 2, "CPU")
    op = getattr(mindtorch_v2.ops, lib.ns).f
    with ours.dual_level():
        with pytest.raises(NotImplementedError, match=r"because it has not been implemented yet.*register_jvp"):
            op(dual(mindtorch_v2, 2))
        assert op(mindtorch_v2.ones(2)).tolist() == [2.0, 2.0]


def test_an_operator_with_a_gradient_formula_needs_no_other(lib: library.Library) -> None:
    lib.define("f(Tensor x, Tensor[] ys) -> (Tensor, Tensor)")
    lib.impl("f", lambda x, ys: (x * ys[0], ys[1].sin()), "CPU")

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0], *inputs[1])

    def backward(ctx: Any, first: Any, second: Any) -> Any:
        x, y, z = ctx.saved_tensors
        return first * y, [first * x, second * z.cos()]

    lib.register_autograd("f", backward, setup_context=setup)
    op = getattr(mindtorch_v2.ops, lib.ns).f

    def case(t: Any) -> Any:
        with forward_ad(t).dual_level():
            x, y, z = dual(t, 3), dual(t, 3, seed=1.0), dual(t, 3, seed=2.0)
            first, second = op(x, [y, z]) if t is mindtorch_v2 else (x * y, z.sin())
            return parts(t, first), parts(t, second)

    agree(case)


def test_a_gradient_formula_that_cannot_be_differentiated_is_an_error(lib: library.Library) -> None:
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x * 2, "CPU")
    lib.register_autograd("f", lambda ctx, g: mindtorch_v2.from_numpy(g.detach().numpy() * 2))
    with ours.dual_level(), pytest.raises(NotImplementedError, match="its gradient formula is not differentiable"):
        getattr(mindtorch_v2.ops, lib.ns).f(dual(mindtorch_v2, 2))


WRONG_FORMULAS: dict[str, tuple[Any, str]] = {
    "count": (
        lambda i, t, o: (t[0], t[0]),
        r"returned 2 tangents, but the operator has 1 outputs \(registered at here:1\)",
    ),
    "type": (lambda i, t, o: 1.0, "returned float as tangent 0, expected a Tensor or None"),
    "shape": (
        lambda i, t, o: mindtorch_v2.ones(3),
        r"is of size \[2\] while the given forward gradient is of size \[3\]",
    ),
}


@pytest.mark.parametrize("name", WRONG_FORMULAS)
def test_wrong_formulas(lib: library.Library, name: str) -> None:
    formula, message = WRONG_FORMULAS[name]
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x * 2, "CPU")
    lib.register_jvp("f", formula, source="here:1")
    with ours.dual_level(), pytest.raises(RuntimeError, match=message):
        getattr(mindtorch_v2.ops, lib.ns).f(dual(mindtorch_v2, 2))


def test_registration_errors(lib: library.Library) -> None:
    lib.define("f(Tensor x) -> Tensor")
    lib.define("f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
    with pytest.raises(TypeError, match="expected a callable"):
        lib.register_jvp("f", 3)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="Out variants do not support forward-mode AD"):
        lib.register_jvp("f.out", lambda inputs, tangents, output: tangents[0])


def test_out_variants_are_an_error(lib: library.Library) -> None:
    lib.define("f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
    lib.impl("f.out", lambda x, *, out: out.copy_(x), "CPU")
    with ours.dual_level(), pytest.raises(NotImplementedError, match="because it is an out= function"):
        getattr(mindtorch_v2.ops, lib.ns).f.out(dual(mindtorch_v2, 2), out=mindtorch_v2.ones(2))
