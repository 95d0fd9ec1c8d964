"""Public functions in Python with arguments of wrong types: PyTorch's class of error, and the argument's name."""

from __future__ import annotations

import operator
import re
import types
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as ours
from tests.ops.both import raised


def root(torch: Any) -> Any:
    """A number that requires grad, and is no leaf."""
    return torch.ones((), requires_grad=True).exp()


def made_dual(torch: Any, tangent: Any) -> Any:
    with torch.autograd.forward_ad.dual_level():
        return torch.autograd.forward_ad.make_dual(torch.ones(1), tangent)


CALLS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "isclose": (lambda t: t.isclose(t.ones(3), 2), "other"),
    "allclose": (lambda t: t.allclose(1, t.ones(3)), "input"),
    "a method": (lambda t: t.ones(3).allclose([1]), "other"),
    "var": (lambda t: t.var([1.0]), "input"),
    "var of a dimension": (lambda t: t.var(t.ones(3), 1.5), ""),
    "std of a dimension": (lambda t: t.std(t.ones(3), object()), ""),
    "norm": (lambda t: t.norm(t.ones(3), [1, 2]), "p"),
    "squeeze": (lambda t: t.ones(2, 1).squeeze((1, -1)), "appears multiple times"),
    "norm of a dimension": (lambda t: t.norm(t.ones(3), dim="x"), "dim"),
    "norm kept": (lambda t: t.norm(t.ones(3), 2, 0, "x"), "keepdim"),
    "a flag": (lambda t: t.allclose(t.ones(3), t.ones(3), equal_nan="x"), "equal_nan"),
    "backward": (lambda t: root(t).backward(3), "grad_tensors"),
    "backward by numbers": (lambda t: root(t).backward(range(3)), "gradients can be either Tensors or None"),
    "grad by numbers": (
        lambda t: t.autograd.grad(t.ones(1), t.ones(1), [3]),
        "gradients can be either Tensors or None",
    ),
    "backward of a list": (lambda t: root(t).backward([3]), ""),
    "backward to no tensor": (lambda t: root(t).backward(inputs=3), "inputs"),
    "backward to no tensors": (lambda t: root(t).backward(inputs=[3]), "inputs"),
    "autograd.backward": (lambda t: t.autograd.backward(None), "tensors"),
    "autograd.backward of numbers": (lambda t: t.autograd.backward([root(t), 3]), "got int at index 1"),
    "autograd.grad": (lambda t: t.autograd.grad(3, root(t)), "outputs"),
    "autograd.grad to a number": (lambda t: t.autograd.grad(root(t), 3), "inputs"),
    "autograd.grad to numbers": (lambda t: t.autograd.grad(root(t), [3]), "inputs"),
    "autograd.grad from a number": (lambda t: t.autograd.grad(root(t), root(t), 3), "grad_outputs"),
    "numel": (lambda t: t.numel(3), "input"),
    "is_floating_point": (lambda t: t.is_floating_point(3), "input"),
    "is_complex": (lambda t: t.is_complex("x"), "input"),
    "can_cast": (lambda t: t.can_cast(1, t.float32), ""),
    "broadcast_tensors": (lambda t: t.broadcast_tensors(t.ones(1), 3), "tensors"),
    "relu": (lambda t: t.nn.functional.relu(3), ""),
    "softmax": (lambda t: t.nn.functional.softmax("x", 0), ""),
    "cross_entropy": (lambda t: t.nn.functional.cross_entropy(t.ones(2, 2), 3), "target"),
    "nll_loss": (lambda t: t.nn.functional.nll_loss(1, t.ones(3)), "input"),
    "l1_loss": (lambda t: t.nn.functional.l1_loss(t.ones(3), None), "target"),
    "embedding": (lambda t: t.nn.functional.embedding(t.tensor([0]), 3), "weight"),
    "a size": (lambda t: t.ones(3).size("x"), ""),
    "a stride": (lambda t: t.ones(3).stride([1]), ""),
    "autograd.grad flags": (lambda t: t.autograd.grad(root(t), root(t), create_graph=2.5), ""),
    "autograd.grad of a mapping": (lambda t: t.autograd.grad(root(t), types.MappingProxyType({})), "inputs"),
    "set_detect_anomaly": (lambda t: t.autograd.set_detect_anomaly(1), "enabled"),
    "set_detect_anomaly's check": (lambda t: t.autograd.set_detect_anomaly(False, None), "check_nan"),
    "set_grad_enabled": (lambda t: t.autograd.set_grad_enabled(t.tensor(True)), "enabled"),
    "Node": (lambda t: t.autograd.graph.Node(3), ""),
    "Node without arguments": (lambda t: t.autograd.graph.Node(), "abstract"),
    "FunctionCtx": (lambda t: t.autograd.function.FunctionCtx(3), ""),
    "get_gradient_edge": (lambda t: t.autograd.graph.get_gradient_edge(3), "tensor"),
    "register_multi_grad_hook": (lambda t: t.autograd.graph.register_multi_grad_hook(3, print), "tensors"),
    "make_dual": (lambda t: made_dual(t, 3), "tangent"),
    "make_dual's level": (lambda t: t.autograd.forward_ad.make_dual(t.ones(1), t.ones(1), level="x"), "level"),
    "unpack_dual's level": (lambda t: t.autograd.forward_ad.unpack_dual(t.ones(1), level=object()), "level"),
    "a fallthrough kernel with arguments": (lambda t: t.library.fallthrough_kernel(3), ""),
    "impl": (lambda t: t.library.impl("aten::x", [3]), "types"),
    "impl for a device with an index": (lambda t: t.library.impl("aten::x", "cpu:0"), "cpu:0"),
    "register_kernel": (lambda t: t.library.register_kernel("aten::x", "sum"), "sum"),
    "impl in no library": (lambda t: t.library.impl("aten::sin", "cpu", print, lib=b"x"), "lib"),
    "infer_schema": (lambda t: t.library.infer_schema(3, mutates_args=()), "prototype_function"),
    "custom_op": (lambda t: t.library.custom_op(3, print, mutates_args=(), schema="(Tensor x) -> Tensor"), "name"),
    "CustomOpDef": (lambda t: t.library.CustomOpDef("a", "b", 3, print), "schema"),
    "opcheck with one tolerance": (lambda t: t.library.opcheck(t.ops.aten.sin.default, (t.ones(1),), atol=1.0), "rtol"),
    "opcheck of overloads": (lambda t: t.library.opcheck(t.ops.aten.add, (t.ones(1),)), "Tensor"),
    "functional_call": (lambda t: t.func.functional_call(t.nn.Linear(1, 1), 3), "parameter_and_buffer_dicts"),
    "functional_call of dicts": (lambda t: t.func.functional_call(t.nn.Linear(1, 1), [3]), "dictionaries"),
    "functional_call of no module": (lambda t: t.func.functional_call(print, {}), "module"),
    "stack_module_state": (lambda t: t.func.stack_module_state(3), "models"),
    "stack_module_state of False": (lambda t: t.func.stack_module_state(False), "models"),
    "jacrev's chunk size": (lambda t: t.func.jacrev(t.sin, chunk_size=0), "chunk_size"),
    "jacrev's chunk size's type": (lambda t: t.func.jacrev(t.sin, chunk_size=""), "chunk_size"),
    "jacrev of complex numbers": (lambda t: t.func.jacrev(t.sin)(t.ones(1, dtype=t.complex64)), "complex"),
    "jacfwd with keywords": (lambda t: t.func.jacfwd(lambda x, out: x)(t.ones(1), out=None), "out"),
    "has_torch_function": (lambda t: t.overrides.has_torch_function(3), "relevant_args"),
    "tree_map_only": (lambda t: t.utils._pytree.tree_map_only(0, print, ()), ""),
    "tree_map of other trees": (lambda t: t.utils._pytree.tree_map(print, (1, 2), [1, 2]), "tuple"),
    "jit.trace without inputs": (lambda t: t.jit.trace(t.sin), "example_inputs"),
    "jit.trace of a number": (lambda t: t.jit.trace(t.sin, 3), "example_inputs"),
    "jit.trace with keywords": (lambda t: t.jit.trace(t.sin, example_kwarg_inputs="x"), "example_kwarg_inputs"),
    "jit.trace of no function": (lambda t: t.jit.trace(3, t.ones(1)), ""),
    "jit.trace of a method": (lambda t: t.jit.trace(t.nn.Linear(1, 1).extra_repr, ()), "extra_repr"),
    "jit.TracedModule called": (lambda t: t.jit.TracedModule(t.nn.Linear(1, 1))(t.ones(1)), "submodules"),
    "set_default_dtype": (lambda t: t.set_default_dtype(None), "default type"),
    "Size of floats": (lambda t: t.Size([1.5]), "item 0 is 'float'"),
    "Size and a list": (lambda t: operator.add(t.Size([1]), [1]), ""),
    "vmap's chunk size": (lambda t: t.func.vmap(t.sin, chunk_size=()), "chunk_size"),
    "get_kernel": (lambda t: t.library.get_kernel(t.ops.aten.sin.default, None), "dispatch_key"),
    "handle_torch_function of tensors": (lambda t: t.overrides.handle_torch_function(t.sin, ()), "torch.sin"),
    "a generator": (lambda t: t.ones(3).normal_(generator=3), "generator"),
}
FOREIGN = re.compile(
    r"Cannot convert|incorrect type|object has no attribute|'\w+' object|not iterable|float\(\) argument|not supported|"
    r"tuple index"
)


@pytest.mark.parametrize("name", CALLS)
def test_wrong_types(name: str) -> None:
    call, argument = CALLS[name]
    with pytest.raises((TypeError, RuntimeError, ValueError, AttributeError)) as caught:
        call(ours)
    assert not FOREIGN.search(str(caught.value))
    assert argument in str(caught.value)


ERRORS_OF_PYTHON = {
    "l1_loss",
    "allclose",
    "autograd.backward of numbers",
    "broadcast_tensors",
    "custom_op",
    "embedding",
    "functional_call of no module",
    "get_gradient_edge",
    "impl in no library",
    "infer_schema",
    "make_dual",
    "norm",
    "softmax",
}  # in PyTorch's functions


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
@pytest.mark.parametrize("name", sorted(CALLS.keys() - ERRORS_OF_PYTHON))
def test_the_class_is_pytorchs(name: str) -> None:
    mine, theirs = raised(CALLS[name][0])
    assert isinstance(mine, type(theirs)), f"{mine!r}, not {theirs!r}"


def test_an_error_inside_stays_what_it_is() -> None:
    class Broken(ours.Tensor):
        @classmethod
        def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            raise AttributeError("of the user's own")

    with pytest.raises(AttributeError, match="of the user's own"):
        ours.isclose(ours.ones(2).as_subclass(Broken), ours.ones(2))


def test_what_counts_as_true_is_not_what_is_wrong() -> None:
    def first(*xs: Any) -> Any:
        return xs[0]

    with pytest.raises(IndexError, match="tuple index out of range"):
        ours.jit.trace(first, (), check_trace=ours.tensor(1.0), strict=1e300)
    with pytest.raises(TypeError, match="'example_kwarg_inputs'"):
        ours.jit.trace(first, check_trace=ours.tensor(1.0), example_kwarg_inputs="x")
