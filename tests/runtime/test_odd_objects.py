"""Methods of objects, and functions of devices and derivatives, with odd arguments: PyTorch's error, or a clear one."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as ours
from mindtorch_v2.jit import TensorType
from mindtorch_v2.npu.build import build_native
from tests.runtime.both import agree, fresh_namespace


def trace(torch: Any) -> Any:
    return torch.jit.trace(torch.sin, torch.ones(2))


def refused(call: Callable[[], Any]) -> str:
    with pytest.raises(Exception) as caught:  # noqa: PT011  (its class is what is compared)
        call()
    return type(caught.value).__name__


@pytest.mark.parametrize(
    "call",
    [
        lambda t: trace(t)(),
        lambda t: trace(t)(t.ones(2), t.ones(2)),
        lambda t: trace(t).graph.findAllNodes("sin"),
        lambda t: t.Generator().manual_seed(True),
        lambda t: t.Generator().manual_seed(2.0),
        lambda t: t.Generator().manual_seed(t.tensor(3)),
        lambda t: t.Generator().manual_seed(2**64),
        lambda t: t.nn.ParameterList([t.ones(2)]).__setitem__(3, t.tensor(2, dtype=t.uint8)),
        lambda t: t.library.Library("odd_objects", "FRAGMENT").impl(t.ops.aten.add, t.sin),
        lambda t: t.overrides.BaseTorchFunctionMode().__exit__(),
        lambda t: t.overrides.BaseTorchFunctionMode().__torch_function__(t.sin, (), (t.ones(1),), ""),
        lambda t: t.ones(2, requires_grad=True).register_hook(t.sin).__exit__(None),
    ],
)
def test_errors_are_of_pytorchs_class(call: Callable[[Any], Any]) -> None:
    agree(lambda torch: refused(lambda: call(torch)))


def test_what_says_where_a_hook_is_is_pickled_without_reading_what_anybody_wrote() -> None:
    handle = ours.ones(2, requires_grad=True).register_hook(ours.sin)
    pickle.loads(pickle.dumps(handle)).remove()
    assert not hasattr(handle, "__setstate__")  # which took any tuple, and read beyond its end


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: ours.backends.register(0), TypeError, "'backend' .* must be Backend, not int"),
        (lambda: ours.backends.cpu_fallback(3), TypeError, "'op' .* must be OpOverload, not int"),
        (lambda: ours.backends.fallback_report([]), TypeError, "'device_type' .* must be str, not list"),
        (lambda: ours.npu.recording.keep(0), RuntimeError, "nothing is being recorded"),
        (lambda: ours.npu.recording.model_of(0), TypeError, "'stream' .* must be Stream, not int"),
        (lambda: build_native("x", 3), TypeError, "'sources' .* must be Sequence, not int"),
        (lambda: ours.npu.errors.explain([], "f"), TypeError, "'code' .* must be int, not list"),
        (lambda: TensorType.of(3), TypeError, "'tensor' .* must be Tensor, not int"),
        (lambda: trace(ours).graph.add(0), TypeError, "'node' .* must be Node, not int"),
        (lambda: trace(ours).graph.findAllNodes(0), TypeError, "'kind' must be str, not int"),
    ],
)
def test_what_pytorch_does_not_have_says_what_is_wrong(
    call: Callable[[], Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        call()


def test_numpys_integers_are_seeds() -> None:
    assert ours.Generator().manual_seed(np.int64(3)).initial_seed() == 3


@pytest.mark.parametrize("create_graph", [2, 0, np.int32(2)])
def test_any_number_is_a_flag_of_a_product(create_graph: Any) -> None:
    def case(torch: Any) -> Any:
        x = torch.tensor([1.0, 2.0])
        return torch.autograd.functional.vjp(torch.sin, x, x, create_graph)

    agree(case)


def test_a_rule_for_autocast_names_a_device_type() -> None:
    def case(torch: Any) -> Any:
        name = f"{fresh_namespace()}::f"
        op = torch.library.custom_op(name, lambda x: x.clone(), mutates_args=(), schema="(Tensor x) -> Tensor")
        kernel = op.register_autocast("cpu", torch.bfloat16)
        op.register_kernel([None], lambda x: x.clone())
        places = (3, "cpu:0", "meta")
        return callable(kernel), *(refused(lambda place=place: op.register_autocast(place, 1)) for place in places)

    agree(case)


def test_what_writes_subclasses_and_modes_is_there_without_an_import() -> None:
    agree(lambda torch: torch.utils._python_dispatch.TorchDispatchMode.__name__)


@pytest.mark.parametrize(
    ("name", "error", "said"),
    [(1.5, TypeError, "be a str, not float"), ("cpu:0", RuntimeError, "is a device"), ("tile", RuntimeError, "tile")],
)
def test_methods_are_generated_for_device_types(name: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        ours.utils.backend_registration.generate_methods(name)
