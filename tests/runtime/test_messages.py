"""Messages that say more than PyTorch's, word for word; and mistakes that PyTorch does not notice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import library
from mindtorch_v2.library import Library
from tests.runtime.both import fresh_namespace


def operator(schema: str, kernel: Callable[..., Any], key: str = "CPU") -> Any:
    lib = Library(fresh_namespace(), "FRAGMENT")
    lib.define(f"op{schema}")
    lib.impl("op", kernel, key)
    op = getattr(torch.ops, lib.ns).op.default
    op.keeps = lib
    return op


def called_by_a_kernel(op: Any, *args: Any) -> Any:
    """The operator inside another one's kernel, where autograd is off."""
    lib = Library(fresh_namespace(), "FRAGMENT")
    lib.define("outer(Tensor x) -> Tensor")
    lib.impl("outer", lambda x: op(x) if op._schema.returns else (op(x), x.clone())[1], "CPU")
    return getattr(torch.ops, lib.ns).outer(*args)


def in_inference_mode(op: Any, *args: Any) -> Any:
    with torch.inference_mode():
        return op(*[a.clone() for a in args])


def in_a_tensors_method(op: Any, x: Any) -> Any:
    """With a gradient to record, which takes another way through the core."""
    return op(x.clone().requires_grad_())


WAYS: tuple[Callable[..., Any], ...] = (
    lambda op, *args: op(*args), called_by_a_kernel, in_inference_mode, in_a_tensors_method,
)  # fmt: skip


def returned(schema: str, kernel: Callable[..., Any], problem: str) -> tuple[str, Callable[..., Any], str]:
    return schema, kernel, "{name}: " + problem + "\n  schema: {schema}"


RESULTS = {
    "an int for a Tensor": returned(
        "(Tensor x) -> Tensor", lambda x: 3,
        "the schema declares that output 0 is a Tensor, but the kernel returned int",
    ),
    "None for a Tensor": returned(
        "(Tensor x) -> Tensor", lambda x: None,
        "the schema declares that output 0 is a Tensor, but the kernel returned NoneType",
    ),
    "a Tensor for two": returned(
        "(Tensor x) -> (Tensor, Tensor)", lambda x: x.clone(),
        "the schema declares 2 returns, but the kernel returned Tensor",
    ),
    "three for two": returned(
        "(Tensor x) -> (Tensor, Tensor)", lambda x: (x.clone(), x.clone(), x.clone()),
        "the schema declares 2 returns, but the kernel returned tuple of length 3",
    ),
    "two for one": returned(
        "(Tensor x) -> Tensor", lambda x: (x.clone(), x.clone()),
        "the schema declares that output 0 is a Tensor, but the kernel returned tuple",
    ),
    "an int among Tensors": returned(
        "(Tensor x) -> (Tensor, Tensor)", lambda x: (x.clone(), 3),
        "the schema declares that output 1 is a Tensor, but the kernel returned int",
    ),
    "a Tensor for nothing": returned(
        "(Tensor x) -> ()", lambda x: x.clone(), "the schema declares no return, but the kernel returned Tensor"
    ),
    "a Tensor for a list": returned(
        "(Tensor x) -> Tensor[]", lambda x: x.clone(),
        "the schema declares that output 0 is a list of tensors, but the kernel returned Tensor",
    ),
    "an int in a list": returned(
        "(Tensor x) -> Tensor[]", lambda x: [x.clone(), 3],
        "output 0 must be a list of tensors, but it holds int",
    ),
    "an undeclared change": returned(
        "(Tensor x) -> Tensor", lambda x: x.detach().add_(1).clone(),
        "the kernel changed argument 'x' in place, but the schema does not declare it. Declare it (`Tensor(a!) x`), or "
        "change a copy.",
    ),
    "an argument returned": returned(
        "(Tensor x) -> Tensor", lambda x: x.detach(),
        "output 0 shares memory with argument 'x', but the schema does not declare it. The output of an operator may "
        "not alias its inputs: return a copy (`.clone()`), or declare the alias in the schema (`Tensor(a)` for a view, "
        "`Tensor(a!)` for a mutated argument).",
    ),
    "the same output twice": returned(
        "(Tensor x) -> (Tensor, Tensor)", lambda x: (x.clone(),) * 2,
        "two outputs share memory. An output of an operator may not alias another: return a copy (`.clone()`).",
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS, ids=["called", "in a kernel", "in inference mode", "recorded"])
@pytest.mark.parametrize("mistake", RESULTS)
def test_what_a_kernel_returns_or_does(mistake: str, way: Callable[..., Any]) -> None:
    schema, kernel, message = RESULTS[mistake]
    op = operator(schema, kernel)
    op.refuses_aliases = True  # as a `custom_op`; others where the call is recorded
    with pytest.raises(RuntimeError) as info:
        way(op, torch.ones(2))
    assert str(info.value) == message.format(name=op.name(), schema=op._schema)


@pytest.mark.parametrize("key", ["CompositeImplicitAutograd", "Autograd", "AutogradCPU"])
def test_kernels_above_the_backend_return_what_the_schema_says(key: str) -> None:
    op = operator("(Tensor x) -> Tensor", lambda x: None, key)
    for x in (torch.ones(1), torch.ones(1, requires_grad=True)):
        with pytest.raises(RuntimeError, match="output 0 is a Tensor, but the kernel returned NoneType"):
            op(x)


NO_NAMESPACE: dict[str, Callable[[], Any]] = {
    "define": lambda: library.define("name", "(Tensor x) -> Tensor"),
    "custom_op": lambda: library.custom_op("name", lambda x: x, mutates_args=(), schema="(Tensor x) -> Tensor"),
    "impl": lambda: library.impl("name", "cpu", lambda x: x),
    "register_kernel": lambda: library.register_kernel("name", "cpu", lambda x: x),
    "register_fake": lambda: library.register_fake("name", lambda x: x),
    "register_autograd": lambda: library.register_autograd("name", lambda ctx, grad: grad),
    "register_autocast": lambda: library.register_autocast("name", "cpu", torch.float16),
    "register_vmap": lambda: library.register_vmap("name", lambda *args: args),
}


@pytest.mark.parametrize("function", NO_NAMESPACE)
def test_no_namespace(function: str) -> None:
    with pytest.raises(ValueError, match="Expected `qualname` to be of the form") as info:
        NO_NAMESPACE[function]()
    assert str(info.value) == (
        'Expected `qualname` to be of the form "namespace::name", but got name. The qualname passed to the '
        "torch.library APIs must consist of a namespace and a name, e.g. aten::sin"
    )


@pytest.mark.parametrize("function", sorted(NO_NAMESPACE.keys() - {"define", "custom_op"} | {"get_kernel"}))
def test_an_undefined_operator(function: str) -> None:
    """`register_kernel` of PyTorch keeps a kernel for what does not exist."""
    namespace = fresh_namespace()
    lib = Library(namespace, "FRAGMENT")
    lib.define("scaled_add(Tensor x) -> Tensor")
    calls: dict[str, Callable[[str], Any]] = {
        "impl": lambda name: library.impl(name, "cpu", lambda x: x),
        "register_kernel": lambda name: library.register_kernel(name, "cpu", lambda x: x),
        "register_fake": lambda name: library.register_fake(name, lambda x: x),
        "register_autograd": lambda name: library.register_autograd(name, lambda ctx, grad: grad),
        "register_autocast": lambda name: library.register_autocast(name, "cpu", torch.float16),
        "register_vmap": lambda name: library.register_vmap(name, lambda *args: args),
        "get_kernel": lambda name: library.get_kernel(name, "CPU"),
    }
    with pytest.raises(RuntimeError) as info:
        calls[function](f"{namespace}::scaled_ad")
    assert str(info.value) == (
        f"operator {namespace}::scaled_ad does not exist; did you mean '{namespace}::scaled_add'?"
    )


CALLS: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "an unknown keyword": (
        lambda op, x: op(x, sclae=2.0), "got an unexpected keyword argument 'sclae'; did you mean 'scale'?"),
    "a keyword unlike any": (lambda op, x: op(x, zzz=2.0), "got an unexpected keyword argument 'zzz'"),
    "a keyword twice": (lambda op, x: op(x, 1.0, scale=2.0), "got multiple values for argument 'scale'"),
    "too many": (lambda op, x: op(x, 1.0, 2.0, 3.0), "takes 2 positional arguments but 4 were given"),
    "none": (lambda op, x: op(), "missing 1 required argument: 'x'"),
    "a string for a number": (
        lambda op, x: op(x, "2"), "argument 'scale' (position 2) must be float, not str"),
    "a string for a keyword-only flag": (
        lambda op, x: op(x, flag="yes"), "argument 'flag' (keyword-only) must be bool, not str"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", CALLS)
def test_calls_that_do_not_fit(mistake: str) -> None:
    call, message = CALLS[mistake]
    op = operator("(Tensor x, float scale=1.0, *, bool flag=False) -> Tensor", lambda x, scale, *, flag: x.clone())
    with pytest.raises(TypeError) as info:
        call(op, torch.ones(1))
    assert str(info.value) == f"{op.name()}() {message}\n  schema: {op._schema}".replace("() arg", "(): arg")


def test_a_missing_kernel() -> None:
    op = operator("(Tensor x) -> Tensor", lambda x: x, "CUDA")
    op.keeps.register_autograd("op", lambda ctx, grad: grad)
    with pytest.raises(NotImplementedError) as info:
        op(torch.ones(1))
    assert str(info.value) == (
        f"Could not run '{op.name()}' with arguments from the 'CPU' backend: op does not have a kernel "
        "registered for cpu; it has kernels for CUDA. Register one with "
        f'`library.impl("{op.name()}", "CPU")`.'
    )


def test_a_missing_fake_rule() -> None:
    op = operator("(Tensor x) -> Tensor", lambda x: x)
    with pytest.raises(NotImplementedError) as info:
        op(torch.ones(1, device="meta"))
    assert str(info.value) == (
        f"Could not run '{op.name()}' with arguments from the 'Meta' backend: op does not have a kernel "
        f'registered for meta; it has kernels for CPU. Register one with `library.impl("{op.name()}", "Meta")`, or a '
        "fake rule with `register_fake`."
    )


def test_a_context_is_there_inside_of_a_fake_rule_alone() -> None:
    seen: list[object] = []
    op = operator("(Tensor x) -> Tensor", lambda x: (seen.append(library.get_ctx()), x.clone())[1])
    op.keeps.register_fake("op", lambda x: (seen.append(library.get_ctx()), torch.empty_like(x))[1])
    op(torch.ones(1))
    op(torch.ones(1, device="meta"))
    assert [type(ctx).__name__ for ctx in (*seen, library.get_ctx())] == ["NoneType", "FakeImplCtx", "NoneType"]


def test_no_gradient() -> None:
    op = operator("(Tensor x) -> Tensor", lambda x: x * 2)
    with pytest.raises(RuntimeError) as info:
        op(torch.ones(1, requires_grad=True)).sum().backward()
    assert str(info.value) == (
        f"derivative for {op.name()} is not implemented: Trying to backward through {op.name()} but no autograd "
        f'formula was registered. Register one with `library.register_autograd("{op.name()}", ...)`, or give the '
        "operator a `backward` in its YAML entry."
    )
