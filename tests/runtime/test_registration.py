"""Fallbacks, kernels with key sets, `get_kernel`, autocast and batching rules, key guards: beside PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2
from tests.runtime.both import agree, fresh_namespace


def operator(torch: Any, schema: str = "(Tensor x) -> Tensor", **kernels: Callable[..., Any]) -> tuple[Any, Any]:
    """The default overload of an operator with these kernels, and the library that keeps it."""
    lib = torch.library.Library(fresh_namespace(), "FRAGMENT")
    name = lib.define(f"op{schema}")
    for key, kernel in kernels.items():
        lib.impl(name, kernel, key)
    return getattr(torch.ops, lib.ns).op.default, lib


def custom(torch: Any, **options: Any) -> Any:
    """A custom operator ``f(x) = x + 1``."""

    def f(x):  # type: ignore[no-untyped-def]
        return x + 1

    f.__annotations__ = {"x": torch.Tensor, "return": torch.Tensor}
    return torch.library.custom_op(f"{fresh_namespace()}::f", f, mutates_args=(), **options)


# ---------------------------------------------------------------- key sets and redispatch


def redispatch(torch: Any) -> Any:
    calls = []
    op, lib = operator(torch, CPU=lambda x: x * 2)

    def above(keys: Any, x: Any) -> Any:
        calls.append((keys.has(torch._C.DispatchKey.CPU), keys.has(torch._C.DispatchKey.CUDA)))
        return op.redispatch(keys & torch._C._after_autograd_keyset, x) + 1

    lib.impl("op", above, "Autograd", with_keyset=True)
    return op(torch.ones(2)), calls


def guard_below_autograd(torch: Any) -> Any:
    op, lib = operator(torch, CPU=lambda x: x * 2)

    def above(x: Any) -> Any:
        with torch._C._AutoDispatchBelowAutograd():
            return op(x) + 1

    lib.impl("op", above, "Autograd")
    return op(torch.ones(2))


def exclude_guard(torch: Any) -> Any:
    op, lib = operator(torch, CPU=lambda x: x * 2)
    lib.impl("op", lambda x: x * 100, "Autograd")
    with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(torch._C.DispatchKey.AutogradCPU)):
        inside = op(torch.ones(2))
    return inside, op(torch.ones(2))


def key_sets(torch: Any) -> Any:
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU) | torch._C.DispatchKeySet(torch._C.DispatchKey.Meta)
    cpu = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
    return str(cpu), keys.has(torch._C.DispatchKey.Meta), cpu.has(torch._C.DispatchKey.Meta), keys == cpu


def keys_of_a_tensor(torch: Any) -> Any:
    return torch._C._dispatch_key_set(torch.ones(1))


# ---------------------------------------------------------------- get_kernel


def conditional_kernel(torch: Any) -> Any:
    op, lib = operator(torch, CPU=lambda x: x * 2)
    original = torch.library.get_kernel(op, "CPU")
    other = torch.library.Library(lib.ns, "FRAGMENT")

    def kernel(keys: Any, x: Any) -> Any:
        return original.call_boxed(keys, x) if x.sum().item() > 0 else x - 1

    other.impl("op", kernel, "CPU", with_keyset=True)
    return op(torch.ones(2)), op(-torch.ones(2))


def kernel_of_nothing(torch: Any) -> Any:
    op, _lib = operator(torch, CPU=lambda x: x * 2)
    return torch.library.get_kernel(op, "CUDA")


def kernel_of_a_bad_key(torch: Any) -> Any:
    return torch.library.get_kernel("aten::sin", "NoKey")


def invalidated(torch: Any) -> Any:
    op, lib = operator(torch)
    other = torch.library.Library(lib.ns, "IMPL")
    other.impl("op", lambda x: x, "CPU")
    kernel = torch.library.get_kernel(op, "CPU")
    other._destroy()
    return kernel.call_boxed(torch._C.DispatchKeySet(torch._C.DispatchKey.CPU), torch.ones(1))


# ---------------------------------------------------------------- custom_op


def disabled_kernel(torch: Any) -> Any:
    f = custom(torch)
    f.register_kernel("cpu", lambda x: x + 10)
    before = f(torch.zeros(1))
    with f.set_kernel_enabled("cpu", enabled=False):
        inside = f(torch.zeros(1))
    return before, inside, f(torch.zeros(1))


def registered_while_disabled(torch: Any) -> Any:
    f = custom(torch)
    f.register_kernel("cpu", lambda x: x + 10)
    with f.set_kernel_enabled("cpu", enabled=False):
        f.register_kernel("cpu", lambda x: x + 20)
        inside = f(torch.zeros(1))
    return inside, f(torch.zeros(1))


def tags(torch: Any) -> Any:
    f = custom(torch, tags=(torch.Tag.pointwise,))
    return type(f._opoverload.tags).__name__, sorted(
        str(t).removeprefix("Tag.") for t in [t.name for t in f._opoverload.tags]
    )


def autocast_rule(torch: Any) -> Any:
    f = custom(torch)
    f.register_autocast("cpu", torch.bfloat16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = f(torch.ones(2)), f(torch.ones(2, dtype=torch.float64))
    return inside, f(torch.ones(2))


def autocast_rule_by_name(torch: Any) -> Any:
    op, lib = operator(torch, "(Tensor x, Tensor[] ys) -> Tensor", CPU=lambda x, ys: x + ys[0])
    torch.library.register_autocast(op.name(), "cpu", torch.float16, lib=lib)
    with torch.autocast("cpu"):
        return op(torch.ones(2), [torch.ones(2)])


def batching_rule(torch: Any) -> Any:
    f = custom(torch)
    seen = []

    @f.register_vmap
    def _(info: Any, in_dims: Any, x: Any) -> Any:
        seen.append((info.batch_size, info.randomness, tuple(in_dims), tuple(x.shape)))
        return x * 3, in_dims[0]

    return torch.vmap(f, in_dims=1)(torch.ones(2, 3)), seen


def by_loop(torch: Any) -> Any:
    f = custom(torch)
    return torch.vmap(f)(torch.ones(2, 3)), torch.vmap(torch.vmap(f))(torch.ones(2, 3, 4))


AGREE = (
    redispatch, guard_below_autograd, exclude_guard, key_sets, keys_of_a_tensor, conditional_kernel, disabled_kernel,
    registered_while_disabled, tags, autocast_rule, autocast_rule_by_name, batching_rule, by_loop,
)  # fmt: skip


@pytest.mark.parametrize("case", AGREE, ids=lambda case: case.__name__)
def test_registration(case: Callable[[Any], Any]) -> None:
    agree(case)


def vmap_keyword_only(torch: Any) -> Any:
    op, lib = operator(torch, "(Tensor x, *, Tensor y) -> Tensor", CPU=lambda x, *, y: x + y)
    torch.library.register_vmap(op.name(), lambda info, in_dims, x: (x, 0), lib=lib)


def autocast_unknown_device(torch: Any) -> Any:
    op, lib = operator(torch, CPU=lambda x: x)
    torch.library.register_autocast(op.name(), "xyz", torch.float16, lib=lib)


def fallback_in_a_namespace(torch: Any) -> Any:
    lib = torch.library.Library(fresh_namespace(), "FRAGMENT")
    lib.fallback(lambda op, *args: args[0], "CPU")


@pytest.mark.parametrize(
    ("case", "quoted"),
    [
        (kernel_of_nothing, "no kernel for CUDA"),
        (kernel_of_a_bad_key, "Invalid dispatch key: NoKey"),
        (lambda torch: torch.library.get_kernel("nope::nope", "CPU"), "operator nope::nope does not exist"),
        (lambda torch: torch.library.get_kernel(3, "CPU"), "got unexpected type for op"),
        (invalidated, "has been invalidated"),
        (vmap_keyword_only, "kwarg-only Tensor args"),
        (autocast_unknown_device, "device type at start of device string: xyz"),
        (fallback_in_a_namespace, 'Fallback can only be registered using library fragment on the global namespace "_"'),
    ],
)
def test_mistakes(case: Callable[[Any], Any], quoted: str) -> None:
    agree(case, quoted)


# ---------------------------------------------------------------- ours alone (PyTorch's registrations outlive a test)


def test_a_fallback_runs_for_every_operator_without_a_kernel() -> None:
    op, _lib = operator(mindtorch_v2, CPU=lambda x: x * 2)
    everywhere = mindtorch_v2.library.Library("_", "IMPL")
    seen = []

    def fallback(keys: Any, called: Any, *args: Any, **kwargs: Any) -> Any:
        seen.append(called.name())
        return called.redispatch(keys.remove("Tracing"), *args, **kwargs)

    everywhere.fallback(fallback, "Tracing", with_keyset=True)
    tracing = mindtorch_v2._C.DispatchKeySet("Tracing")
    with mindtorch_v2._C._IncludeDispatchKeyGuard(tracing):
        assert op(mindtorch_v2.ones(1)).tolist() == [2.0]
    assert op.name() in seen
    everywhere._destroy()
    seen.clear()
    with mindtorch_v2._C._IncludeDispatchKeyGuard(tracing):
        assert op(mindtorch_v2.ones(1)).tolist() == [2.0]
    assert not seen


def test_a_fallthrough_leaves_the_call_to_the_next_key() -> None:
    op, lib = operator(mindtorch_v2, CPU=lambda x: x * 2)
    lib.impl("op", lambda x: x * 100, "AutogradCPU")
    lib.impl("op", mindtorch_v2.library.fallthrough_kernel, "AutogradCPU")
    assert op(mindtorch_v2.ones(1)).tolist() == [2.0]


def test_there_is_no_context_outside_of_a_fake_rule() -> None:
    agree(lambda torch: torch.library.get_ctx())


def test_dynamic_sizes_on_meta() -> None:
    """PyTorch has no dynamic sizes on meta tensors either."""

    def case(torch: Any) -> Any:
        f = custom(torch)
        f.register_fake(lambda x: x.new_empty([torch.library.get_ctx().new_dynamic_size()]))
        return f(torch.ones(2, device="meta"))

    agree(case, "data-dependent shape")


def test_a_negative_size() -> None:
    op, lib = operator(mindtorch_v2, CPU=lambda x: x)
    lib.register_fake("op", lambda x: x.new_empty([mindtorch_v2.library.get_ctx().new_dynamic_size(min=-1)]))
    with pytest.raises(ValueError, match="greater than or equal to 0"):
        op(mindtorch_v2.ones(1, device="meta"))


def test_switching_a_kernel_twice_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    f = custom(mindtorch_v2)
    f.register_kernel("cpu", lambda x: x + 10)
    with f.set_kernel_enabled("cpu", enabled=False), f.set_kernel_enabled("cpu", enabled=False):
        assert "already disabled" in caplog.text
    with f.set_kernel_enabled("cpu"):
        assert "already enabled" in caplog.text


def test_a_failed_autocast_rule_leaves_the_registry_as_it_was() -> None:
    op, lib = operator(mindtorch_v2, CPU=lambda x: x)
    before = mindtorch_v2._C._dispatch_dump(op.name())
    with pytest.raises(ValueError, match="does not support autocast"):
        mindtorch_v2.library.register_autocast(op.name(), "meta", mindtorch_v2.float16, lib=lib)
    assert mindtorch_v2._C._dispatch_dump(op.name()) == before


# ---------------------------------------------------------------- tools


def test_dump_names_each_registrations_line() -> None:
    op, _lib = operator(mindtorch_v2, CPU=lambda x: x)
    dump = mindtorch_v2._C._dispatch_dump(op.name())
    assert f"name: {op.name()}" in dump
    assert f"schema: {op._schema}" in dump
    assert f"CPU: registered at {__file__}" in dump


def test_dump_table_tells_kinds_of_kernels() -> None:
    op, lib = operator(mindtorch_v2, CPU=lambda x: x, CompositeExplicitAutograd=lambda x: x)
    lib.impl("op", mindtorch_v2.library.fallthrough_kernel, "AutogradCPU")
    lines = mindtorch_v2._C._dispatch_dump_table(op.name()).splitlines()
    by_key = {line.partition(":")[0]: line for line in lines}
    assert by_key["CPU"].endswith("[kernel]")
    assert by_key["NPU"].endswith("[default backend kernel]")
    assert "fallthrough registered at" in by_key["AutogradCPU"]


def test_which_kernels_there_are() -> None:
    def case(torch: Any) -> Any:
        op, _lib = operator(torch, CPU=lambda x: x, CompositeExplicitAutograd=lambda x: x)
        name, c = op.name(), torch._C
        return (
            c._dispatch_has_kernel_for_dispatch_key(name, "CPU"),
            c._dispatch_has_kernel_for_dispatch_key(name, "CUDA"),
            c._dispatch_has_computed_kernel_for_dispatch_key(name, "CUDA"),
            c._dispatch_has_kernel(name),
        )

    agree(case)


def test_the_trace_nests(child_env: dict[str, str]) -> None:
    import subprocess
    import sys

    code = "import mindtorch_v2 as t; t.nn.functional.linear(t.ones(1, 2), t.ones(3, 2))"
    env = {**child_env, "MINDTORCH_SHOW_DISPATCH_TRACE": "1"}
    trace = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stderr
    lines = trace.splitlines()
    assert any(line.startswith("[call] op=[aten::linear], key=[Autograd") for line in lines)
    assert any(line.startswith(" [") for line in lines)
    assert any("[redispatch]" in line and "key=[CPU]" in line for line in lines)


# ---------------------------------------------------------------- names that somebody deleted
@pytest.mark.parametrize("what", ["namespace", "packet"])
def test_what_was_deleted_from_torch_ops_is_found_again(what: str) -> None:
    def case(torch: Any) -> Any:
        name = fresh_namespace()
        library = torch.library.Library(name, "DEF")
        library.define("f(Tensor x) -> Tensor")
        library.impl("f", lambda x: x + 1, "CPU")
        getattr(torch.ops, name).f(torch.ones(1))
        delattr(*((torch.ops, name) if what == "namespace" else (getattr(torch.ops, name), "f")))
        again = getattr(torch.ops, name).f(torch.ones(1))
        delattr(*((torch.ops, name) if what == "namespace" else (getattr(torch.ops, name), "f")))
        library._destroy()
        gone = hasattr(getattr(torch.ops, name), "f")
        library = torch.library.Library(name, "DEF")
        library.define("f(Tensor x) -> Tensor")
        library.impl("f", lambda x: x + 2, "CPU")
        return again, gone, getattr(torch.ops, name).f(torch.ones(1))

    agree(case)


def test_a_library_is_destroyed_after_an_overload_was_deleted() -> None:
    name = fresh_namespace()
    library = mindtorch_v2.library.Library(name, "DEF")
    library.define("f.a(Tensor x) -> Tensor")
    del getattr(mindtorch_v2.ops, name).f.a
    library._destroy()
    assert not hasattr(getattr(mindtorch_v2.ops, name), "f")
