"""`torch.library`'s behaviours, one case a statement: the same code under both libraries, equal values or errors.

`autograd.Function` is in test_torch_semantics_function.py, wrong operators under both libraries' `opcheck` in
test_opcheck_kinds.py. What needs a file of its own runs beside PyTorch too: every annotation of a schema
(test_library_inference.py); the dispatcher's tools, fallbacks, modes and autocast (test_dispatch_table.py,
test_fallbacks.py, test_overrides.py, test_amp.py); forward mode and transforms (test_forward_ad.py, test_func.py,
test_functionalize.py, test_jit_trace.py); the engine (test_autograd.py, test_autograd_hooks.py,
test_autograd_engine.py); operators over OpInfo's samples (tests/ops).

Not comparable, and why:

=====================================  ==============================================================================
behaviour                              why, and where ours is tested
=====================================  ==============================================================================
undeclared mutation, None for a        silent in PyTorch, errors here: test_rules.py, test_library_custom_op.py,
Tensor, `register_kernel` on nothing,  test_library.py, test_registration.py
`get_ctx` outside a fake rule
a cuda kernel that is missing          no such device here: meta and a `device_types` without the CPU stand for it
=====================================  ==============================================================================
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.runtime.both import Case, fresh_namespace
from tests.runtime.semantics import Entry, annotated, check, defined, infer, leaf, logged, make, raises, table, twice

# ---------------------------------------------------------------- schemas


def device_default(torch: Any) -> Any:
    cpu = torch.device("cpu:0")
    return infer(torch, lambda i=cpu: i, i=torch.device, returns=torch.Tensor)


def defaults(torch: Any) -> Any:
    def f(x, i=3, f=0.5, b=True, s="text", n=None, d=torch.float32):  # type: ignore[no-untyped-def]
        return x

    optional = torch.Tensor | None
    return infer(
        torch, f, x=torch.Tensor, i=int, f=float, b=bool, s=str, n=optional, d=torch.dtype, returns=torch.Tensor
    )


def string_annotations(torch: Any) -> Any:
    scope = {"torch": torch}
    exec(  # as under `from __future__ import annotations`, in a module where `torch` is this library
        "from __future__ import annotations\ndef f(x: torch.Tensor, n: int | None = None) -> list[torch.Tensor]: ...",
        scope,
    )
    return torch.library.infer_schema(scope["f"], mutates_args={"x"})


SCHEMAS: dict[str, Entry] = {
    "a missing annotation": (lambda t: infer(t, lambda x: x, returns=t.Tensor), "must have a type annotation"),
    "no return annotation": (lambda t: infer(t, lambda x: x, x=t.Tensor), "No return type annotation was provided"),
    "varargs": (lambda t: infer(t, lambda *x: x, x=t.Tensor, returns=t.Tensor), "varargs"),
    "keyword varargs": (lambda t: infer(t, lambda **x: x, x=t.Tensor, returns=t.Tensor), "kwargs"),
    "a tuple input": (lambda t: infer(t, lambda x: x, x=tuple[int, int], returns=t.Tensor), "list[int]"),
    "an unknown mutated argument": (
        lambda t: infer(t, lambda x: x, ("z",), x=t.Tensor, returns=t.Tensor), "in mutates_args were not found"),
    "a mutated int": (lambda t: infer(t, lambda x: x, ("x",), x=int, returns=t.Tensor), "can be mutated"),
    "mutates_args as a string": (lambda t: infer(t, lambda x: x, "x", x=t.Tensor, returns=t.Tensor), "string"),
    "unknown mutations": lambda t: infer(t, lambda x, y: x, "unknown", x=t.Tensor, y=t.Tensor, returns=t.Tensor),
    "int and dtype": lambda t: infer(t, lambda x, d: x, x=int, d=t.dtype, returns=t.Tensor),
    "Number": lambda t: infer(t, lambda x: x, x=int | float | bool, returns=t.Tensor),
    "string annotations": string_annotations,
    "defaults": defaults,
    "a device's default": device_default,
    "a schema that disagrees": (
        lambda t: make(t, lambda x: None, (), schema="(Tensor(a!) x) -> ()"), "the op mutates {'x'}"),
    "a name in the schema": (
        lambda t: t.library.define(f"{fresh_namespace()}::f", "f(Tensor x) -> Tensor"), "expected schema to look like"),
    "no namespace": (lambda t: t.library.define("f", "(Tensor x) -> Tensor"), "namespace"),
    "int64_t": (lambda t: defined(t, "(int64_t x) -> Tensor"), "Use `SymInt` or `int`"),
    "double": (lambda t: defined(t, "(double x) -> Tensor"), "Use `float`"),
}  # fmt: skip


# ---------------------------------------------------------------- aliases and mutation


def versions(torch: Any) -> Any:
    def f(x, y, zs, os, w):  # type: ignore[no-untyped-def]
        return None

    schema = "(Tensor(a!) x, Tensor(b!)? y, Tensor(c!)[] zs, Tensor(d!)?[] os, Tensor w) -> ()"
    op = torch.library.custom_op(f"{fresh_namespace()}::f", f, mutates_args=("x", "y", "zs", "os"), schema=schema)
    x, y, z, o, w = (torch.ones(1) for _ in range(5))
    op(x, y, [z], [None, o], w)
    op(x, None, [], [o, None], w)
    return x._version, y._version, z._version, o._version, w._version


def mutation_seen_by_backward(torch: Any) -> Any:
    op = make(torch, lambda x: None, ("x",), schema="(Tensor(a!) x) -> ()")
    w = leaf(torch)
    h = w * 1
    y = h * h
    with torch.no_grad():
        op(h)
    y.sum().backward()


MUTATION: dict[str, Entry] = {
    "an output that is an input": (lambda t: make(t, lambda x: x)(t.ones(2)), "may not alias"),
    "an output that is a view": (lambda t: make(t, lambda x: x.view(-1))(t.ones(2)), "may not alias"),
    "a mutated input returned": (lambda t: make(t, lambda x: x.add_(1), ("x",))(t.ones(2)), "may not alias"),
    "versions of declared arguments": versions,
    "a mutation is seen by backward": (mutation_seen_by_backward, "modified by an inplace operation"),
}


# ---------------------------------------------------------------- keyword-only arguments


def keyword_only_setup(torch: Any) -> Any:
    op, lib = defined(torch, "(Tensor x, float a=2.0, *, int b=3) -> Tensor", CPU=lambda x, a=2.0, *, b=3: x * a * b)
    seen = []

    def setup(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
        seen.append((inputs[1:], keyword_only_inputs, output.tolist()))

    torch.library.register_autograd(op.name(), lambda ctx, g: (g * 6, None), setup_context=setup, lib=lib)
    x = leaf(torch)
    op(x).sum().backward()
    op(x, b=4).sum().backward()
    return seen, x.grad


def positional_setup(torch: Any) -> Any:
    op, lib = defined(torch, "(Tensor x, float a, int b=3) -> Tensor", CPU=lambda x, a, b=3: x * a * b)
    seen = []

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        seen.append((len(inputs), inputs[1:], output.tolist()))

    torch.library.register_autograd(op.name(), lambda ctx, g: (g, None, None), setup_context=setup, lib=lib)
    op(leaf(torch), a=2.0, b=5)
    op(b=4, a=3.0, x=leaf(torch))
    return seen


def keyword_only_tensor(torch: Any) -> Any:
    op, lib = defined(torch, "(Tensor x, *, Tensor y) -> Tensor", CPU=lambda x, *, y: x + y)
    torch.library.register_autograd(op.name(), lambda ctx, g: g, lib=lib)


def keyword_only_vmap(torch: Any) -> Any:
    op, lib = defined(torch, "(Tensor x, *, Tensor y) -> Tensor", CPU=lambda x, *, y: x + y)
    torch.library.register_vmap(op.name(), lambda info, in_dims, x: (x, 0), lib=lib)


def vmap_without_keywords(torch: Any) -> Any:
    op, lib = defined(torch, "(Tensor x) -> Tensor", CPU=lambda x: x + 1)
    return torch.library.register_vmap(op.name(), lambda info, in_dims, x: (x, 0), lib=lib)


KEYWORD_ONLY: dict[str, Entry] = {
    "a keyword-only tensor of custom_op": (
        lambda t: make(t, lambda x, *, y: x, schema="(Tensor x, *, Tensor y) -> Tensor"), "kwarg-only Tensor args"),
    "a keyword-only tensor in register_autograd": (keyword_only_tensor, "kwarg-only Tensor args"),
    "a keyword-only tensor in register_vmap": (keyword_only_vmap, "kwarg-only Tensor args"),
    "what register_vmap returns": vmap_without_keywords,
    "keyword-only inputs in setup_context": keyword_only_setup,
    "every input in setup_context": positional_setup,
}  # fmt: skip


# ---------------------------------------------------------------- autograd


def setup_calls(torch: Any) -> Any:
    calls = []
    f = make(torch, lambda x: x * 2)
    f.register_autograd(lambda ctx, g: g * 2, setup_context=lambda ctx, inputs, output: calls.append(1))
    f(torch.ones(1))
    with torch.no_grad():
        f(leaf(torch))
    before = len(calls)
    f(leaf(torch))
    return before, len(calls)


def no_formula_forward(torch: Any) -> Any:
    y = make(torch, twice)(leaf(torch))
    return y.detach(), y.requires_grad


def list_input(torch: Any) -> Any:
    op, lib = defined(torch, "(Tensor[] xs) -> Tensor", CPU=lambda xs: xs[0] * 2 + xs[1] * 3)
    needed = []

    def backward(ctx: Any, g: Any) -> Any:
        needed.append(ctx.needs_input_grad)
        return [g * 2, g * 3]

    torch.library.register_autograd(op.name(), backward, lib=lib)
    xs = [leaf(torch), leaf(torch)]
    op(xs).sum().backward()
    return xs[0].grad, xs[1].grad, needed


def list_outputs(returns: str, kernel: Any) -> Case:
    """What backward gets where outputs are lists: one gradient an output."""

    def case(torch: Any) -> Any:
        op, lib = defined(torch, f"(Tensor x, *, int n=2) -> {returns}", CPU=kernel)
        seen = []

        def backward(ctx: Any, *grads: Any) -> Any:
            seen.append(grads)
            return ctx.factor * sum(sum(g) if isinstance(g, list) else g for g in grads)

        def setup(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
            ctx.factor = keyword_only_inputs["n"]

        torch.library.register_autograd(op.name(), backward, setup_context=setup, lib=lib)
        x = leaf(torch)
        found = op(x)
        last = found[-1][-1] if isinstance(found[-1], list) else found[-1]
        last.sum().backward()
        return x.grad, seen

    return case


def formula_of(schema: str, kernel: Any) -> Case:
    def case(torch: Any) -> Any:
        op, lib = defined(torch, schema, CPU=kernel)
        torch.library.register_autograd(op.name(), lambda ctx, g: g, lib=lib)

    return case


def formula_of_out(torch: Any) -> Any:
    """The schema says `out`; the tag says that the operator is an out variant."""
    lib = torch.library.Library(fresh_namespace(), "FRAGMENT")
    lib.define("f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", tags=(torch.Tag.out,))
    torch.library.register_autograd(f"{lib.ns}::f.out", lambda ctx, g: g, lib=lib)


AUTOGRAD: dict[str, Entry] = {
    "no formula: forward runs": no_formula_forward,
    "no formula: backward": (
        lambda t: make(t, twice)(leaf(t)).sum().backward(), "no autograd formula"),
    "setup_context is called when recording": setup_calls,
    "a formula of an operator that writes": (
        formula_of("(Tensor(a!) x) -> ()", lambda x: None),
        "Cannot register autograd formula for non-functional operator"),
    "a formula of an operator that returns a view": (
        formula_of("(Tensor(a) x) -> Tensor(a)", lambda x: x.view(-1)),
        "Cannot register autograd formula for non-functional operator"),
    "a formula of an out variant": (formula_of_out, "Out variants do not support autograd"),
    "a list input": list_input,
    "a list output": list_outputs("Tensor[]", lambda x, *, n=2: [x * n, x + n]),
    "a list among the outputs": list_outputs("(Tensor[], Tensor)", lambda x, *, n=2: ([x * n, x + n], x - n)),
    "lists of several lengths": list_outputs(
        "(Tensor, Tensor[], Tensor[])", lambda x, *, n=2: (x * n, [x + n], [x / n, x - n])),
}  # fmt: skip


# ---------------------------------------------------------------- devices


def device_types(types: Any) -> Case:
    def case(torch: Any) -> Any:
        f = make(torch, twice, device_types=types)
        return f(torch.ones(2)), raises(lambda: f(torch.ones(2, device="meta")))

    return case


def by_device_argument(torch: Any) -> Any:
    def f(n, device):  # type: ignore[no-untyped-def]
        return torch.ones(n)

    annotated(f, n=int, device=torch.device, returns=torch.Tensor)
    return torch.library.custom_op(f"{fresh_namespace()}::f", f, mutates_args=(), device_types="cpu")


def switched(torch: Any) -> Any:
    f = make(torch, twice)
    f.register_kernel("cpu", lambda x: x + 10)
    x, results = torch.ones(1), []
    with f.set_kernel_enabled("cpu", enabled=False):
        results.append(f(x))
    results.append(f(x))
    return results


def switched_again(torch: Any) -> Any:
    f = make(torch, twice)
    f.register_kernel("cpu", lambda x: x + 10)
    with logged() as messages:
        with f.set_kernel_enabled("cpu", enabled=False), f.set_kernel_enabled("cpu", enabled=False):
            pass
        with f.set_kernel_enabled("cpu", enabled=True):
            pass
    return [[word in m for word in ("already disabled", "already enabled")] for m in messages]


DEVICES: dict[str, Entry] = {
    "device_types as a string": device_types("cpu"),
    "device_types as a tuple": device_types(("cpu", "cuda")),
    "no device_types": device_types(None),
    "a tensor's device without a kernel": (lambda t: make(t, twice, device_types="cuda")(t.ones(1)), "'CPU' backend"),
    "an argument's device without a kernel": (
        lambda t: by_device_argument(t)(3, t.device("cuda")), "does not have a kernel registered for cuda"),
    "nothing to choose a device by": (
        lambda t: t.library.custom_op(
            f"{fresh_namespace()}::f", annotated(lambda n: None, n=int, returns=t.Tensor), mutates_args=(),
            device_types="cpu"),
        "required to have a `device: torch.device` argument"),
    "set_kernel_enabled": switched,
    "set_kernel_enabled twice is logged": switched_again,
}  # fmt: skip


# ---------------------------------------------------------------- redefinition


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


def defined_twice(torch: Any) -> Any:
    _op, lib = defined(torch, "(Tensor x) -> Tensor")
    lib.define("f(Tensor x) -> Tensor")


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


def failed_fake(torch: Any) -> Any:
    """An attempt that fails leaves nothing behind: the next one, of an operator that may have a rule, works."""
    name = f"{fresh_namespace()}::f"
    first = raises(lambda: torch.library.register_fake(name, lambda x, y: x))
    torch.library.define(name, "(Tensor x) -> Tensor")
    torch.library.register_fake(name, lambda x: x.new_empty(5))
    return first, getattr(torch.ops, name.split("::")[0]).f(torch.ones(2, device="meta"))


def destroyed_kernel(torch: Any) -> Any:
    op, lib = defined(torch, "(Tensor x) -> Tensor")
    other = torch.library.Library(lib.ns, "IMPL")
    other.impl("f", twice, "CPU")
    kernel = torch.library.get_kernel(op, "CPU")
    other._destroy()
    kernel.call_boxed(torch._C.DispatchKeySet(torch._C.DispatchKey.CPU), torch.ones(1))


def kept_kernel(torch: Any) -> Any:
    op, _lib = defined(torch, "(Tensor x) -> Tensor", CPU=twice)
    kernel = torch.library.get_kernel(op, "CPU")
    return kernel.call_boxed(torch._C.DispatchKeySet(torch._C.DispatchKey.CPU), torch.ones(1))


REDEFINITION: dict[str, Entry] = {
    "custom_op twice replaces": replaced,
    "Library.define twice": (defined_twice, "f"),
    "a second kernel without override": (no_override, "already a kernel registered"),
    "a second fake rule without override": (fake_twice, "already has a fake impl"),
    "a destroyed library restores the kernel": scoped,
    "a failed register_fake leaves nothing behind": failed_fake,
    "get_kernel": kept_kernel,
    "get_kernel of a destroyed library": (destroyed_kernel, "has been invalidated"),
}


# ---------------------------------------------------------------- fake rules


def fake_of_composite(torch: Any) -> Any:
    op, lib = defined(torch, "(Tensor x) -> Tensor", CompositeImplicitAutograd=twice)
    torch.library.register_fake(op.name(), twice, lib=lib)


def fake_over_meta(torch: Any) -> Any:
    op, lib = defined(torch, "(Tensor x) -> Tensor", Meta=twice)
    torch.library.register_fake(op.name(), twice, lib=lib, allow_override=False)


def dynamic_size_on_meta(torch: Any) -> Any:
    f = make(torch, twice)
    f.register_fake(lambda x: x.new_empty([torch.library.get_ctx().new_dynamic_size()]))
    f(torch.ones(2, device="meta"))


def negative_dynamic_size(torch: Any) -> Any:
    """Under `opcheck`, whose fake run has sizes that only the data knows."""
    f = make(torch, lambda x: x.clone())
    f.register_fake(lambda x: x.new_empty([torch.library.get_ctx().new_dynamic_size(min=-1)]))
    found = torch.library.opcheck(f, (torch.ones(2),), test_utils="test_faketensor", raise_exception=False)
    raise ValueError(str(found["test_faketensor"]))  # the two libraries' own classes differ


FAKE: dict[str, Entry] = {
    "none": (lambda t: make(t, twice)(t.ones(1, device="meta")), "There was no fake impl registered for <CustomOpDef("),
    "none: what to do": (lambda t: make(t, twice)(t.ones(1, device="meta")), "register_fake"),
    "of a composite operator": (fake_of_composite, "CompositeImplicitAutograd"),
    "over a Meta kernel": (fake_over_meta, "already has a DispatchKey::Meta implementation"),
    "a dynamic size on meta": (dynamic_size_on_meta, "data-dependent shape"),
    "a negative dynamic size": (negative_dynamic_size, "greater than or equal to 0"),
}


# ---------------------------------------------------------------- overloads and registration


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
        packet.scalar._schema.overload_name,
        [a.name for a in packet.scalar._schema.arguments],
    )


def in_python(torch: Any) -> Any:
    op, _lib = defined(torch, "(Tensor x) -> Tensor", CPU=twice)
    return op._defined_in_python, make(torch, twice)._opoverload._defined_in_python


def what_custom_op_registers(torch: Any) -> Any:
    name = make(torch, twice)._qualname
    keys = ("CPU", "CUDA", "Meta")
    return [torch._C._dispatch_has_computed_kernel_for_dispatch_key(name, key) for key in keys]


def registered_by(kind: str, decorator: bool) -> Case:
    """Every `register_*` takes the handle, a name or an overload, as a function and as a decorator."""

    def case(torch: Any) -> Any:
        f = make(torch, twice)
        target = {"handle": f, "name": f._qualname, "overload": f._opoverload}[kind]

        def register(what: str, rule: Any, *args: Any) -> None:
            method = getattr(torch.library, what)
            method(target, *args)(rule) if decorator else method(target, *args, rule)

        register("register_fake", lambda x: x.new_empty(7))
        register("register_kernel", lambda x: x * 9, "cpu")
        register("register_vmap", lambda info, in_dims, x: (x * 5, in_dims[0]))
        torch.library.register_autograd(target, lambda ctx, g: g * 3)
        torch.library.register_autocast(target, "cpu", torch.bfloat16)
        x = leaf(torch)
        f(x).sum().backward()
        with torch.autocast("cpu", torch.bfloat16):
            cast = f(torch.ones(1))
        return (
            f(torch.ones(1, device="meta")).shape[0], f(torch.ones(1)), x.grad, torch.vmap(f)(torch.ones(2, 2)), cast
        )  # fmt: skip

    return case


OVERLOADS: dict[str, Entry] = {
    "overloads": overloads,
    "_defined_in_python": in_python,
    "what custom_op registers": what_custom_op_registers,
    "by handle": registered_by("handle", decorator=False),
    "by name": registered_by("name", decorator=False),
    "by overload": registered_by("overload", decorator=False),
    "by handle, as a decorator": registered_by("handle", decorator=True),
    "by name, as a decorator": registered_by("name", decorator=True),
    "by overload, as a decorator": registered_by("overload", decorator=True),
}


TABLE = table({
    "schema": SCHEMAS, "mutation": MUTATION, "keyword-only": KEYWORD_ONLY, "autograd": AUTOGRAD,
    "devices": DEVICES, "redefinition": REDEFINITION, "fake": FAKE, "registration": OVERLOADS,
})  # fmt: skip


@pytest.mark.parametrize("statement", TABLE)
def test_semantics(statement: str) -> None:
    check(TABLE[statement])
