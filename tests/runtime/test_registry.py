"""The registry over time: libraries that define, register and go, in any order, against a plain model of stacks.

A registration that fails leaves everything as it was; a destroyed library leaves nothing behind.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2.library import Library
from tests.runtime.both import agree, fresh_namespace

NAMES = ("one", "two")
KEYS = ("CPU", "Autograd", "CompositeImplicitAutograd")
FALLBACK_KEYS = ("CUDA", "MPS", "AutogradCUDA")
TEST_METHOD = "a_method_of_this_test"


def kernel(x: Any) -> Any:
    return x.clone()


def snapshot(namespace: str) -> Any:
    """All that can be seen of the operators of a namespace, and of the fallbacks."""
    operators = {}
    for name in NAMES:
        full = f"{namespace}::{name}"
        if torch._core.find_operator(full) is not None:
            operators[name] = _C._dispatch_dump(full), _C._dispatch_dump_table(full)
    packets = sorted(vars(getattr(torch.ops, namespace)).keys() - {"__name__"})
    fallbacks = [key for key in FALLBACK_KEYS if _C._dispatch_has_backend_fallback(key)]
    return operators, packets, fallbacks, hasattr(torch.Tensor, TEST_METHOD), torch._core.thread_keys()


MISTAKES: dict[str, Callable[[Library, str], Any]] = {
    "a schema that does not parse": lambda lib, op: lib.define("three(Tensor x -> Tensor"),
    "another namespace": lambda lib, op: lib.define("other::three(Tensor x) -> Tensor"),
    "an unknown variant": lambda lib, op: lib.define("three(Tensor x) -> Tensor", variants=("methd",)),
    "an unknown operator": lambda lib, op: lib.impl("nope", kernel, "CPU"),
    "an unknown key": lambda lib, op: lib.impl(op, kernel, "CPUU"),
    "no callable": lambda lib, op: lib.impl(op, 3, "CPU"),
    "a fake rule of nothing": lambda lib, op: lib.register_fake("nope", kernel),
    "a fake rule that is no callable": lambda lib, op: lib.register_fake(op, 3),
    "a gradient of nothing": lambda lib, op: lib.register_autograd("nope", kernel),
    "a fallback of a namespace": lambda lib, op: lib.fallback(kernel, "CUDA"),
    "a fallback at an unknown key": lambda lib, op: Library("_", "IMPL").fallback(kernel, "CUDAA"),
    "a fallback without an unknown operator": lambda lib, op: Library("_", "IMPL").fallback(
        kernel, "MPS", exclude=["nope::nope"]
    ),
    "a fallback for an unknown operator": lambda lib, op: lib.impl_fallback("nope", kernel, "CPU"),
    "autocast of an unknown device": lambda lib, op: torch.library.register_autocast(
        f"{lib.ns}::{op}", "xyz", torch.float16, lib=lib
    ),
    "autocast of a device without": lambda lib, op: torch.library.register_autocast(
        f"{lib.ns}::{op}", "meta", torch.float16, lib=lib
    ),
    "a batching rule of nothing": lambda lib, op: torch.library.register_vmap(f"{lib.ns}::nope", kernel, lib=lib),
    "a kernel for an unknown device": lambda lib, op: torch.library.register_kernel(
        f"{lib.ns}::{op}", ["cpu", "xyz"], kernel, lib=lib
    ),
    "a kernel of nothing": lambda lib, op: torch.library.register_kernel(f"{lib.ns}::nope", "cpu", kernel, lib=lib),
    "a second namespace owner": lambda lib, op: Library("aten", "DEF"),
    "a reserved namespace": lambda lib, op: Library("prim", "DEF"),
    "an unknown kind": lambda lib, op: Library(lib.ns, "DEFINE"),
    "a custom operator with a keyword-only tensor": lambda lib, op: torch.library.custom_op(
        f"{lib.ns}::three", kernel, mutates_args=(), schema="(Tensor x, *, Tensor y) -> Tensor"
    ),
    "a custom operator for an unknown device": lambda lib, op: torch.library.custom_op(
        f"{lib.ns}::three", kernel, mutates_args=(), schema="(Tensor x) -> Tensor", device_types="xyz"
    ),
    "a custom operator that writes otherwise": lambda lib, op: torch.library.custom_op(
        f"{lib.ns}::three", kernel, mutates_args=("x",), schema="(Tensor x) -> Tensor"
    ),
}


def registration(line: str) -> tuple[str, str]:
    """A dump's line as (label, source); this file's lines as the file."""
    label, _, rest = line.partition(": registered at ")
    source = rest.rpartition(" [")[0].removesuffix("[ boxed ]").partition(" [ ")[0]
    return label, __file__ if source.startswith(__file__) else source


class Registry(RuleBasedStateMachine):
    """Libraries register; the model says which registration of each key runs and which wait below it."""

    def __init__(self) -> None:
        super().__init__()
        self.namespace = fresh_namespace()
        self.libraries: list[Library | None] = [Library(self.namespace, "FRAGMENT") for _ in range(3)]
        self.fallback_libraries: dict[str, Library] = {}
        self.owners: dict[str, int] = {}  # operator -> the library that defined it
        # operator -> label in a dump -> (library, source) of each registration, the oldest first
        self.stacks: dict[str, dict[str, list[tuple[int, str]]]] = {}
        self.numbers = itertools.count()
        self.clean = snapshot(self.namespace)

    def teardown(self) -> None:
        for library in (*self.libraries, *self.fallback_libraries.values()):
            if library is not None:
                library._destroy()
        assert snapshot(self.namespace) == self.clean

    def library(self, number: int) -> Library:
        """The library of that number, made anew where it was destroyed."""
        library = self.libraries[number]
        if library is None:
            library = self.libraries[number] = Library(self.namespace, "FRAGMENT")
        return library

    def refused(self, action: Callable[[], Any]) -> None:
        before = snapshot(self.namespace)
        with pytest.raises((RuntimeError, TypeError, ValueError, NotImplementedError)):
            action()
        assert snapshot(self.namespace) == before

    def registered(self, op: str, label: str, number: int, source: str = __file__) -> None:
        self.stacks[op].setdefault(label, []).append((number, source))

    @rule(number=st.integers(0, 2), op=st.sampled_from(NAMES), method=st.booleans())
    def define(self, number: int, op: str, method: bool) -> None:
        library = self.library(number)
        if op in self.owners:
            self.refused(lambda: library.define(f"{op}(Tensor x) -> Tensor"))
            return
        library.define(f"{op}(Tensor x) -> Tensor")
        if method:
            library.define(f"{op}.m(Tensor x, int k) -> Tensor", variants=("function",))
        self.owners[op], self.stacks[op] = number, {}

    @precondition(lambda self: self.owners)
    @rule(data=st.data(), number=st.integers(0, 2), key=st.sampled_from(KEYS), override=st.booleans())
    def impl(self, data: st.DataObject, number: int, key: str, override: bool) -> None:
        op = data.draw(st.sampled_from(sorted(self.owners)))
        library = self.library(number)
        label = key if key == "CPU" else f"{key}[alias]"
        if not override and self.stacks[op].get(label):
            self.refused(lambda: library.impl(op, kernel, key, allow_override=False))
            return
        source = f"ops.yaml:{next(self.numbers)}"
        library.impl(op, kernel, key, allow_override=override, source=source)
        self.registered(op, label, number, source)

    @precondition(lambda self: self.owners)
    @rule(data=st.data(), number=st.integers(0, 2), override=st.booleans())
    def register_fake(self, data: st.DataObject, number: int, override: bool) -> None:
        op = data.draw(st.sampled_from(sorted(self.owners)))
        library = self.library(number)
        stacks = self.stacks[op]
        if stacks.get("CompositeImplicitAutograd[alias]") or (not override and stacks.get("Meta")):
            self.refused(lambda: library.register_fake(op, kernel, allow_override=override))
            return
        library.register_fake(op, kernel, allow_override=override)
        self.registered(op, "Meta", number)

    @precondition(lambda self: self.owners)
    @rule(data=st.data(), number=st.integers(0, 2), what=st.sampled_from(["Autograd[alias]", "AutocastCPU", "Batched"]))
    def register_rule(self, data: st.DataObject, number: int, what: str) -> None:
        op = data.draw(st.sampled_from(sorted(self.owners)))
        library, name = self.library(number), f"{self.namespace}::{op}"
        if what == "AutocastCPU":
            torch.library.register_autocast(name, "cpu", torch.float16, lib=library)
        elif what == "Batched":
            torch.library.register_vmap(name, lambda info, dims, x: (x, dims[0]), lib=library)
        else:
            torch.library.register_autograd(name, lambda ctx, grad: grad, lib=library)
        self.registered(op, what, number)

    @rule(key=st.sampled_from(FALLBACK_KEYS))
    def fallback(self, key: str) -> None:
        library = Library("_", "IMPL")
        if key in self.fallback_libraries:
            self.refused(lambda: library.fallback(lambda op, *args: None, key))
            return
        library.fallback(lambda op, *args: None, key)
        self.fallback_libraries[key] = library

    @precondition(lambda self: self.fallback_libraries)
    @rule(data=st.data())
    def destroy_fallback(self, data: st.DataObject) -> None:
        self.fallback_libraries.pop(data.draw(st.sampled_from(sorted(self.fallback_libraries))))._destroy()

    @precondition(lambda self: self.owners)
    @rule(data=st.data(), number=st.integers(0, 2), mistake=st.sampled_from(sorted(MISTAKES)))
    def make_a_mistake(self, data: st.DataObject, number: int, mistake: str) -> None:
        op = data.draw(st.sampled_from(sorted(self.owners)))
        library = self.library(number)
        self.refused(lambda: MISTAKES[mistake](library, op))

    @rule(number=st.integers(0, 2))
    def destroy(self, number: int) -> None:
        library = self.library(number)
        library._destroy()
        self.libraries[number] = None
        for op in [op for op, owner in self.owners.items() if owner == number]:
            del self.owners[op], self.stacks[op]
        for stacks in self.stacks.values():
            for label in list(stacks):
                stacks[label] = [entry for entry in stacks[label] if entry[0] != number]
        with pytest.raises(RuntimeError, match="Library object has been destroyed"):
            library.define("late(Tensor x) -> Tensor")

    @invariant()
    def the_registry_is_what_the_model_says(self) -> None:
        operators, packets, fallbacks, *_ = snapshot(self.namespace)
        assert sorted(operators) == sorted(self.owners) == packets
        assert sorted(fallbacks) == sorted({"AutogradCUDA", *self.fallback_libraries})  # the core has that one
        for op, (dump, table) in operators.items():
            expected = []
            for label, stack in self.stacks[op].items():
                for depth, (_, source) in enumerate(reversed(stack)):
                    expected.append((label + (" (inactive)" if depth else ""), source))
            assert sorted(map(registration, dump.splitlines()[4:])) == sorted(expected)
            own = {label: stack[-1][1] for label, stack in self.stacks[op].items() if stack and "[" not in label}
            rows = [line for line in table.splitlines() if line.endswith("[kernel]")]
            assert dict(map(registration, rows)) == own


Registry.TestCase.settings = settings(max_examples=60, stateful_step_count=40)
TestRegistry = Registry.TestCase


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_failed_registration_changes_nothing(mistake: str) -> None:
    lib = Library(fresh_namespace(), "FRAGMENT")
    lib.define("one(Tensor x) -> Tensor")
    lib.impl("one", kernel, "CPU")
    before = snapshot(lib.ns)
    with pytest.raises((RuntimeError, TypeError, ValueError, NotImplementedError)):
        MISTAKES[mistake](lib, "one")
    assert snapshot(lib.ns) == before


def test_a_failed_redefinition_keeps_the_custom_operator() -> None:
    name = f"{fresh_namespace()}::one"
    op = torch.library.custom_op(name, kernel, mutates_args=(), schema="(Tensor x) -> Tensor")
    before = snapshot(name.partition("::")[0])
    for options in ({"schema": "(Tensor x -> Tensor"}, {"schema": "(Tensor x) -> Tensor", "device_types": "xyz"}):
        with pytest.raises(RuntimeError):
            torch.library.custom_op(name, kernel, mutates_args=(), **options)
    assert snapshot(name.partition("::")[0]) == before
    assert op(torch.ones(1)).tolist() == [1.0]


# ---------------------------------------------------------------- what a destroyed library leaves


def test_methods_go_with_their_library() -> None:
    x = torch.ones(2)
    first, second = (Library(fresh_namespace(), "FRAGMENT") for _ in range(2))
    for amount, lib in enumerate((first, second)):
        lib.define(f"{TEST_METHOD}(Tensor x) -> Tensor", variants=("method",))
        lib.impl(TEST_METHOD, lambda x, amount=amount: x + amount, "CPU")
    assert getattr(x, TEST_METHOD)().tolist() == [2.0, 2.0]
    second._destroy()
    assert getattr(x, TEST_METHOD)().tolist() == [1.0, 1.0]
    first._destroy()
    assert not hasattr(torch.Tensor, TEST_METHOD)
    assert not hasattr(getattr(torch.ops, first.ns), TEST_METHOD)


def test_functions_of_the_top_level_go_with_their_library() -> None:
    lib = Library("aten", "FRAGMENT")
    lib.define(f"{TEST_METHOD}(Tensor x) -> Tensor", variants=("function", "method"))
    assert getattr(torch, TEST_METHOD) == getattr(torch.ops.aten, TEST_METHOD)
    lib._destroy()
    assert not hasattr(torch, TEST_METHOD)
    assert not hasattr(torch.ops.aten, TEST_METHOD)
    with pytest.raises(AttributeError, match=TEST_METHOD):
        getattr(torch.ones(1), TEST_METHOD)


def test_what_the_core_defines_itself_stays() -> None:
    lib = Library(fresh_namespace(), "FRAGMENT")
    native = torch.Tensor.contiguous
    lib.define("contiguous(Tensor x) -> Tensor", variants=("method",))
    lib._destroy()
    assert torch.Tensor.contiguous is native


def test_a_formula_and_a_kernel_at_autograd_the_newest_runs() -> None:
    def case(t: Any) -> Any:
        lib = t.library.Library(fresh_namespace(), "FRAGMENT")
        lib.define("op(Tensor x) -> Tensor")
        lib.impl("op", lambda x: x * 2, "CPU")
        op, results = getattr(t.ops, lib.ns).op.default, []

        def gradient() -> Any:
            x = t.ones(1, requires_grad=True)
            op(x).sum().backward()
            return x.grad

        t.library.register_autograd(f"{lib.ns}::op", lambda ctx, grad: grad * 20, lib=lib)
        results.append(gradient())
        newer = t.library.Library(lib.ns, "IMPL")
        newer.impl("op", lambda x: x * 200, "Autograd")
        results.append(gradient())
        newer._destroy()
        results.append(gradient())
        return results

    agree(case)


@pytest.mark.parametrize("value", ["inf", "-inf", "nan"])
def test_a_default_that_no_schema_can_write(value: str) -> None:
    """PyTorch infers the same text, and cannot parse it either."""

    def f(t: Any) -> Any:
        def f(x, a=float(value)):  # type: ignore[no-untyped-def]
            return x.clone()

        f.__annotations__ = {"x": t.Tensor, "a": float, "return": t.Tensor}
        return f

    agree(lambda t: t.library.infer_schema(f(t), mutates_args=()))
    agree(
        lambda t: t.library.custom_op(f"{fresh_namespace()}::f", f(t), mutates_args=()),
        "default" if value[0] != "-" else "number",
    )
    with pytest.raises(RuntimeError, match=r"a schema has no text for it: write `float\?` with the default None"):
        torch.library.custom_op(f"{fresh_namespace()}::f", f(torch), mutates_args=())


@pytest.mark.parametrize("name", ["add", "discard"])
def test_an_overload_called_like_a_method_of_its_packet(name: str) -> None:
    namespace = fresh_namespace()
    library = Library(namespace, "FRAGMENT")
    library.define(f"f.{name}(Tensor x) -> Tensor")
    library.define("f.b(Tensor x, int k) -> Tensor")
    packet = getattr(torch.ops, namespace).f
    assert packet.overloads() == [name, "b"]
    assert getattr(packet, name)._schema.overload_name == name
    library._destroy()
    assert packet.overloads() == []
