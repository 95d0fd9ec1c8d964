"""`custom_op` and its handle, beside PyTorch's."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2
from mindtorch_v2.library import CustomOpDef, CustomOpHandle
from tests.runtime.both import agree, agree_or_raise, fresh_namespace

SCALED = "(Tensor x, Tensor y, float scale=1.0) -> Tensor"


def op(torch: Any, function: Callable[..., Any], schema: str, **options: Any) -> Any:
    options.setdefault("mutates_args", ())
    return torch.library.custom_op(f"{fresh_namespace()}::op", function, schema=schema, **options)


def scaled(torch: Any) -> Any:
    """An operator with gradient and fake rule."""
    made = op(torch, lambda x, y, scale=1.0: x + scale * y, SCALED)

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.scale = inputs[2]

    made.register_autograd(lambda ctx, grad: (grad, grad * ctx.scale, None), setup_context=setup)
    made.register_fake(lambda x, y, scale=1.0: torch.empty_like(x))
    return made


def made_by_pytorch() -> dict[str, Any]:
    """PyTorch's own table of handles: empty where our library stands in for it, as under the sanitizer."""
    module = sys.modules.get("torch._library.custom_ops")
    return {} if module is None else module.OPDEF_TO_LIB


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(values or (1.0, 2.0), requires_grad=True)


# ---------------------------------------------------------------- definition


def test_schema_from_annotations() -> None:
    def case(torch: Any) -> Any:
        def function(x, ys, scale=2.0, *, flag=True):  # type: ignore[no-untyped-def]
            return x + scale * ys[0]

        function.__annotations__ = {
            "x": torch.Tensor,
            "ys": list[torch.Tensor],
            "scale": float,
            "flag": bool | None,
            "return": torch.Tensor,
        }
        made = torch.library.custom_op(f"{fresh_namespace()}::op", function, mutates_args=())
        return made(torch.ones(2), [torch.ones(2)], scale=3.0)

    agree(case)


def test_a_handle_is_a_custom_op_def() -> None:
    made = scaled(mindtorch_v2)
    assert isinstance(made, CustomOpHandle)
    assert CustomOpDef is CustomOpHandle
    assert repr(made) == f"<CustomOpDef({made._qualname})>"


def test_decorator_and_function() -> None:
    def case(torch: Any) -> Any:
        decorate = torch.library.custom_op(f"{fresh_namespace()}::op", mutates_args=(), schema="(Tensor x) -> Tensor")
        return decorate(lambda x: x * 2)(torch.ones(2))

    agree(case)


def test_the_operator_is_in_torch_ops() -> None:
    def case(torch: Any) -> Any:
        namespace = fresh_namespace()
        torch.library.custom_op(f"{namespace}::op", lambda x: x * 2, mutates_args=(), schema="(Tensor x) -> Tensor")
        packet = getattr(torch.ops, namespace).op
        return packet(torch.ones(2)), packet.default(x=torch.ones(2))

    agree(case)


@pytest.mark.parametrize(
    ("case", "quoted"),
    [
        (
            lambda torch: op(torch, lambda x: x, SCALED, mutates_args={"x"}),
            "Attempted to create a custom op with `mutates_args={'x'}`",
        ),
        (lambda torch: op(torch, lambda x, *, y: x, "(Tensor x, *, Tensor y) -> Tensor"), "kwarg-only Tensor args"),
        (
            lambda torch: op(torch, lambda n: n, "(int n) -> Tensor", device_types="cpu"),
            "required to have a `device: torch.device` argument",
        ),
        (
            lambda torch: op(torch, lambda n: n, "(int n) -> Tensor").register_kernel("cpu", lambda n: n),
            "required to have a `device: torch.device` argument",
        ),
        (
            lambda torch: op(torch, lambda x: x, "(Tensor x) -> Tensor", device_types="nowhere"),
            "at start of device string",
        ),
        (lambda torch: op(torch, lambda x: x, "(int64_t x) -> Tensor"), "Use `SymInt` or `int`"),
    ],
)
def test_definition_mistakes(case: Callable[[Any], Any], quoted: str) -> None:
    agree(case, quoted)


def test_a_disagreeing_schema_names_what_it_mutates() -> None:
    agree(lambda torch: op(torch, lambda x: None, "(Tensor(a!) x) -> ()", mutates_args=()), "the op mutates {'x'}")


@pytest.mark.parametrize("name", ["op", "::op", "ns::", "a::b::c"])
def test_a_name_needs_a_namespace(name: str) -> None:
    with pytest.raises(ValueError, match="namespace"):
        mindtorch_v2.library.custom_op(name, lambda x: x, mutates_args=(), schema="(Tensor x) -> Tensor")


def test_a_schema_has_no_name() -> None:
    with pytest.raises(ValueError, match="expected schema to look like"):
        op(mindtorch_v2, lambda x: x, "op(Tensor x) -> Tensor")


HANDLES: dict[str, tuple[Any, ...]] = {
    "a namespace with a dot": ("a.b", "f", "(Tensor x) -> Tensor"),
    "a namespace that is a number": ("1", "f", "(Tensor x) -> Tensor"),
    "no namespace": ("", "f", "(Tensor x) -> Tensor"),
    "a name in another namespace": ("handles", "other::f", "(Tensor x) -> Tensor"),
    "no schema": ("handles", "f", ""),
    "a name in the schema": ("handles", "f", "g(Tensor x) -> Tensor"),
    "tags that are numbers": ("handles", "f", "(Tensor x) -> Tensor", [2]),
}


@pytest.mark.parametrize("name", HANDLES)
def test_mistakes_in_a_handle(name: str) -> None:
    namespace, op_name, schema, *tags = HANDLES[name]
    known = set(made_by_pytorch())
    agree_or_raise(lambda torch: torch.library.CustomOpDef(namespace, op_name, schema, lambda x: x, *tags))
    for half_made in set(made_by_pytorch()) - known:  # a name that PyTorch cannot read where it goes through all names
        made_by_pytorch().pop(half_made)._destroy()


def test_a_handle_has_one_namespace() -> None:
    """As in PyTorch, which fails once more when the process ends."""
    with pytest.raises(ValueError, match="namespace::name"):
        CustomOpDef("a::b", "f", "(Tensor x) -> Tensor", lambda x: x)


@pytest.mark.parametrize("schema", ["Meta", "", "(", "f("])
def test_a_schema_is_parsed_first(schema: str) -> None:
    agree_or_raise(lambda torch: op(torch, lambda x: x, schema))


@pytest.mark.parametrize(("name", "device"), [("x", "floor"), ("x", "cpu"), ("x", "meta"), (3, "floor")])
def test_the_device_of_an_autocast_rule_is_looked_at_first(name: Any, device: str) -> None:
    agree_or_raise(lambda torch: torch.library.register_autocast(name, device, torch.float32))


def test_redefining_replaces() -> None:
    def case(torch: Any) -> Any:
        name, x = f"{fresh_namespace()}::op", torch.ones(2)
        first = torch.library.custom_op(name, lambda x: x * 2, mutates_args=(), schema="(Tensor x) -> Tensor")
        before = first(x)
        second = torch.library.custom_op(name, lambda x: x * 3, mutates_args=(), schema="(Tensor x) -> Tensor")
        if torch is mindtorch_v2:  # PyTorch's first handle, and the packet of it, are over memory that was freed
            assert first(x).tolist() == getattr(torch.ops, first._namespace).op(x).tolist() == second(x).tolist()
        return before, second(x)

    agree(case)


def test_redefining_with_another_schema() -> None:
    """PyTorch's handle goes on with the schema it had, over memory that was freed, so it is no oracle here."""
    import mindtorch_v2 as torch

    name, x = f"{fresh_namespace()}::op", torch.ones(2)
    first = torch.library.custom_op(name, lambda x: x * 2, mutates_args=(), schema="(Tensor x) -> Tensor")
    second = torch.library.custom_op(name, lambda x, k: x * k, mutates_args=(), schema="(Tensor x, int k) -> Tensor")
    assert second(x, 5).tolist() == first(x, 5).tolist() == [5.0, 5.0]
    assert getattr(torch.ops, first._namespace).op(x, 6).tolist() == [6.0, 6.0]


def test_a_failed_redefinition_keeps_the_operator() -> None:
    name, x = f"{fresh_namespace()}::op", mindtorch_v2.ones(1)
    made = mindtorch_v2.library.custom_op(name, lambda x: x * 2, mutates_args=(), schema="(Tensor x) -> Tensor")
    for options in ({"schema": "(Tensor x) -> Tensr"}, {"schema": "(int n) -> Tensor", "device_types": "cpu"}):
        with pytest.raises((RuntimeError, ValueError)):
            mindtorch_v2.library.custom_op(name, lambda x: x * 3, mutates_args=(), **options)
        assert made(x).tolist() == [2.0]


def test_what_is_no_function_is_refused() -> None:
    name = f"{fresh_namespace()}::op"
    with pytest.raises(TypeError, match=r"'fn' .* must be Callable or None, not int"):
        mindtorch_v2.library.custom_op(name, 3, mutates_args=(), schema="(Tensor x) -> Tensor")
    with pytest.raises(AttributeError, match="has no attribute 'op'"):
        _ = getattr(mindtorch_v2.ops, name.partition("::")[0]).op


def test_an_operator_of_a_library_is_not_replaced() -> None:
    lib = mindtorch_v2.library.Library(fresh_namespace(), "DEF")
    lib.define("op(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match=f"{lib.ns}::op is already defined at .*test_library_custom_op.py"):
        mindtorch_v2.library.custom_op(f"{lib.ns}::op", lambda x: x, mutates_args=(), schema="(Tensor x) -> Tensor")


# ---------------------------------------------------------------- kernels


def test_kernels_by_device() -> None:
    def case(torch: Any) -> Any:
        made = op(torch, lambda x: x * 2, "(Tensor x) -> Tensor")
        results = [made(torch.ones(2))]
        made.register_kernel("cpu", lambda x: x * 3)
        results.append(made(torch.ones(2)))
        made.register_kernel(["cpu", "cuda"])(lambda x: x * 4)
        results.append(made(torch.ones(2)))
        return results

    agree(case)


def test_the_device_argument_chooses() -> None:
    def case(torch: Any) -> Any:
        made = op(torch, lambda n, device: torch.ones(n), "(int n, Device device) -> Tensor", device_types="cpu")
        return made(3, torch.device("cpu"))

    agree(case)


def test_no_kernel_for_the_device() -> None:
    agree(
        lambda torch: op(torch, lambda x: x, "(Tensor x) -> Tensor", device_types="cuda")(torch.ones(2)),
        "'CPU' backend",
    )


def test_no_kernel_for_the_device_argument() -> None:
    def case(torch: Any) -> Any:
        made = op(torch, lambda n, device: n, "(int n, Device device) -> Tensor", device_types="cuda")
        return made(3, torch.device("cpu"))

    with pytest.raises(RuntimeError, match="does not have a kernel registered for cpu"):
        case(mindtorch_v2)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (3, "output 0 is a Tensor, but the kernel returned int"),
        (None, "output 0 is a Tensor, but the kernel returned NoneType"),
        ((1, 2), "output 0 is a Tensor, but the kernel returned tuple"),
    ],
)
def test_a_kernel_that_returns_no_tensor(returned: Any, message: str) -> None:
    """PyTorch casts, or passes None through."""
    with pytest.raises(RuntimeError, match=message):
        op(mindtorch_v2, lambda x: returned, "(Tensor x) -> Tensor")(mindtorch_v2.ones(2))


def test_a_kernel_that_returns_too_few() -> None:
    with pytest.raises(RuntimeError, match="declares 2 returns, but the kernel returned Tensor"):
        op(mindtorch_v2, lambda x: x.clone(), "(Tensor x) -> (Tensor, Tensor)")(mindtorch_v2.ones(2))


# ---------------------------------------------------------------- fake rules


def test_fake_rule() -> None:
    agree(lambda torch: scaled(torch)(torch.empty(2, 3, device="meta"), torch.empty(2, 3, device="meta")))


def test_no_fake_rule() -> None:
    def case(torch: Any) -> Any:
        made = op(torch, lambda x: x.clone(), "(Tensor x) -> Tensor")
        return made(torch.ones(2, device="meta"))

    agree(case, "There was no fake impl registered for <CustomOpDef(")
    agree(case, "register_fake")


def test_registering_by_name_reaches_the_handle() -> None:
    def case(torch: Any) -> Any:
        made = op(torch, lambda x: x * 2, "(Tensor x) -> Tensor")
        torch.library.register_fake(made._qualname, lambda x: torch.empty_like(x))
        torch.library.register_kernel(made, "cpu", lambda x: x * 3)
        torch.library.register_autograd(made._opoverload, lambda ctx, grad: grad * 7)
        x = leaf(torch)
        y = made(x)
        y.sum().backward()
        return y, x.grad, made(torch.empty(4, device="meta"))

    agree(case)


# ---------------------------------------------------------------- gradients


def test_gradients_of_positional_keyword_and_default_arguments() -> None:
    def case(torch: Any) -> Any:
        made, results = scaled(torch), []
        for call in (
            lambda x, y: made(x, y),
            lambda x, y: made(x, y, 3.0),
            lambda x, y: made(x, scale=3.0, y=y),
            lambda x, y: made(y=y, x=x),
        ):
            x, y = leaf(torch), leaf(torch)
            out = call(x, y)
            out.sum().backward()
            results.append((out, x.grad, y.grad))
        return results

    agree(case)


def test_setup_sees_defaults_and_keywords() -> None:
    def case(torch: Any) -> Any:
        seen: list[Any] = []
        made = op(
            torch, lambda x, k=2, *, s="a", f=0.5: x * k, "(Tensor x, int k=2, *, str s='a', float f=0.5) -> Tensor"
        )

        def setup(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
            seen.append((inputs[1:], keyword_only_inputs))

        made.register_autograd(lambda ctx, grad: (grad, None), setup_context=setup)
        x = leaf(torch)
        for y in (made(x), made(x, s="b"), made(k=3, x=x, f=1.0)):
            y.sum().backward()
        return seen, x.grad

    agree(case)


def test_setup_without_keyword_only_inputs_sees_all() -> None:
    """What PyTorch refuses ("unexpected keyword argument"): one tuple, keyword-only arguments included."""
    seen: list[Any] = []
    made = op(mindtorch_v2, lambda x, *, f=0.5: x * f, "(Tensor x, *, float f=0.5) -> Tensor")
    made.register_autograd(
        lambda ctx, grad: (grad * ctx.f, None),
        setup_context=lambda ctx, inputs, output: (seen.append(inputs[1:]), setattr(ctx, "f", inputs[1])),
    )
    x = leaf(mindtorch_v2)
    made(x, f=4.0).sum().backward()
    assert seen == [(4.0,)]
    assert x.grad.tolist() == [4.0, 4.0]


def test_setup_is_called_only_where_a_gradient_is_needed() -> None:
    def case(torch: Any) -> Any:
        calls: list[int] = []
        made = op(torch, lambda x: x * 2, "(Tensor x) -> Tensor")
        made.register_autograd(lambda ctx, grad: grad, setup_context=lambda ctx, inputs, output: calls.append(1))
        made(torch.ones(2))
        with torch.no_grad():
            made(leaf(torch))
        without = len(calls)
        made(leaf(torch))
        return without, len(calls)

    agree(case)


def test_no_formula() -> None:
    def case(torch: Any) -> Any:
        made = op(torch, lambda x: x * 2, "(Tensor x) -> Tensor")
        y = made(leaf(torch))
        assert y.requires_grad
        y.sum().backward()

    agree(case, "no autograd formula")


def test_a_list_of_tensors() -> None:
    def case(torch: Any) -> Any:
        needs: list[Any] = []
        made = op(torch, lambda xs, k: xs[0] * k + xs[1], "(Tensor[] xs, int k) -> Tensor")

        def setup(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.k = inputs[1]

        def backward(ctx: Any, grad: Any) -> Any:
            needs.append([list(ctx.needs_input_grad[0]), ctx.needs_input_grad[1]])
            return [grad * ctx.k, grad], None

        made.register_autograd(backward, setup_context=setup)
        a, b, c = leaf(torch), leaf(torch), torch.ones(2)
        made([a, b], 3).sum().backward()
        made([a, c], 4).sum().backward()
        made((c, b), 5).sum().backward()
        return needs, a.grad, b.grad

    agree(case)


def test_optional_tensors() -> None:
    def case(torch: Any) -> Any:
        made = op(torch, lambda x, b=None: x * 2 if b is None else x * 2 + b, "(Tensor x, Tensor? b=None) -> Tensor")
        made.register_autograd(
            lambda ctx, grad: (grad * 2, grad if ctx.with_b else None),
            setup_context=lambda ctx, inputs, output: setattr(ctx, "with_b", inputs[1] is not None),
        )
        x, b = leaf(torch), leaf(torch)
        made(x).sum().backward()
        made(x, b).sum().backward()
        made(torch.ones(2), b=b).sum().backward()
        return x.grad, b.grad

    agree(case)


def test_several_outputs() -> None:
    def case(torch: Any) -> Any:
        grads: list[Any] = []
        made = op(torch, lambda x: (x * 2, x * 3), "(Tensor x) -> (Tensor, Tensor)")

        def backward(ctx: Any, a: Any, b: Any) -> Any:
            grads.append((a, b))
            return a * 2 + b * 3

        made.register_autograd(backward)
        x = leaf(torch)
        a, b = made(x)
        (a.sum() + b.sum() * 10).backward()
        _, b = made(x)
        b.sum().backward()
        return x.grad, grads, len(grads)

    agree(case)


@pytest.mark.parametrize(
    ("gradients", "quoted"),
    [
        (lambda grad: (grad,), "returned an incorrect number of gradients"),
        (lambda grad: (grad, grad, grad, grad), "returned an incorrect number of gradients"),
        (lambda grad: (grad, grad, grad), "returned a gradient different than None at position 3"),
        (lambda grad: (2.0, None, None), "expected Variable or None (got float)"),
        (lambda grad: (grad.sum().expand(5), None, None), "got [5] but expected shape compatible with [2]"),
    ],
)
def test_wrong_gradients(gradients: Callable[[Any], Any], quoted: str) -> None:
    def case(torch: Any) -> Any:
        made = op(torch, lambda x, y, scale=1.0: x + y, SCALED)
        made.register_autograd(lambda ctx, grad: gradients(grad))
        made(leaf(torch), leaf(torch)).sum().backward()

    agree(case, quoted)


@pytest.mark.parametrize(
    ("schema", "quoted"),
    [
        ("(Tensor(a!) x) -> ()", "Cannot register autograd formula for non-functional operator"),
        ("(Tensor(a) x) -> Tensor(a)", "Cannot register autograd formula for non-functional operator"),
        ("(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", "Cannot register autograd formula for non-functional operator"),
        ("(Tensor x, *, Tensor y) -> Tensor", "kwarg-only Tensor args"),
    ],
)
def test_operators_without_gradient(schema: str, quoted: str) -> None:
    def case(torch: Any) -> Any:
        namespace = fresh_namespace()
        torch.library.define(f"{namespace}::op", schema)
        torch.library.register_autograd(f"{namespace}::op", lambda ctx, grad: grad)

    agree(case, quoted)


def test_an_out_variant_has_no_gradient() -> None:
    lib = mindtorch_v2.library.Library(fresh_namespace(), "DEF")
    lib.define("f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
    with pytest.raises(RuntimeError, match="Out variants do not support autograd"):
        mindtorch_v2.library.register_autograd(f"{lib.ns}::f.out", lambda ctx, grad: grad)


# ---------------------------------------------------------------- mutation


def test_versions_of_declared_arguments_only() -> None:
    def case(torch: Any) -> Any:
        made = op(
            torch,
            lambda x, y, o, xs, os: None,
            "(Tensor(a0!) x, Tensor y, Tensor(a1!)? o, Tensor(a2!)[] xs, Tensor(a3!)?[] os) -> ()",
            mutates_args={"x", "o", "xs", "os"},
        )
        x, y, o, a, b, c = (torch.ones(1) for _ in range(6))
        made(x, y, o, [a, b], [None, c])
        made(x, y, None, [a], [])
        return [t._version for t in (x, y, o, a, b, c)]

    agree(case)


def test_a_mutation_is_seen_by_backward() -> None:
    def case(torch: Any) -> Any:
        made = op(torch, lambda x: (x.zero_(), None)[1], "(Tensor(a!) x) -> ()", mutates_args={"x"})
        w = leaf(torch)
        h = torch.ones(2)
        y = w * h
        made(h)
        y.sum().backward()

    agree(case, "modified by an inplace operation")


def test_gradients_of_numbers_that_calls_leave_out() -> None:
    def case(torch: Any) -> Any:
        lib = torch.library.Library(fresh_namespace(), "FRAGMENT")
        lib.define("op(Tensor w, int x=2, *, int y=3, int z) -> Tensor")
        lib.impl("op", lambda w, x=2, *, y=3, z: w * x * y * z, "CPU")

        def setup(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
            ctx.scale = inputs[1] * keyword_only_inputs["y"] * keyword_only_inputs["z"]

        torch.library.register_autograd(
            f"{lib.ns}::op", lambda ctx, grad: grad * ctx.scale, setup_context=setup, lib=lib
        )
        w = torch.ones(2, requires_grad=True)
        getattr(torch.ops, lib.ns).op(w, z=7).sum().backward()
        return w.grad

    agree(case)


def test_the_kernel_of_a_device_that_there_is_not(caplog: pytest.LogCaptureFixture) -> None:
    made = op(mindtorch_v2, lambda x: x + 1, "(Tensor x) -> Tensor")
    with made.set_kernel_enabled("gpu", enabled=False):
        assert made(mindtorch_v2.ones(1)).tolist() == [2]
    assert caplog.records[0].name == "torch._library.custom_ops"
    assert "no kernel was registered for this device type" in caplog.text


def test_tags_of_built_in_operators() -> None:
    agree(lambda t: [t.Tag.pt2_compliant_tag in o.tags for o in (t.ops.aten.sin.default, t.ops.aten.add.out)])


def test_lists_of_tensors_in_functions() -> None:
    def case(torch: Any) -> Any:
        needed: list[Any] = []
        nested = __import__(f"{torch.__name__}._library.autograd", fromlist=["x"]).supports_tensorlist

        @nested  # type: ignore[untyped-decorator]
        class Shifted(torch.autograd.Function):  # type: ignore[misc]
            @staticmethod
            def forward(ctx: Any, xs: Any) -> Any:
                return [x + at for at, x in enumerate(xs)]

            @staticmethod
            def backward(ctx: Any, grads: Any) -> Any:
                needed.append(ctx.needs_input_grad)
                return [grad * (at + 1) for at, grad in enumerate(grads)]

        xs = [torch.tensor(1.0, requires_grad=at != 1) for at in range(3)]
        sum(Shifted.apply(xs)).backward()
        with pytest.raises(NotImplementedError, match=r"Function\.forward directly"):
            Shifted.forward(None, xs)
        return [x.grad for x in xs], needed

    agree(case)


def test_a_device_by_name_as_default() -> None:
    def case(torch: Any) -> Any:
        seen: list[Any] = []

        def f(x, device="cpu"):  # type: ignore[no-untyped-def]
            seen.append(device)
            return x.clone()

        f.__annotations__ = {"x": torch.Tensor, "device": torch.device, "return": torch.Tensor}
        op = torch.library.custom_op(f"{fresh_namespace()}::f", f, mutates_args=())
        op(torch.ones(1))
        op(torch.ones(1), torch.device("meta"))
        return [str(device) for device in seen], isinstance(seen[0], str)

    agree(case)


@pytest.mark.filterwarnings("ignore:torch.compile:UserWarning")
def test_an_operator_without_fake_rule_in_what_is_compiled() -> None:
    def add(x):  # type: ignore[no-untyped-def]
        return x + 1

    torch = mindtorch_v2
    op = torch.library.custom_op(f"{fresh_namespace()}::add", add, mutates_args=(), schema="(Tensor x) -> Tensor")
    compiled = torch.compile(lambda x: op(x), backend="eager")
    with pytest.raises(RuntimeError, match="no fake impl"):
        compiled(torch.ones(1))
    assert op(torch.ones(1)) == 2
    op.register_fake(torch.empty_like)
    assert compiled(torch.ones(1)) == 2
