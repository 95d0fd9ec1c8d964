"""`Library`, `define`, `impl` and the `register_*` functions, beside PyTorch's."""

from __future__ import annotations

import gc
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

import mindtorch_v2
from mindtorch_v2 import _core
from mindtorch_v2.library import Library, register
from tests.runtime.both import agree, fresh_namespace

ADD = "add(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor"


def add(x: Any, y: Any, *, alpha: float) -> Any:
    return x + alpha * y


def library(torch: Any, *schemas: str, kind: str = "FRAGMENT") -> tuple[Any, Any]:
    """A library over a namespace of its own, with these schemas defined, and the namespace's operators."""
    namespace = fresh_namespace()
    lib = torch.library.Library(namespace, kind)
    for schema in schemas:
        lib.define(schema)
    return lib, getattr(torch.ops, namespace)


# ---------------------------------------------------------------- define


def test_define_returns_the_name() -> None:
    agree(lambda torch: library(torch)[0].define("op(Tensor x) -> Tensor"))


def test_define_twice() -> None:
    """PyTorch's words are about def(); ours name the operator and where it was defined."""
    for torch in (pytest.importorskip("torch"), mindtorch_v2):
        lib, _ = library(torch, ADD)
        with pytest.raises(RuntimeError, match=r"::add"):
            lib.define(ADD)


def test_overloads_of_one_name() -> None:
    def case(torch: Any) -> Any:
        lib, ops = library(torch, "f(Tensor x) -> Tensor", "f.two(Tensor x, Tensor y) -> Tensor")
        lib.impl("f", lambda x: x + 1, "CPU")
        lib.impl("f.two", lambda x, y: x + y, "CPU")
        x = torch.ones(2)
        return ops.f(x), ops.f(x, x), ops.f.default(x), ops.f.two(x, x), sorted(ops.f.overloads())

    agree(case)


def define_with(schema: str) -> Callable[[Any], Any]:
    return lambda torch: library(torch)[0].define(schema)


@pytest.mark.parametrize(
    ("case", "quoted"),
    [
        (lambda torch: torch.library.Library("lib_kind", "FOO"), "Unsupported kind: FOO"),
        (lambda torch: torch.library.Library("prim", "DEF"), "prim is a reserved namespace"),
        (
            lambda torch: torch.library.Library("aten", "DEF"),
            "Only a single TORCH_LIBRARY can be used to register the namespace aten",
        ),
        (
            lambda torch: (torch.library.Library("lib_twice", "DEF"), torch.library.Library("lib_twice", "DEF")),
            "Only a single TORCH_LIBRARY can be used to register the namespace lib_twice",
        ),
        (define_with("other::op(Tensor x) -> Tensor"), "Explicitly provided namespace (other) in schema string"),
        (define_with("op(int64_t x) -> Tensor"), "Use `SymInt` or `int`"),
        (define_with("op(double x) -> Tensor"), "Use `float`"),
        (lambda torch: torch.library.define("op", "(Tensor x) -> Tensor"), "namespace"),
        (
            lambda torch: torch.library.define("lib_define::foo", "foo(Tensor x) -> Tensor"),
            "expected schema to look like",
        ),
    ],
)
def test_define_mistakes(case: Callable[[Any], Any], quoted: str) -> None:
    agree(case, quoted)


def test_define_in_an_impl_library() -> None:
    lib = Library(fresh_namespace(), "IMPL")
    with pytest.raises(RuntimeError, match="Cannot define an operator inside of a library of kind IMPL"):
        lib.define("op(Tensor x) -> Tensor")


def test_a_schema_that_does_not_parse_shows_the_place() -> None:
    lib, _ = library(mindtorch_v2)
    with pytest.raises(RuntimeError) as info:
        lib.define("op(Tensor x, Tensro y) -> Tensor")
    text = str(info.value)
    assert "Tensro" in text
    line, marks = text.splitlines()[1:3]
    assert line[marks.index("^") :].startswith("Tensro")


def test_spacing_of_a_schema_is_free() -> None:
    def case(torch: Any) -> Any:
        lib, ops = library(torch, 'f(Tensor x,Tensor y , *,  str s="a,b->c", int[] d=[1,2])->(Tensor,Tensor)')
        lib.impl("f", lambda x, y, s="", d=(): (x + y, x - y), "CPU")
        return ops.f(torch.ones(1), torch.ones(1))

    agree(case)


def test_spacing_keeps_strings() -> None:
    _lib, ops = library(mindtorch_v2, 'f(Tensor x,str s="a,b->c") -> ()')
    assert ops.f.default._schema.arguments[1].default_value == "a,b->c"


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("short", "int16"),
        ("int", "int32"),
        ("long", "int64"),
        ("half", "float16"),
        ("double", "float64"),
        ("bool", "bool"),
    ],
)
def test_a_default_is_a_dtype_by_whatever_name(name: str, dtype: str) -> None:
    library = Library(fresh_namespace(), "DEF")
    library.define(f"f(ScalarType d={name}) -> ScalarType")
    library.impl("f", lambda d: d, "CompositeExplicitAutograd")
    assert getattr(mindtorch_v2.ops, library.ns).f() is getattr(mindtorch_v2, dtype)


def test_define_with_the_functions() -> None:
    def case(torch: Any) -> Any:
        namespace = fresh_namespace()
        torch.library.define(f"{namespace}::f", "(Tensor x) -> Tensor")
        torch.library.define(f"{namespace}::f.scaled", "(Tensor x, float s) -> Tensor")
        torch.library.impl(f"{namespace}::f", "cpu", lambda x: x * 2)
        torch.library.impl(f"{namespace}::f.scaled", "CPU")(lambda x, s: x * s)
        ops = getattr(torch.ops, namespace)
        return ops.f(torch.ones(2)), ops.f(torch.ones(2), 3.0), ops.f.scaled(torch.ones(2), 4.0)

    agree(case)


def test_define_as_a_decorator_of_a_library() -> None:
    def case(torch: Any) -> Any:
        lib, ops = library(torch)

        @torch.library.define(lib, "f(Tensor x) -> Tensor")
        def f(x: Any) -> Any:
            return x * 2

        return ops.f(torch.ones(2))

    agree(case)


# ---------------------------------------------------------------- impl


def impl_forms(torch: Any, form: str) -> Any:
    lib, ops = library(torch, "f(Tensor x) -> Tensor")
    name = f"{lib.ns}::f"

    def double(x: Any) -> Any:
        return x * 2

    forms: dict[str, Callable[[], Any]] = {
        "method": lambda: lib.impl("f", double, "CPU"),
        "method with an overload": lambda: lib.impl(ops.f.default, double, "CPU"),
        "device": lambda: torch.library.impl(name, "cpu", double),
        "key": lambda: torch.library.impl(name, "CPU", double),
        "devices": lambda: torch.library.impl(name, ("cpu", "cuda"), double),
        "default": lambda: torch.library.impl(name, "default", double),
        "decorator": lambda: torch.library.impl(name, "cpu")(double),
        "library": lambda: torch.library.impl(name, "cpu", double, lib=lib),
        "library decorator": lambda: torch.library.impl(lib, "f", "CPU")(double),
        "library decorator, default key": lambda: (
            torch.library.impl(lib, "f")(double)
            if torch is not mindtorch_v2
            else torch.library.impl(lib, "f", "CompositeImplicitAutograd")(double)
        ),
        "register_kernel": lambda: torch.library.register_kernel(name, "cpu", double),
        "register_kernel decorator": lambda: torch.library.register_kernel(name, "cpu")(double),
        "register_kernel, every device": lambda: torch.library.register_kernel(name, None, double),
        "register_kernel of an overload": lambda: torch.library.register_kernel(ops.f.default, "cpu", double),
        "register_kernel at a key": lambda: torch.library.register_kernel(name, "CPU", double),
        "register_kernel at keys": lambda: torch.library.register_kernel(name, ["Meta", "cpu"], double),
    }
    forms[form]()
    return ops.f(torch.ones(2))


@pytest.mark.parametrize(
    "form",
    [
        "method",
        "method with an overload",
        "device",
        "key",
        "devices",
        "default",
        "decorator",
        "library",
        "library decorator",
        "register_kernel",
        "register_kernel decorator",
        "register_kernel, every device",
        "register_kernel of an overload",
        "register_kernel at a key",
        "register_kernel at keys",
    ],
)
def test_forms_of_impl(form: str) -> None:
    agree(lambda torch: impl_forms(torch, form))


def test_the_librarys_key_is_the_default() -> None:
    def case(torch: Any) -> Any:
        lib, ops = library(torch, "f(Tensor x) -> Tensor")
        kernels = torch.library.Library(lib.ns, "IMPL", "CPU")
        kernels.impl("f", lambda x: x * 3)
        return ops.f(torch.ones(2))

    agree(case)


def test_without_a_key_a_kernel_is_composite() -> None:
    """It differentiates through what it calls."""

    def case(torch: Any) -> Any:
        lib, ops = library(torch, "f(Tensor x) -> Tensor")
        lib.impl("f", lambda x: x * 3)
        x = torch.ones(2, requires_grad=True)
        ops.f(x).sum().backward()
        return x.grad

    agree(case)


@pytest.mark.parametrize(
    ("case", "quoted"),
    [
        (lambda torch: library(torch, ADD)[0].impl("add", 3, "CPU"), "Input function is required to be a callable"),
        (lambda torch: library(torch, ADD)[0].impl("add", add, "CPUX"), "could not parse dispatch key"),
        (lambda torch: library(torch, ADD)[0].impl("other::add", add, "CPU"), "Explicitly provided namespace (other)"),
        (lambda torch: torch.library.impl("add", "cpu", add), "namespace"),
        (lambda torch: torch.library.register_kernel("add", "cpu", add), "namespace"),
        (lambda torch: torch.library.register_kernel(3, "cpu", add), "got unexpected type for op: <class 'int'>"),
        (lambda torch: torch.library.register_kernel("aten::sin", ["cpu", 3], add), "(): "),
        (lambda torch: torch.library.CustomOpDef(3, "sum", "CPU", add), "(): "),
        (lambda torch: torch.library.register_fake(3, add), "got unexpected type for op: <class 'int'>"),
        (lambda torch: torch.library.register_autograd(3, add), "got unexpected type for op: <class 'int'>"),
        (lambda torch: torch.library.register_fake("lib_nothing::f", add), "operator lib_nothing::f does not exist"),
    ],
)
def test_registration_mistakes(case: Callable[[Any], Any], quoted: str) -> None:
    agree(case, quoted)


@pytest.mark.parametrize(
    "register_it",
    [
        lambda torch, name: torch.library.register_kernel(name, "cpu", add),
        lambda torch, name: torch.library.impl(name, "cpu", add),
        lambda torch, name: torch.library.register_autograd(name, add),
        lambda torch, name: torch.library.register_kernel(name, "cpu")(add),
    ],
)
def test_an_undefined_operator_is_an_error_everywhere(register_it: Callable[[Any, str], Any]) -> None:
    """PyTorch registers such kernels in silence."""
    lib, _ = library(mindtorch_v2, ADD)
    with pytest.raises(RuntimeError, match=f"operator {lib.ns}::addd does not exist; did you mean '{lib.ns}::add'?"):
        register_it(mindtorch_v2, f"{lib.ns}::addd")


def test_a_kernel_is_replaced_by_default() -> None:
    def case(torch: Any) -> Any:
        lib, ops = library(torch, "f(Tensor x) -> Tensor")
        lib.impl("f", lambda x: x * 2, "CPU")
        lib.impl("f", lambda x: x * 3, "CPU")
        return ops.f(torch.ones(2))

    agree(case)


def test_a_kernel_is_kept_without_allow_override() -> None:
    def case(torch: Any) -> Any:
        lib, _ = library(torch, "f(Tensor x) -> Tensor")
        lib.impl("f", lambda x: x * 2, "CPU", allow_override=False)
        lib.impl("f", lambda x: x * 3, "CPU", allow_override=False)

    agree(case, "already a kernel registered")


def test_a_scoped_library_restores_the_previous_kernel() -> None:
    def case(torch: Any) -> Any:
        lib, ops = library(torch, "f(Tensor x) -> Tensor")
        lib.impl("f", lambda x: x * 2, "CPU")
        scoped = torch.library.Library(lib.ns, "IMPL")
        scoped.impl("f", lambda x: x * 3, "CPU")
        inside = ops.f(torch.ones(2))
        scoped._destroy()
        return inside, ops.f(torch.ones(2))

    agree(case)


def test_libraries_may_go_in_any_order() -> None:
    lib, ops = library(mindtorch_v2, "f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x * 2, "CPU")
    first, second = Library(lib.ns, "IMPL"), Library(lib.ns, "IMPL")
    first.impl("f", lambda x: x * 3, "CPU")
    second.impl("f", lambda x: x * 4, "CPU")
    first._destroy()
    assert ops.f(mindtorch_v2.ones(1)).tolist() == [4.0]
    second._destroy()
    assert ops.f(mindtorch_v2.ones(1)).tolist() == [2.0]


def test_what_a_library_defined_goes_with_it() -> None:
    """Without the garbage collector: the module that held the library may be loaded again at once."""
    gc.disable()
    try:
        lib, ops = library(mindtorch_v2, "f(Tensor x) -> Tensor", kind="DEF")
        lib.impl("f", lambda x: x * 2, "CPU")
        namespace = lib.ns
        del lib
        with pytest.raises(AttributeError, match="has no attribute 'f'"):
            _ = ops.f
        again = Library(namespace, "DEF")
        again.define("f(Tensor x) -> Tensor")
        assert ops.f.default.kernel_sources() == {}
    finally:
        gc.enable()


MODULE = """
from mindtorch_v2 import library

_lib = library.Library("{namespace}", "FRAGMENT")
_lib.define("f(Tensor x) -> Tensor", source="ops.yaml:1")


@library.register(_lib, "f", "CPU", source="ops.yaml:2")
def _f_cpu(x):
    return x * {factor}


_lib.register_autograd("f", lambda ctx, grad: grad * {factor}, source="ops.yaml:3")
"""


def test_a_module_of_operators_may_be_loaded_again() -> None:
    namespace = fresh_namespace()
    module = ModuleType("operators")
    packet = None
    for factor in (2, 3):
        exec(compile(MODULE.format(namespace=namespace, factor=factor), "operators.py", "exec"), module.__dict__)
        found = getattr(mindtorch_v2.ops, namespace).f
        assert packet in (None, found)
        packet = found
        x = mindtorch_v2.ones(1).requires_grad_()
        y = packet(x)
        y.sum().backward()
        assert (y.tolist(), x.grad.tolist()) == ([factor], [factor])


def test_a_destroyed_library_is_unusable() -> None:
    lib, _ = library(mindtorch_v2)
    lib._destroy()
    with pytest.raises(RuntimeError, match="Library object has been destroyed"):
        lib.define("f(Tensor x) -> Tensor")


# ---------------------------------------------------------------- fake rules


def test_fake_rule() -> None:
    def case(torch: Any) -> Any:
        lib, ops = library(torch, "f(Tensor x, int n) -> Tensor")
        torch.library.register_fake(f"{lib.ns}::f", lambda x, n: torch.empty((n, *x.shape), device=x.device))
        return ops.f(torch.empty(2, 3, device="meta"), 4)

    agree(case)


def register_fake_twice(torch: Any) -> None:
    lib, _ = library(torch, "f(Tensor x) -> Tensor")
    for _ in range(2):
        torch.library.register_fake(f"{lib.ns}::f", lambda x: x, lib=lib, allow_override=False)


def register_fake_over_composite(torch: Any) -> None:
    lib, _ = library(torch, "f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x, "CompositeImplicitAutograd")
    torch.library.register_fake(f"{lib.ns}::f", lambda x: x, lib=lib)


def register_fake_over_meta(torch: Any) -> None:
    lib, _ = library(torch, "f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x, "Meta")
    torch.library.register_fake(f"{lib.ns}::f", lambda x: x, lib=lib, allow_override=False)


@pytest.mark.parametrize(
    ("case", "quoted"),
    [
        (register_fake_twice, "already has a fake impl"),
        (register_fake_over_composite, "CompositeImplicitAutograd"),
        (register_fake_over_meta, "already has a DispatchKey::Meta implementation"),
    ],
)
def test_fake_rule_mistakes(case: Callable[[Any], Any], quoted: str) -> None:
    agree(case, quoted)


def test_a_failed_fake_rule_leaves_nothing_behind() -> None:
    lib, ops = library(mindtorch_v2, "f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x + 1, "CompositeImplicitAutograd")
    before = ops.f.default.kernel_sources()
    with pytest.raises(RuntimeError, match="already has an implementation"):
        mindtorch_v2.library.register_fake(f"{lib.ns}::f", lambda x: x)
    assert ops.f.default.kernel_sources() == before


# ---------------------------------------------------------------- transactions


def registry(namespace: str) -> Any:
    """All that can be seen of a namespace's operators."""
    ops = getattr(mindtorch_v2.ops, namespace)
    return {
        f"{name}.{overload}": (
            str(getattr(packet, overload)._schema),
            getattr(packet, overload).kernel_sources(),
            getattr(packet, overload).backward_function,
        )
        for name, packet in vars(ops).items()
        if isinstance(packet, _core.OpOverloadPacket)
        for overload in packet.overloads()
    }


@pytest.mark.parametrize(
    "fail",
    [
        lambda lib: lib.define(ADD),
        lambda lib: lib.define("g(Tensor x -> Tensor"),
        lambda lib: lib.define("other::g(Tensor x) -> Tensor"),
        lambda lib: lib.define("g(Tensor x) -> Tensor", "WRONG"),
        lambda lib: lib.define("__add__(Tensor x) -> Tensor", variants=("method",)),
        lambda lib: lib.define("g(Tensor x) -> Tensor", variants=("functoin",)),
        lambda lib: lib.impl("add", 3, "CPU"),
        lambda lib: lib.impl("add", add, "NoSuchKey"),
        lambda lib: lib.impl("nothing", add, "CPU"),
        lambda lib: lib.register_fake("add", 3),
        lambda lib: lib.register_autograd("out", add),
        lambda lib: mindtorch_v2.library.impl(f"{lib.ns}::add", ("cpu", "cuda", "nowhere"), add),
        lambda lib: mindtorch_v2.library.impl(f"{lib.ns}::add", ("CPU", "CUDA", "Nowhere"), add),
        lambda lib: mindtorch_v2.library.register_kernel(f"{lib.ns}::add", ("cpu", "nowhere"), add),
        lambda lib: mindtorch_v2.library.register_autograd(f"{lib.ns}::out", add),
    ],
)
def test_a_failed_registration_leaves_the_registry_as_it_was(fail: Callable[[Library], Any]) -> None:
    lib, _ = library(mindtorch_v2, ADD, "out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
    before = registry(lib.ns)
    with pytest.raises((RuntimeError, TypeError, ValueError)):
        fail(lib)
    assert registry(lib.ns) == before


# ---------------------------------------------------------------- where operators appear


def test_names_of_an_operator() -> None:
    def case(torch: Any) -> Any:
        lib, ops = library(torch, "f(Tensor x) -> Tensor", "f.two(Tensor x, Tensor y) -> Tensor")
        names = [
            repr(ops.f),
            str(ops.f),
            repr(ops.f.default),
            str(ops.f.two),
            ops.f.default.name(),
            ops.f.two.name(),
            ops.f.default.namespace,
            ops.f.__name__,
            ops.f._qualified_op_name,
            str(ops.f.two._schema),
        ]
        return [name.replace(lib.ns, "NS") for name in names]

    agree(case)


def test_a_missing_operator_names_a_near_one() -> None:
    lib, ops = library(mindtorch_v2, ADD)
    with pytest.raises(
        AttributeError, match=f"'_OpNamespace' '{lib.ns}' object has no attribute 'ad'; did you mean 'add'"
    ):
        _ = ops.ad


def test_a_misspelt_namespace_names_a_near_one() -> None:
    lib, _ = library(mindtorch_v2, ADD)
    with pytest.raises(AttributeError, match=f"no operators; did you mean '{lib.ns}'"):
        _ = getattr(mindtorch_v2.ops, lib.ns + "x").add


def test_a_missing_overload() -> None:
    def case(torch: Any) -> Any:
        _, ops = library(torch, ADD)
        return ops.add.nope

    agree(case, "has no overload name 'nope'")


def test_variants_of_a_builtin_operator() -> None:
    lib = Library("aten", "FRAGMENT")
    lib.define("mt_variant_probe(Tensor self, float k=2.0) -> Tensor", variants=("function", "method"))
    lib.impl("mt_variant_probe", lambda x, k: x * k, "CPU")
    x = mindtorch_v2.ones(2)
    assert x.mt_variant_probe(3.0).tolist() == [3.0, 3.0]
    assert mindtorch_v2.mt_variant_probe(x).tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    "call",
    [
        lambda x, condition, y: x.where(condition, y),
        lambda x, condition, y: x.where(condition, 5.0),
        lambda x, condition, y: x.where(condition, other=y),
        lambda x, condition, y: x.where(condition=condition, other=y),
    ],
)
def test_a_method_is_called_on_self_wherever_that_stands(call: Callable[..., Any]) -> None:
    def case(torch: Any) -> Any:
        return call(torch.tensor([1.0, 2.0]), torch.tensor([True, False]), torch.tensor([5.0, 6.0]))

    agree(case)


def test_an_operator_of_another_namespace_is_no_top_level_function() -> None:
    library(mindtorch_v2, "mt_hidden_probe(Tensor x) -> Tensor")
    with pytest.raises(AttributeError, match="has no attribute 'mt_hidden_probe'"):
        _ = mindtorch_v2.mt_hidden_probe


def test_a_written_function_stands_before_the_operator() -> None:
    before = mindtorch_v2.is_tensor
    lib = Library("aten", "FRAGMENT")
    lib.define("is_tensor(Tensor x) -> Tensor", variants=("function",))
    assert mindtorch_v2.is_tensor is before


# ---------------------------------------------------------------- where a registration was written


def test_register_notes_where_a_kernel_is_declared() -> None:
    lib, ops = library(mindtorch_v2)
    lib.define(ADD, doc="Adds.", tags=("pointwise",), variants=("function",), source="ops.yaml:3")

    @register(lib, "add", "CPU", source="ops.yaml:9")
    def kernel(x: Any, y: Any, *, alpha: float) -> Any:
        return x + alpha * y

    @register(lib, "add", "Meta", source="ops.yaml:7")
    def fake(x: Any, y: Any, *, alpha: float) -> Any:
        return mindtorch_v2.empty_like(x)

    op = ops.add.default
    assert op(mindtorch_v2.ones(1), mindtorch_v2.ones(1), alpha=2.0).tolist() == [3.0]
    assert op.kernel_sources() == {"CPU": "ops.yaml:9", "Meta": "ops.yaml:7"}
    assert (op.source, op.__doc__, tuple(op.tags)) == ("ops.yaml:3", "Adds.", ("pointwise",))
    assert kernel.__name__ == "kernel"


def test_without_a_source_the_calling_line_is_noted() -> None:
    lib, ops = library(mindtorch_v2, ADD)
    lib.impl("add", add, "CPU")
    source = ops.add.default.kernel_sources()["CPU"]
    assert source.partition(":")[0].endswith("test_library.py")


def test_what_has_no_kernel_of_its_own() -> None:
    agree(lambda t: t.library.get_kernel("aten::sin", "Autograd"), "lias keys")
    agree(lambda t: t.library.get_kernel("aten::sin", "CompositeExplicitAutograd"), "lias keys")


def test_a_batching_rule_is_for_an_operator_at_once() -> None:
    """Not when the decorator gets its function."""
    agree(lambda t: t.library.register_vmap("cpu"), "namespace")
