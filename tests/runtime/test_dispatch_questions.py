"""Questions about modes, dictionaries with weak keys, references to storages: small tools, beside PyTorch's."""

from __future__ import annotations

import gc
import importlib
from typing import Any

import pytest

from tests.runtime.both import agree


def tool(t: Any, name: str) -> Any:
    return importlib.import_module(f"{t.__name__}.{name}")


def test_weak_dictionaries_let_keys_go_and_tell_tensors_apart() -> None:
    def case(t: Any) -> Any:
        weak = tool(t, "utils.weak")
        a, b = t.ones(2), t.ones(2)
        found = weak.WeakTensorKeyDictionary({a: 1})
        found[b] = 2
        both = sorted((found | {}).values()), a in found, t.ones(2) in found, 3 in found, len(found)
        del a
        gc.collect()
        reference = weak.WeakIdRef(b)
        same = reference == weak.WeakIdRef(b), hash(reference) == id(b), reference() is b
        del found[b]
        return both, same, list(found), weak.TensorWeakRef(b)() is b

    agree(case)


def test_the_stack_of_modes_is_told() -> None:
    def case(t: Any) -> Any:
        dispatch, modes = tool(t, "utils._python_dispatch"), tool(t, "utils._mode_utils")

        class Infra(dispatch.BaseTorchDispatchMode):
            @classmethod
            def is_infra_mode(cls) -> bool:
                return True

        plain = dispatch.BaseTorchDispatchMode()
        before = dispatch.is_in_torch_dispatch_mode(), dispatch._get_current_dispatch_mode()
        with Infra() as outer:
            only = dispatch.is_in_torch_dispatch_mode(), dispatch.is_in_torch_dispatch_mode(include_infra_modes=False)
            with plain:
                current = dispatch._get_current_dispatch_mode() is plain
                stack = [
                    one is mode
                    for one, mode in zip(dispatch._get_current_dispatch_mode_stack(), (outer, plain), strict=True)
                ]
                with dispatch._disable_current_modes():
                    inside = dispatch._len_torch_dispatch_stack()
        return (
            before,
            only,
            current,
            stack,
            inside,
            modes.all_same_mode([plain, plain]),
            modes.all_same_mode([plain, 1]),
        )

    agree(case)


def test_storages_are_told_apart_by_weak_references() -> None:
    def case(t: Any) -> Any:
        reference = tool(t, "multiprocessing.reductions").StorageWeakRef
        x = t.ones(4)
        of_x, of_view = reference(x.untyped_storage()), reference(x[1:].untyped_storage())
        found = of_x == of_view, hash(of_x) == hash(of_view), of_x == reference(t.ones(4).untyped_storage())
        expired = of_x.expired()
        del x
        gc.collect()
        return found, expired, of_x.expired()

    agree(case)


def wrapper(t: Any) -> Any:
    dispatch, tree = tool(t, "utils._python_dispatch"), tool(t, "utils._pytree")

    class Wrapper(t.Tensor):  # type: ignore[misc,name-defined]
        def __new__(cls, inner: Any) -> Any:
            made = t.Tensor._make_wrapper_subclass(
                cls, inner.size(), inner.stride(), storage_offset=inner.storage_offset(), dtype=inner.dtype
            )
            made.inner = inner
            return made

        def __tensor_flatten__(self) -> Any:
            return ["inner"], None

        @classmethod
        def __tensor_unflatten__(cls, inner: Any, context: Any, size: Any, stride: Any) -> Any:
            return cls(inner["inner"])

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            given = tree.tree_map(lambda v: v.inner if isinstance(v, cls) else v, (args, kwargs))
            out = tree.tree_map(lambda v: cls(v) if isinstance(v, t.Tensor) else v, func(*given[0], **given[1]))
            return dispatch.return_and_correct_aliasing(func, args, kwargs, out)

    return Wrapper


@pytest.mark.parametrize("call", [lambda x: x[1:], lambda x: x.mul_(2), lambda x: x * 2, lambda x: x.unbind()[0]])
def test_wrappers_alias_as_what_they_wrap(call: Any) -> None:
    def case(t: Any) -> Any:
        reference = tool(t, "multiprocessing.reductions").StorageWeakRef
        x = wrapper(t)(t.arange(4.0)[1:])
        y = call(x)
        shares = reference(x.untyped_storage()) == reference(y.untyped_storage())
        return y is x, shares, y.inner, x.storage_offset()

    agree(case)


def test_a_wrapper_is_transformed() -> None:
    def case(t: Any) -> Any:
        dispatch = tool(t, "utils._python_dispatch")
        x = wrapper(t)(t.ones(2))
        made = dispatch.transform_subclass(x, lambda name, inner: inner + len(name))
        kinds = [dispatch.is_traceable_wrapper_subclass_type(kind) for kind in (type(x), t.Tensor)]
        return made.inner, kinds

    agree(case)


def test_questions_about_schemas() -> None:
    def case(t: Any) -> Any:
        utils, infer = tool(t, "_library.utils"), tool(t, "_library.infer_schema")
        add = utils.lookup_op("aten::add.Tensor")
        functional = [utils.is_functional_schema(op._schema) for op in (add, t.ops.aten.add_.Tensor)]
        lists = [utils.is_tensorlist_like_type(a.type) for a in t.ops.aten.stack.default._schema.arguments]
        kinds = [str(infer.tuple_to_list(kind)) for kind in (tuple[int, int], tuple[int, ...])]
        return functional, lists, utils.has_kwarg_only_args(add._schema), utils.parse_namespace("a::b"), len(kinds)

    agree(case)
    agree(lambda t: tool(t, "_library.utils").parse_namespace("a"), "namespace::name")


def test_settings_of_sparse_tensors_are_kept() -> None:
    def case(t: Any) -> Any:
        check = t.sparse.check_sparse_tensor_invariants
        seen = [check.is_enabled()]
        with check():
            seen.append(check.is_enabled())
        check.enable()
        seen.append(check(False)(check.is_enabled)())
        check.disable()
        return [*seen, check.is_enabled(), str(t.sparse_bsr), str(t.jagged)]

    agree(case)
