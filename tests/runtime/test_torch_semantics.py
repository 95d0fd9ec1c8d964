"""PyTorch's behaviours, one case a statement: the same code under both libraries gives the same values or errors.

A case alone must agree in its value; a case with a text must raise in both, PyTorch's class, with that text.

Not covered here:

===============================  =====================================================================
behaviour                        where it is tested, or why it is not
===============================  =====================================================================
opcheck                          test_opcheck.py
get_kernel, get_ctx, fallbacks   test_registration.py
hooks, anomaly, inference mode   test_autograd_hooks.py
modes, subclasses, autocast      test_modes.py
every annotation of a schema     test_library_inference.py
undeclared alias and mutation    test_rules.py: an error here, a warning or nothing in PyTorch
redefinition of a fake rule      test_library.py
cuda kernels that are missing    no such device here
custom_op's Autograd[alias]      not a registration here: the dispatcher records calls by itself
test_aot_dispatch                there is no compiler: opcheck has the other three tests
forward-mode levels, dual        `func.jvp` differentiates the backward pass; `Function.jvp` is not called
functionalisation, tracing       not built
OpInfo                           the operators' own tests
===============================  =====================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.runtime.both import agree, fresh_namespace

Case = Callable[[Any], Any]


def annotated(function: Any, **annotations: Any) -> Any:
    """The function with these annotations; ``returns`` is the result's."""
    function.__annotations__ = {("return" if k == "returns" else k): v for k, v in annotations.items()}
    return function


def infer(torch: Any, function: Any, mutates_args: Any = (), **annotations: Any) -> str:
    return str(torch.library.infer_schema(annotated(function, **annotations), mutates_args=mutates_args))


def make(torch: Any, function: Any, mutates_args: Any = (), **options: Any) -> Any:
    """A custom operator of tensors ``x`` (and ``y``) that returns a tensor."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    annotated(function, **dict.fromkeys(names, torch.Tensor), returns=torch.Tensor)
    return torch.library.custom_op(f"{fresh_namespace()}::f", function, mutates_args=mutates_args, **options)


def defined(torch: Any, schema: str, **kernels: Any) -> tuple[Any, Any]:
    lib = torch.library.Library(fresh_namespace(), "FRAGMENT")
    name = lib.define(f"f{schema}")
    for key, kernel in kernels.items():
        lib.impl(name, kernel, key)
    return getattr(torch.ops, lib.ns).f.default, lib


# ---------------------------------------------------------------- torch.library


def twice(x):  # type: ignore[no-untyped-def]
    return x * 2


def keyword_only_setup(torch: Any) -> Any:
    op, lib = defined(torch, "(Tensor x, float a=2.0, *, int b=3) -> Tensor", CPU=lambda x, a=2.0, *, b=3: x * a * b)
    seen = []

    def setup(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
        seen.append((inputs[1:], keyword_only_inputs, output.tolist()))

    torch.library.register_autograd(op.name(), lambda ctx, g: (g * 6, None), setup_context=setup, lib=lib)
    x = torch.ones(2, requires_grad=True)
    op(x).sum().backward()
    return seen, x.grad


def device_default(torch: Any) -> Any:
    cpu = torch.device("cpu:0")
    return infer(torch, lambda i=cpu: i, i=torch.device, returns=torch.Tensor)


def setup_calls(torch: Any) -> Any:
    calls = []
    f = make(torch, lambda x: x * 2)
    f.register_autograd(lambda ctx, g: g * 2, setup_context=lambda ctx, inputs, output: calls.append(1))
    f(torch.ones(1))
    with torch.no_grad():
        f(torch.ones(1, requires_grad=True))
    before = len(calls)
    f(torch.ones(1, requires_grad=True))
    return before, len(calls)


def list_input(torch: Any) -> Any:
    op, lib = defined(torch, "(Tensor[] xs) -> Tensor", CPU=lambda xs: xs[0] * 2 + xs[1] * 3)
    needed = []

    def backward(ctx: Any, g: Any) -> Any:
        needed.append(ctx.needs_input_grad)
        return [g * 2, g * 3]

    torch.library.register_autograd(op.name(), backward, lib=lib)
    xs = [torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)]
    op(xs).sum().backward()
    return xs[0].grad, xs[1].grad, needed


def no_formula(torch: Any) -> Any:
    y = make(torch, twice)(torch.ones(2, requires_grad=True))
    y.sum().backward()


def versions(torch: Any) -> Any:
    def f(x, y, zs, w):  # type: ignore[no-untyped-def]
        return None

    schema = "(Tensor(a!) x, Tensor(b!)? y, Tensor(c!)[] zs, Tensor w) -> ()"
    op = torch.library.custom_op(f"{fresh_namespace()}::f", f, mutates_args=("x", "y", "zs"), schema=schema)
    x, y, z, w = (torch.ones(1) for _ in range(4))
    op(x, y, [z], w)
    op(x, None, [], w)
    return x._version, y._version, z._version, w._version


def replaced(torch: Any) -> Any:
    name = f"{fresh_namespace()}::f"
    first = torch.library.custom_op(
        name, annotated(lambda x: x + 1, x=torch.Tensor, returns=torch.Tensor), mutates_args=()
    )
    before = first(torch.zeros(1))
    second = torch.library.custom_op(
        name, annotated(lambda x: x + 2, x=torch.Tensor, returns=torch.Tensor), mutates_args=()
    )
    return before, second(torch.zeros(1))


def no_override(torch: Any) -> Any:
    _op, lib = defined(torch, "(Tensor x) -> Tensor", CPU=twice)
    lib.impl("f", twice, "CPU", allow_override=False)


def fake_twice(torch: Any) -> Any:
    op, lib = defined(torch, "(Tensor x) -> Tensor", CPU=twice)
    torch.library.register_fake(op.name(), twice, lib=lib)
    torch.library.register_fake(op.name(), twice, lib=lib, allow_override=False)


def scoped(torch: Any) -> Any:
    op, lib = defined(torch, "(Tensor x) -> Tensor", CPU=twice)
    other = torch.library.Library(lib.ns, "IMPL")
    other.impl("f", lambda x: x * 100, "CPU")
    inside = op(torch.ones(1))
    other._destroy()
    return inside, op(torch.ones(1))


def fake_of_composite(torch: Any) -> Any:
    op, lib = defined(torch, "(Tensor x) -> Tensor", CompositeImplicitAutograd=twice)
    torch.library.register_fake(op.name(), twice, lib=lib)


def keyword_only_tensor(torch: Any) -> Any:
    op, lib = defined(torch, "(Tensor x, *, Tensor y) -> Tensor", CPU=lambda x, *, y: x + y)
    torch.library.register_autograd(op.name(), lambda ctx, g: g, lib=lib)


def non_functional(torch: Any) -> Any:
    op, lib = defined(torch, "(Tensor(a!) x) -> ()", CPU=lambda x: None)
    torch.library.register_autograd(op.name(), lambda ctx: None, lib=lib)


def what_custom_op_registers(torch: Any) -> Any:
    name = make(torch, twice)._qualname
    keys = ("CPU", "CUDA", "Meta")
    return [torch._C._dispatch_has_computed_kernel_for_dispatch_key(name, key) for key in keys]


def overloads(torch: Any) -> Any:
    lib = torch.library.Library(fresh_namespace(), "FRAGMENT")
    lib.define("f(Tensor x) -> Tensor")
    lib.define("f.scalar(Tensor x, float a) -> Tensor")
    lib.impl("f", twice, "CPU")
    lib.impl("f.scalar", lambda x, a: x * a, "CPU")
    packet = getattr(torch.ops, lib.ns).f
    return (
        packet(torch.ones(1)),
        packet(torch.ones(1), 5.0),
        sorted(packet.overloads()),
        type(packet.default.tags).__name__,
    )


def registered_by(kind: str) -> Case:
    def case(torch: Any) -> Any:
        f = make(torch, twice)
        target = {"handle": f, "name": f._qualname, "overload": f._opoverload}[kind]
        torch.library.register_fake(target, lambda x: x.new_empty(7))

        @torch.library.register_kernel(target, "cpu")
        def _(x: Any) -> Any:
            return x * 9

        return f(torch.ones(1, device="meta")).shape[0], f(torch.ones(1))

    return case


# ---------------------------------------------------------------- autograd.Function


def function(torch: Any, forward: Any, backward: Any = None) -> Any:
    """A Function with these static methods, old style."""
    methods = {"forward": staticmethod(forward)}
    if backward is not None:
        methods["backward"] = staticmethod(backward)
    return type("F", (torch.autograd.Function,), methods)


def run(torch: Any, forward: Any, backward: Any, *sizes: int) -> Any:
    inputs = [torch.ones(n, requires_grad=True) for n in sizes or (3,)]
    function(torch, forward, backward).apply(*inputs).sum().backward()
    return [x.grad for x in inputs]


def double(ctx: Any, *xs: Any) -> Any:
    return xs[0] * 2


def changed_after_saving(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 2

    x = torch.ones(2, requires_grad=True)
    h = x * 1
    y = function(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(h)
    h.add_(1)
    y.sum().backward()


def backward_twice(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 2

    y = function(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(torch.ones(2, requires_grad=True)).sum()
    y.backward()
    y.backward()


def view_of_input(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True) * 1
    y = function(torch, lambda ctx, t: t, lambda ctx, g: g).apply(x)
    return y is x, y._base is x, torch.equal(y, x)


def view_changed(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True) * 1
    function(torch, lambda ctx, t: t, lambda ctx, g: g).apply(x).add_(1)


def dirty(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x.add_(1)

    h = torch.ones(2, requires_grad=True) * 1
    out = function(torch, forward, lambda ctx, g: g * 3).apply(h)
    return out is h, h.requires_grad, h._version


def dirty_leaf(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x.add_(1)

    function(torch, forward, lambda ctx, g: g).apply(torch.ones(2, requires_grad=True))


def dirty_lost(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x * 2

    function(torch, forward, lambda ctx, g: g).apply(torch.ones(2, requires_grad=True) * 1)


def modes_seen(torch: Any) -> Any:
    seen = []

    def forward(ctx: Any, x: Any) -> Any:
        seen.append(torch.is_grad_enabled())
        return x * 2

    def backward(ctx: Any, g: Any) -> Any:
        seen.append(torch.is_grad_enabled())
        return g * 2

    x = torch.ones(1, requires_grad=True)
    y = function(torch, forward, backward).apply(x)
    torch.autograd.grad(y, x, retain_graph=True)
    torch.autograd.grad(y, x, create_graph=True)
    return seen


def second_only(torch: Any) -> Any:
    x, y = torch.ones(2), torch.ones(2, requires_grad=True)
    function(torch, lambda ctx, a, b: a * b * 3, lambda ctx, g: (None, g * 3)).apply(x, y).sum().backward()
    return x.grad, y.grad


def diamond_with_none(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    h = x * 2
    dead = function(torch, lambda ctx, a: a * 1, lambda ctx, g: None).apply(h)
    (dead + h * 3).sum().backward()
    return x.grad


def in_place_sum(torch: Any) -> Any:
    w, c = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    h = w + 1
    h += c
    h.sum().backward()
    return w.grad, c.grad


def save_int(torch: Any) -> Any:
    function(torch, lambda ctx, x: ctx.save_for_backward(3) or x * 2, lambda ctx, g: g).apply(
        torch.ones(1, requires_grad=True)
    )


TABLE: dict[str, Case | tuple[Case, str]] = {
    # infer_schema
    "a missing annotation": (lambda t: infer(t, lambda x: x, returns=t.Tensor), "must have a type annotation"),
    "no return annotation": (lambda t: infer(t, lambda x: x, x=t.Tensor), "No return type annotation was provided"),
    "varargs": (lambda t: infer(t, lambda *x: x, x=t.Tensor, returns=t.Tensor), "varargs"),
    "a tuple input": (lambda t: infer(t, lambda x: x, x=tuple[int, int], returns=t.Tensor), "list[int]"),
    "an unknown mutated argument": (
        lambda t: infer(t, lambda x: x, ("z",), x=t.Tensor, returns=t.Tensor), "in mutates_args were not found"),
    "a mutated int": (lambda t: infer(t, lambda x: x, ("x",), x=int, returns=t.Tensor), "can be mutated"),
    "mutates_args as a string": (lambda t: infer(t, lambda x: x, "x", x=t.Tensor, returns=t.Tensor), "string"),
    "unknown mutations": lambda t: infer(t, lambda x, y: x, "unknown", x=t.Tensor, y=t.Tensor, returns=t.Tensor),
    "int and dtype": lambda t: infer(t, lambda x, d: x, x=int, d=t.dtype, returns=t.Tensor),
    "a device's default": device_default,
    # schemas
    "a schema that disagrees": (
        lambda t: make(t, lambda x: None, (), schema="(Tensor(a!) x) -> ()"), "the op mutates {'x'}"),
    "a name in the schema": (
        lambda t: t.library.define(f"{fresh_namespace()}::f", "f(Tensor x) -> Tensor"), "expected schema to look like"),
    "no namespace": (lambda t: t.library.define("f", "(Tensor x) -> Tensor"), "namespace"),
    "int64_t": (lambda t: defined(t, "(int64_t x) -> Tensor"), "Use `SymInt` or `int`"),
    "double": (lambda t: defined(t, "(double x) -> Tensor"), "Use `float`"),
    # aliases, versions
    "an output that is an input": (lambda t: make(t, lambda x: x)(t.ones(2)), "may not alias"),
    "an output that is a view": (lambda t: make(t, lambda x: x.view(-1))(t.ones(2)), "may not alias"),
    "a mutated input returned": (lambda t: make(t, lambda x: x.add_(1), ("x",))(t.ones(2)), "may not alias"),
    "versions of declared arguments": versions,
    # keyword-only
    "a keyword-only tensor in register_autograd": (keyword_only_tensor, "kwarg-only Tensor args"),
    "keyword-only inputs in setup_context": keyword_only_setup,
    # autograd
    "no formula": (no_formula, "no autograd formula"),
    "setup_context is called when recording": setup_calls,
    "a formula of an operator that writes": (
        non_functional, "Cannot register autograd formula for non-functional operator"),
    "a list input": list_input,
    # devices
    "nothing to choose a device by": (
        lambda t: t.library.custom_op(
            f"{fresh_namespace()}::f", annotated(lambda n: None, n=int, returns=t.Tensor), mutates_args=(),
            device_types="cpu"),
        "required to have a `device: torch.device` argument"),
    # redefinition
    "custom_op twice replaces": replaced,
    "a second kernel without override": (no_override, "already a kernel registered"),
    "a second fake rule without override": (fake_twice, "already has a fake impl"),
    "a destroyed library restores the kernel": scoped,
    "a fake rule of a composite operator": (fake_of_composite, "CompositeImplicitAutograd"),
    "a missing fake rule": (
        lambda t: make(t, twice)(t.ones(1, device="meta")), "There was no fake impl registered for <CustomOpDef("),
    "what custom_op registers": what_custom_op_registers,
    "overloads": overloads,
    "register_* by handle": registered_by("handle"),
    "register_* by name": registered_by("name"),
    "register_* by overload": registered_by("overload"),
    # Function
    "a wrong count of gradients": (
        lambda t: run(t, double, lambda ctx, g: g, 3, 3),
        "function FBackward returned an incorrect number of gradients (expected 2, got 1)"),
    "extra None": lambda t: run(t, double, lambda ctx, g: (g, None, None)),
    "a bad shape": (
        lambda t: run(t, double, lambda ctx, g: t.ones(5)),
        "invalid gradient at index 0 - got [5] but expected shape compatible with [3]"),
    "an expandable gradient": lambda t: run(t, double, lambda ctx, g: t.ones(2, 3)),
    "a float": (lambda t: run(t, double, lambda ctx, g: 1.0), "expected Variable or None (got float)"),
    "a gradient for a number": (
        lambda t: function(t, lambda ctx, x, n: x * n, lambda ctx, g: (g, g)).apply(
            t.ones(1, requires_grad=True), 2).backward(),
        "different than None at position 2"),
    "saving an int": (save_int, "can only save variables, but argument 0 is of type int"),
    "changed after saving": (changed_after_saving, "modified by an inplace operation"),
    "which version": (changed_after_saving, "is at version 1; expected version 0"),
    "backward twice": (backward_twice, "Trying to backward through the graph a second time"),
    "mark_dirty": dirty,
    "mark_dirty of what is not returned": (dirty_lost, "Some elements marked as dirty"),
    "mark_dirty of a leaf": (dirty_leaf, "has been used in an in-place operation"),
    "an input returned as it is": view_of_input,
    "in-place on an input returned as it is": (view_changed, "created inside a custom Function"),
    "grad mode in forward and backward": modes_seen,
    "an instance call": (lambda t: function(t, double)()(t.ones(1)), "Legacy autograd function"),
    "no backward": (lambda t: run(t, double, None), "either the backward or vjp method"),
    # silently wrong elsewhere
    "only the second input requires grad": second_only,
    "None on one branch of a diamond": diamond_with_none,
    "in-place addition of a leaf": in_place_sum,
}  # fmt: skip


@pytest.mark.parametrize("statement", TABLE)
def test_semantics(statement: str) -> None:
    entry = TABLE[statement]
    if isinstance(entry, tuple):
        agree(*entry)
    else:
        agree(entry)
