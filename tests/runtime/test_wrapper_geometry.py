"""What a wrapper's class answers for itself, and what classes and modes see of calls: beside PyTorch."""

from __future__ import annotations

import copy
import importlib
import io
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from tests.runtime.both import agree


def answering(torch: Any, answers: dict[str, Any], **policy: Any) -> Any:
    """A wrapper of shape (4, 2) whose class answers the operators named, and declines all others."""

    class Wrapper(torch.Tensor):  # type: ignore[misc]
        @staticmethod
        def __new__(cls: Any) -> Any:
            return torch.Tensor._make_wrapper_subclass(cls, (4, 2), dtype=torch.float32, **policy)

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return answers.get(func.overloadpacket.__name__, NotImplemented)

    return Wrapper()


QUESTIONS: dict[str, tuple[dict[str, Any], dict[str, Any], Callable[[Any], Any]]] = {
    "size": ({"dispatch_sizes_strides_policy": "sizes"}, {"sym_size": (5, 3)}, lambda x: (x.size(), x.shape)),
    "size as made": ({"dispatch_sizes_strides_policy": "sizes"}, {"sym_size": None}, lambda x: x.size()),
    "dim": ({"dispatch_sizes_strides_policy": "sizes"}, {"dim": 3}, lambda x: x.dim()),
    "numel": ({"dispatch_sizes_strides_policy": "sizes"}, {"numel": 7, "sym_numel": 7}, lambda x: x.numel()),
    "stride": ({"dispatch_sizes_strides_policy": "strides"}, {"sym_stride": (4, 2)}, lambda x: x.stride()),
    "stride as made": ({"dispatch_sizes_strides_policy": "strides"}, {"sym_stride": None}, lambda x: x.stride()),
    "is_contiguous": (
        {"dispatch_sizes_strides_policy": "strides"},
        {"is_contiguous": False},
        lambda x: x.is_contiguous(),
    ),
    "contiguous": (
        {"dispatch_sizes_strides_policy": "strides"},
        {"is_contiguous": True},
        lambda x: x.contiguous() is x,
    ),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_class_answers(name: str) -> None:
    policy, answers, question = QUESTIONS[name]
    agree(lambda torch: question(answering(torch, answers, **policy)))


@pytest.mark.parametrize(
    ("policy", "question", "operator"),
    [
        ({"dispatch_sizes_strides_policy": "sizes"}, lambda x: x.size(), "sym_size"),
        ({"dispatch_sizes_strides_policy": "sizes"}, lambda x: x.dim(), "dim"),
        ({"dispatch_sizes_strides_policy": "strides"}, lambda x: x.stride(), "sym_stride"),
        ({"dispatch_sizes_strides_policy": "strides"}, lambda x: x.contiguous(), "is_contiguous"),
        ({"dispatch_layout": True}, lambda x: x.layout, "layout"),
        ({"dispatch_device": True}, lambda x: x.device, "device"),
    ],
)
def test_a_class_that_declines(policy: Any, question: Any, operator: str) -> None:
    namespace = "prim" if operator in ("layout", "device") else "aten"
    agree(
        lambda torch: question(answering(torch, {}, **policy)),
        f"Multiple dispatch failed for 'torch.ops.{namespace}.{operator}'",
    )


def test_a_device_that_is_answered() -> None:
    agree(lambda torch: answering(torch, {"device": torch.device("meta")}, dispatch_device=True).device.type)


def of_pair(torch: Any) -> Any:
    """A wrapper that calls the operator on what it wraps, with slots, and notes what it was called with."""

    class Wrapper(torch.Tensor):  # type: ignore[misc]
        __slots__ = ("elem",)
        calls: ClassVar[list[str]] = []

        @staticmethod
        def __new__(cls: Any, elem: Any, requires_grad: bool = False) -> Any:
            made = torch.Tensor._make_wrapper_subclass(
                cls, elem.size(), dtype=elem.dtype, device=elem.device, requires_grad=requires_grad
            )
            made.elem = elem
            return made

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            def inner(value: Any) -> Any:
                return value.elem if isinstance(value, Wrapper) else value

            cls.calls.append(str(func))
            result = func(*map(inner, args), **{name: inner(value) for name, value in (kwargs or {}).items()})
            return cls(result) if isinstance(result, torch.Tensor) else result

    return Wrapper


def versions(torch: Any) -> Any:
    x = of_pair(torch)(torch.ones(2))
    before = x._version
    x.detach().add_(2)
    after = x._version
    x.data.add_(2)
    return after - before, x._version - after


def copied(torch: Any) -> Any:
    x = of_pair(torch)(torch.arange(3))
    y = copy.deepcopy(x)
    return type(y) is type(x), y.elem, y.elem is x.elem


def numbers(torch: Any) -> Any:
    kind = of_pair(torch)
    x = kind(torch.ones(2))
    x + 1, x - 1, x * 2, x / 2, x == 2, 2 - x, torch.addmv(x, kind(torch.ones(2, 2)), x)
    return kind.calls


def order_of_gradients(torch: Any) -> Any:
    kind = of_pair(torch)
    x, y = kind(torch.ones(2), True), kind(torch.ones(2, 3), True)
    torch.autograd.grad(torch.addmv(x, y.sin(), kind(torch.ones(3))), (x, y), kind(torch.ones(2)))
    return [name for name in kind.calls if "detach" not in name]


@pytest.mark.parametrize("case", [versions, copied, numbers], ids=lambda case: case.__name__)
def test_wrappers(case: Any) -> None:
    agree(case)


@pytest.mark.parametrize("name", ["tolist", "numpy"])
def test_values_of_a_wrapper(name: str) -> None:
    agree(lambda torch: getattr(of_pair(torch)(torch.ones(2)), name)(), "is not supported for tensor subclasses")


def test_orders_of_strides() -> None:
    def case(torch: Any) -> Any:
        x = torch.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
        last = x.contiguous(memory_format=torch.channels_last)
        tensors = (x, last, last[:, :2], last[..., ::2], x[:1, :1], x[:, :, :1, :1], x.expand(2, 3, 4, 5), x[0], x[:0])
        like, dense = torch.ops.aten.is_strides_like_format.default, torch.ops.aten.is_non_overlapping_and_dense.default
        return [(like(t, torch.channels_last), dense(t)) for t in (*tensors, *[t.transpose(1, 2) for t in tensors])]

    agree(case)


def test_memory_of_a_wrapper() -> None:
    agree(lambda torch: of_pair(torch)(torch.ones(2)).untyped_storage().data_ptr(), "")


def test_none_for_a_tensor() -> None:
    def case(torch: Any) -> Any:
        class Silent(torch.Tensor):  # type: ignore[misc]
            @classmethod
            def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                return None

        x = Silent(torch.ones(2))
        return x + 1, x.neg(), torch.sin(x.requires_grad_())

    agree(case)


def test_copies_of_subclasses() -> None:
    def case(torch: Any) -> Any:
        class Plain(torch.Tensor):  # type: ignore[misc]
            pass

        return copy.deepcopy(Plain(3))

    agree(case, "for which that function returns another instance of the same subclass")


class Saved:
    """Filled by the test, so that the class is found where pickle looks for it."""


def test_a_wrapper_in_a_checkpoint() -> None:
    def case(torch: Any) -> Any:
        kind = of_pair(torch)
        kind.__module__, kind.__qualname__ = __name__, "Saved"
        globals()["Saved"] = kind
        file = io.BytesIO()
        torch.save(kind(torch.arange(3)), file)
        file.seek(0)
        found = torch.load(file, weights_only=False)
        return type(found) is kind, found.elem, found.shape, str(found.dtype)

    agree(case)


def what_creation_tells(torch: Any) -> Any:
    mode = importlib.import_module(f"{torch.__name__}.utils._python_dispatch").TorchDispatchMode
    seen = []

    class Log(mode):  # type: ignore[misc,valid-type]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append((str(func), str(kwargs)))
            return func(*args, **(kwargs or {}))

    with Log():
        x = torch.empty([])
        torch.ones(2), torch.zeros(2, dtype=torch.int32), torch.full((2,), 1.0), torch.arange(3)
        torch.ones_like(x), torch.rand(2), torch.eye(2), torch.ops.aten.empty([2])
    return seen


def test_what_creation_tells_modes() -> None:
    agree(what_creation_tells)


def test_a_method_of_the_object() -> None:
    def case(torch: Any) -> Any:
        class Own(torch.Tensor):  # type: ignore[misc]
            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                return self.number

        x = Own(2)
        x.number = torch.ones(1)
        return x.neg()

    agree(case)


def test_an_index_that_overrides() -> None:
    def case(torch: Any) -> Any:
        class Index(torch.Tensor):  # type: ignore[misc]
            @classmethod
            def __torch_function__(cls, *args: Any, **kwargs: Any) -> Any:
                return "answered"

        return torch.rand(3)[[Index(), Index()]], torch.rand(3)[Index()]

    agree(case)


def test_fallbacks_of_keys_for_tests() -> None:
    def case(torch: Any) -> Any:
        keys = torch._C.DispatchKeySet("TESTING_ONLY_GenericMode")
        included, excluded = torch._C._dispatch_tls_local_include_set(), torch._C._dispatch_tls_local_exclude_set()
        seen = []

        def fallback(op: Any, *args: Any, **kwargs: Any) -> Any:
            with torch._C._ForceDispatchKeyGuard(included, excluded | keys):
                seen.append((str(op), len(args), sorted(kwargs)))
                return op(*args, **kwargs)

        with torch.library._scoped_library("_", "IMPL") as library:
            library.fallback(fallback, "TESTING_ONLY_GenericMode")
            x = torch.ones(2)
            with torch._C._ForceDispatchKeyGuard(included | keys, excluded):
                x + x
        return seen

    agree(case)


def test_streams_by_number() -> None:
    def case(torch: Any) -> Any:
        stream = torch.Stream(stream_id=1, device_index=2, device_type=3)
        other = torch.Stream(stream_id=1, device_index=2, device_type=4)
        return stream.stream_id, stream.device_index, stream.device_type, stream == other

    agree(case)


def test_a_key_that_is_not_the_library_s() -> None:
    def case(torch: Any) -> Any:
        with torch.library._scoped_library("aten", "IMPL", "CPU") as library:
            library.impl("sum", lambda x: x, "AutogradCPU")

    agree(case, "inconsistent with the dispatch key")
