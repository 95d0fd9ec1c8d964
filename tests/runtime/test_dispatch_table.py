"""The dispatch table, the keys, key sets and guards, and what looks into them: beside PyTorch's."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import mindtorch_v2
from mindtorch_v2 import _C
from tests.runtime.both import agree, fresh_namespace

REGISTERED = (
    "CPU", "CUDA", "PrivateUse1", "Meta", "AutogradCPU", "AutogradCUDA", "AutogradOther", "AutogradPrivateUse1",
    "ADInplaceOrView", "BackendSelect", "AutocastCPU", "Autograd", "CompositeImplicitAutograd",
    "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional",
)  # fmt: skip
# Both libraries have these, and the same fallbacks at them. (The NPU has one of ours: operators run on the CPU.)
LOOKED_AT = (
    "CPU", "CUDA", "MPS", "Meta", "AutogradOther", "AutogradCPU", "AutogradCUDA", "AutogradMPS", "AutogradPrivateUse1",
    "AutogradMeta", "ADInplaceOrView", "BackendSelect", "Python", "AutocastCPU", "AutocastCUDA",
)  # fmt: skip


def kernel(x: Any) -> Any:
    return x


def registered(library: Any, registrations: list[tuple[str, bool]]) -> Any:
    """An operator with a kernel, or a fallthrough, at each of these keys."""
    lib = library.library.Library(fresh_namespace(), "FRAGMENT")
    lib.define("op(Tensor x) -> Tensor")
    for key, fallthrough in sorted(registrations, key=lambda entry: entry[0] != "Meta"):  # refused after a composite
        lib.impl("op", library.library.fallthrough_kernel if fallthrough else kernel, key)
    return lib


def table(library: Any, name: str) -> dict[str, tuple[bool, str]]:
    """{key: (whether the call falls through, the kind of kernel)} of a dump; PrivateUse1 is the NPU."""
    rows = {}
    for line in library._C._dispatch_dump_table(name).splitlines():
        key, _, rest = line.partition(": ")
        rows[key.replace("NPU", "PrivateUse1")] = rest.startswith("fallthrough"), rest.rpartition(" [")[2].rstrip("]")
    return rows


@settings(max_examples=150)
@given(st.lists(st.tuples(st.sampled_from(REGISTERED), st.booleans()), max_size=6, unique_by=lambda entry: entry[0]))
def test_any_registrations_give_pytorchs_table(registrations: list[tuple[str, bool]]) -> None:
    theirs, ours = (registered(library, registrations) for library in (torch, mindtorch_v2))
    expected, got = table(torch, f"{theirs.ns}::op"), table(mindtorch_v2, f"{ours.ns}::op")
    for key in LOOKED_AT:
        assert got.get(key) == expected.get(key), f"{key}: expected {expected.get(key)}, got {got.get(key)}"
        for tool in ("has_kernel", "has_computed_kernel"):
            function = f"_dispatch_{tool}_for_dispatch_key"
            assert getattr(mindtorch_v2._C, function)(f"{ours.ns}::op", key) == getattr(torch._C, function)(
                f"{theirs.ns}::op", key
            ), (tool, key)


def runs(library: Any, registrations: list[str], requires_grad: bool) -> Any:
    """The keys at which kernels run, from the top down, for one call on the CPU; each redispatches."""
    lib = library.library.Library(fresh_namespace(), "FRAGMENT")
    lib.define("op(Tensor x) -> Tensor")
    op = getattr(library.ops, lib.ns).op.default
    seen: list[str] = []

    def at(key: str) -> Callable[..., Any]:
        below = library._C._dispatch_keyset_full_after(getattr(library._C.DispatchKey, key, "CPU"))

        def run(keys: Any, x: Any) -> Any:
            seen.append(key)
            return x.clone() if key in BACKEND else op.redispatch(keys & below, x)

        return run

    for key in registrations:
        lib.impl("op", at(key), key, with_keyset=True)
    op(library.ones(2, requires_grad=requires_grad))
    return seen


BACKEND = ("CPU", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional", "CompositeImplicitAutograd")


@settings(max_examples=60)
@given(
    st.sampled_from(BACKEND), st.sets(st.sampled_from(["AutogradCPU", "ADInplaceOrView", "BackendSelect"])),
    st.booleans(),
)  # fmt: skip
def test_calls_go_down_the_same_keys(backend: str, above: set[str], requires_grad: bool) -> None:
    assert runs(mindtorch_v2, [backend, *above], requires_grad) == runs(torch, [backend, *above], requires_grad)


# ---------------------------------------------------------------- keys, sets and guards


def parsing(t: Any) -> Any:
    c = t._C
    return str(c._dispatch_key_parse("CPU")).rpartition(".")[2], c._dispatch_key_name("AutogradCPU")


def aliases(t: Any) -> Any:
    c = t._C
    keys = ("CPU", "CUDA", "Meta", "PrivateUse1", "AutogradCPU", "AutogradMeta", "AutogradOther", "Functionalize",
            "ADInplaceOrView", "BackendSelect", "AutocastCPU", "Python")  # fmt: skip
    names = ("Autograd", "CompositeImplicitAutograd", "CompositeExplicitAutograd",
             "CompositeExplicitAutogradNonFunctional", "CPU")  # fmt: skip
    return [[c._dispatch_is_included_in_alias(key, alias) for key in keys] for alias in names], [
        c._dispatch_is_alias_key(name) for name in names
    ]


def sets(t: Any) -> Any:
    c, k = t._C, t._C.DispatchKey
    both = c.DispatchKeySet(k.CPU) | c.DispatchKeySet(k.AutogradCPU)
    above = c._dispatch_keyset_full_after(k.AutogradCPU)
    return (
        str(both), str(both.highestPriorityTypeId()).rpartition(".")[2], str(both.remove(k.CPU)), str(both - both),
        str(both & above), both.has(k.CPU), both.add(k.CPU) == both, c._dispatch_keyset_to_string(both),
        [above.has(key) for key in (k.CPU, k.AutogradOther, k.AutogradCPU, k.AutocastCPU)],
        c._dispatch_keyset_full().has(k.AutogradOther), str(c.DispatchKeySet("CPU")),
        str((both - both).highestPriorityTypeId()).rpartition(".")[2], both.has("CPU"),
        str(c._dispatch_get_backend_keyset_from_autograd(k.AutogradCPU)),
    )  # fmt: skip


def guards(t: Any) -> Any:
    c, k = t._C, t._C.DispatchKey
    included, excluded = c._dispatch_tls_is_dispatch_key_included, c._dispatch_tls_is_dispatch_key_excluded

    def now() -> Any:
        return [(included(key), excluded(key)) for key in ("AutogradCPU", "ADInplaceOrView", "CPU", "AutocastCPU")]

    seen = [now()]
    for guard in (
        lambda: c.ExcludeDispatchKeyGuard(c.DispatchKeySet(k.AutogradCPU)),
        lambda: c._ExcludeDispatchKeyGuard(c.DispatchKeySet(k.CPU)),
        lambda: c._IncludeDispatchKeyGuard(k.AutogradCPU),
        lambda: c._SetExcludeDispatchKeyGuard(k.AutocastCPU, False),
        lambda: c._SetExcludeDispatchKeyGuard(k.CPU, True),
        lambda: c._ForceDispatchKeyGuard(c.DispatchKeySet(k.CPU), c.DispatchKeySet(k.ADInplaceOrView)),
        c._AutoDispatchBelowADInplaceOrView,
        c._PreserveDispatchKeyGuard,
    ):
        with guard():
            seen.append(now())
            if guard is c._PreserveDispatchKeyGuard:
                c._dispatch_tls_set_dispatch_key_included("CPU", True)
                c._dispatch_tls_set_dispatch_key_excluded("AutogradCPU", True)
                seen.append(now())
    seen.append(now())
    with c._AutoDispatchBelowAutograd():
        seen.append((excluded("AutogradOther"), excluded("ADInplaceOrView"), excluded("CPU")))
    with (
        c.ExcludeDispatchKeyGuard(c.DispatchKeySet(k.AutogradCPU)),
        c._IncludeDispatchKeyGuard(k.AutogradCPU),
    ):
        seen.append(now())
    return seen


def guards_that_are_held(t: Any) -> Any:
    c, key = t._C, t._C.DispatchKey.ADInplaceOrView
    seen = []
    for name, *arguments in (
        ("ExcludeDispatchKeyGuard", c.DispatchKeySet(key)),
        ("_ExcludeDispatchKeyGuard", c.DispatchKeySet(key)),
        ("_AutoDispatchBelowADInplaceOrView",),
        ("_DisableTorchDispatch",),
    ):
        which = "Python" if name == "_DisableTorchDispatch" else "ADInplaceOrView"
        for with_context in (False, True):
            guard = getattr(c, name)(*arguments)
            seen.append((name, c._dispatch_tls_is_dispatch_key_excluded(which)))
            if with_context:
                with guard:
                    seen.append(c._dispatch_tls_is_dispatch_key_excluded(which))
                seen.append(c._dispatch_tls_is_dispatch_key_excluded(which))
            del guard
            seen.append(c._dispatch_tls_is_dispatch_key_excluded(which))
    outer = c.ExcludeDispatchKeyGuard(c.DispatchKeySet(key))
    inner = c.ExcludeDispatchKeyGuard(c.DispatchKeySet(key))  # which it does not end
    del inner
    seen.append(c._dispatch_tls_is_dispatch_key_excluded("ADInplaceOrView"))
    del outer
    seen.append(c._dispatch_tls_is_dispatch_key_excluded("ADInplaceOrView"))
    return seen


def a_kernel_that_goes_below_autograd_by_a_guard_that_it_holds(t: Any) -> Any:
    library = t.library.Library(f"held_{t.__name__}", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    operator = getattr(t.ops, f"held_{t.__name__}").twice.default

    class Twice(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            guard = t._C._AutoDispatchBelowAutograd()
            try:
                return operator(x)
            finally:
                del guard

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    library.impl("twice", Twice.apply, "Autograd")
    library.impl("twice", lambda x: x * 2, "CPU")
    x = t.ones(2, requires_grad=True)
    y = operator(x)
    y.sum().backward()
    return y.tolist(), x.grad.tolist(), y.requires_grad


def standing_sets(t: Any) -> Any:
    return str(t._C._dispatch_tls_local_include_set())


def keys_of_tensors(t: Any) -> Any:
    with t.inference_mode():
        made_there = t._C._dispatch_key_set(t.ones(1))
    return [t._C._dispatch_key_set(x) for x in (t.ones(1), t.ones(1, requires_grad=True), t.ones(1, device="meta"))], (
        made_there, str(t._C._dispatch_keys(t.ones(1)))
    )  # fmt: skip


def an_operators_kernels(t: Any) -> Any:
    c = t._C
    lib = registered(t, [("CPU", False), ("AutogradCPU", True), ("CompositeExplicitAutograd", False)])
    name = f"{lib.ns}::op"
    return (
        c._dispatch_has_kernel(name), c._dispatch_has_kernel("nope::nope"),
        [c._dispatch_has_kernel_for_dispatch_key(name, key) for key in ("CPU", "CUDA", "AutogradCPU")],
        [c._dispatch_has_computed_kernel_for_dispatch_key(name, key) for key in ("CPU", "CUDA", "AutogradCUDA")],
        [c._dispatch_has_kernel_for_any_dispatch_key(name, c.DispatchKeySet(key)) for key in ("CPU", "CUDA")],
        [c._dispatch_kernel_for_dispatch_key_is_fallthrough(name, key) for key in ("CPU", "AutogradCPU")],
        name in c._dispatch_get_all_op_names(), name in c._dispatch_get_registrations_for_dispatch_key("CPU"),
        name in c._dispatch_get_registrations_for_dispatch_key("CUDA"), c._dispatch_key_for_device("cpu"),
        c._dispatch_key_for_device("meta"),
        [c._dispatch_has_backend_fallback(getattr(c.DispatchKey, key)) for key in ("CPU", "AutogradCPU")],
    )  # fmt: skip


def custom_op_kernels(t: Any) -> Any:
    """What a custom operator registers, before and after it gets a gradient."""

    def f(x):  # type: ignore[no-untyped-def]
        return x.clone()

    f.__annotations__ = {"x": t.Tensor, "return": t.Tensor}
    op = t.library.custom_op(f"{fresh_namespace()}::f", f, mutates_args=())

    def labels() -> Any:
        dump = t._C._dispatch_dump(op._qualname)
        return [line.partition(":")[0] for line in dump.splitlines()[4:]]

    before = labels(), [table(t, op._qualname)[key] for key in LOOKED_AT]
    op.register_autograd(lambda ctx, grad: grad)
    return before, sorted(set(labels())), [table(t, op._qualname)[key] for key in LOOKED_AT]


def overridden(t: Any) -> Any:
    lib = registered(t, [("CPU", False)])
    newer = t.library.Library(lib.ns, "IMPL")
    newer.impl("op", t.library.fallthrough_kernel, "CPU")
    newer.impl("op", kernel, "CPU")

    def lines() -> Any:
        dump = t._C._dispatch_dump(f"{lib.ns}::op").splitlines()
        return [(line.partition(":")[0], "fallthrough" in line) for line in dump[4:]]

    before = lines()
    newer._destroy()
    return before, lines()


AGREE = (
    parsing, aliases, sets, guards, guards_that_are_held, a_kernel_that_goes_below_autograd_by_a_guard_that_it_holds,
    standing_sets, keys_of_tensors, an_operators_kernels, custom_op_kernels, overridden,
)  # fmt: skip


@pytest.mark.parametrize("case", AGREE, ids=lambda case: case.__name__)
def test_tools(case: Callable[[Any], Any]) -> None:
    agree(case)


@pytest.mark.parametrize(
    ("case", "quoted"),
    [
        (lambda t: t._C._dispatch_key_parse("NoKey"), "could not parse dispatch key"),
        (lambda t: t._C._dispatch_has_kernel_for_dispatch_key("nope::nope", "CPU"), "nope::nope does not exist"),
        (lambda t: t._C._dispatch_has_kernel_for_dispatch_key("aten::sin", "NoKey"), "could not parse dispatch key"),
        (lambda t: t._C._dispatch_key_for_device("nowhere"), "device type at start of device string: nowhere"),
    ],
)
def test_mistakes(case: Callable[[Any], Any], quoted: str) -> None:
    agree(case, quoted)


# ---------------------------------------------------------------- sources and traces


def test_each_registration_shows_its_line(tmp_path: Path) -> None:
    """Python's file and line; of a generated operator those of its definition."""
    lib = registered(mindtorch_v2, [("CPU", False)])
    assert f"CPU: registered at {__file__}:" in mindtorch_v2._C._dispatch_dump_table(f"{lib.ns}::op")
    lines = mindtorch_v2._C._dispatch_dump("aten::mm").splitlines()
    assert lines[2].startswith("debug: registered at ")
    where = {line.partition(":")[0]: line.partition("registered at ")[2] for line in lines[4:]}
    assert {"CPU", "Autograd[alias]"} <= where.keys()
    for label in ("CPU", "Autograd[alias]"):  # where the function stands that defines the operator
        file, _, line = where[label].partition(" ")[0].rpartition(":")
        assert "mm(Tensor self, Tensor mat2)" in Path(file).read_text().splitlines()[int(line) - 1]


def test_the_trace_nests_calls_in_redispatches(child_env: dict[str, str]) -> None:
    """One deeper for what a kernel calls, and for what a key passes on; PyTorch prints the same shape."""
    code = """
import {name} as t
lib = t.library.Library("trace", "DEF")
lib.define("inner(Tensor x) -> Tensor")
lib.define("outer(Tensor x) -> Tensor")
lib.impl("inner", lambda x: x.clone(), "CPU")
lib.impl("outer", lambda x: t.ops.trace.inner(x), "CPU")
lib.impl("outer", lambda keys, x: t.ops.trace.outer.default.redispatch(keys & t._C._after_autograd_keyset, x),
         "AutogradCPU", with_keyset=True)
x = t.ones(1)
import sys
print("----", file=sys.stderr, flush=True)
t.ops.trace.outer(x)
"""
    env = {**child_env, "MINDTORCH_SHOW_DISPATCH_TRACE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code.format(name="mindtorch_v2")], env=env, capture_output=True, text=True, check=True
    )
    lines = [line for line in done.stderr.partition("----")[2].splitlines() if "trace::" in line]
    assert lines == [
        "[call] op=[trace::outer], key=[AutogradCPU]",
        " [redispatch] op=[trace::outer], key=[CPU]",
        "  [call] op=[trace::inner], key=[AutogradCPU]",
        "   [redispatch] op=[trace::inner], key=[CPU]",
    ]


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("variable", ["TORCH_SHOW_DISPATCH_TRACE", "MINDTORCH_SHOW_DISPATCH_TRACE"])
def test_the_trace_shows_backend_select_for_what_makes_tensors(
    variable: str, grad: bool, child_env: dict[str, str]
) -> None:
    code = f"""
import mindtorch_v2 as t, sys
with t.set_grad_enabled({grad}):
    print("----", file=sys.stderr, flush=True)
    t.ops.aten.empty.memory_format([2])
    t.ops.aten.zeros.default([2], device="meta")
    with t.inference_mode():
        t.ops.aten.empty.memory_format([2])
    print("----", file=sys.stderr, flush=True)
"""
    env = {**child_env, variable: "1"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stderr.split("----\n")[1].splitlines() == [
        "[call] op=[aten::empty.memory_format], key=[BackendSelect]",
        " [redispatch] op=[aten::empty.memory_format], key=[CPU]",
        "[call] op=[aten::zeros], key=[BackendSelect]",
        " [redispatch] op=[aten::zeros], key=[Meta]",
        "[call] op=[aten::empty.memory_format], key=[BackendSelect]",
        " [redispatch] op=[aten::empty.memory_format], key=[CPU]",
    ]


def test_an_operator_found_by_name_and_overload() -> None:
    def case(torch: Any, name: str, overload: str) -> Any:
        op = torch._C._dispatch_find_schema_or_throw(name, overload)
        return torch._C._dispatch_call_boxed(op, torch.ones(2), torch.ones(2)).tolist()

    agree(lambda torch: case(torch, "aten::add", "Tensor"))
    agree(lambda torch: case(torch, "aten::add", "nothing"), "Could not find schema for aten::add.nothing")
    agree(lambda torch: case(torch, "aten::nothing", ""), "Could not find schema for aten::nothing.")
    # PyTorch keeps what is left of operators that other tests made and destroyed.
    agree(lambda torch: [found for found in torch._C._dispatch_find_dangling_impls() if "name: test" not in found])


def test_each_backend_key_is_counted() -> None:
    assert _C._dispatch_num_backends() >= len(mindtorch_v2.backends.all_backends())


def test_an_operator_that_goes_while_registrations_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library may be collected between the names and what is known of them."""
    monkeypatch.setattr(_C, "_dispatch_get_all_op_names", lambda: ["gone::f", "aten::mm"])
    assert _C._dispatch_get_registrations_for_dispatch_key("CPU") == ["aten::mm"]
    assert _C._dispatch_get_registrations_for_dispatch_key() == ["gone::f", "aten::mm"]
