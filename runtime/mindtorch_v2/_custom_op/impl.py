"""`custom_op` and `CustomOp` as they were before `library.custom_op`: an operator by a name, its parts by decorators.

A gradient is two functions: ``save_for_backward(inputs, output)``, with the inputs as a named tuple, and
``backward(ctx, saved, *grads)``, which returns a dictionary with a gradient for each input that is a tensor.
"""

from __future__ import annotations

import inspect
from collections import namedtuple
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from opschema import ListType, Schema, SchemaError, base_of, parse_schema

from .. import _core, _ops
from .._core import OpOverload, Tensor
from .._dispatch_keys import _AutoDispatchBelowAutograd
from ..library import Library, get_ctx, infer_schema
from ..utils._pytree import tree_flatten, tree_leaves, tree_unflatten

__all__ = [
    "CustomOp",
    "custom_op",
    "custom_op_from_existing",
    "get_ctx",
    "get_op",
    "infer_schema",
    "validate_namespace",
]

SUPPORTED_DEVICE_TYPE_TO_KEY = {"cpu": "CPU", "cuda": "CUDA", "npu": "NPU"}
RESERVED_NS = {"prim", "prims", "aten", "at", "torch", "pytorch"}
_AUTOGRAD = ("Autograd", "AutogradCPU", "AutogradCUDA", "AutogradNPU")
_COMPOSITES = ("CompositeImplicitAutograd", "CompositeExplicitAutograd")
global_registry: dict[str, CustomOp] = {}

Function = Callable[..., Any]


class CustomOp:
    """An operator, and where its kernels, its fake rule and its gradient are registered; `custom_op` makes it."""

    def __init__(
        self,
        lib: Any,
        cpp_ns: Any,
        schema: Any,
        operator_name: Any,
        ophandle: Any,
        *,
        _private_access: bool = False,
    ) -> None:
        if not _private_access:
            raise RuntimeError(
                "The CustomOp constructor is private, and what it takes may change: make one by custom_op(...)"
            )
        self._lib: Library = lib
        self._cpp_ns: str = cpp_ns
        self._schema: Schema = schema
        self._opname: str = operator_name
        self._op: OpOverload = ophandle
        self._qualname = f"{cpp_ns}::{operator_name}"
        self._impls: set[str] = set()
        self._save: Function | None = None
        self._backward: Function | None = None
        self._differentiable: list[bool] = []
        self.__name__: str = operator_name
        global_registry[self._qualname] = self

    def __repr__(self) -> str:
        return f'<CustomOp(op="{self._qualname}")>'

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._op(*args, **kwargs)

    def _destroy(self) -> None:
        """Takes the operator, or what was registered for it here, back."""
        self._lib._destroy()
        global_registry.pop(self._qualname, None)

    def impl(self, device_types: str | Iterable[str], _stacklevel: int = 2) -> Callable[[Function], Function]:
        """A decorator of the kernel for devices of these types. Raises ValueError for others than there are."""
        types = [device_types] if isinstance(device_types, str) else list(device_types)
        for one in types:
            if one not in SUPPORTED_DEVICE_TYPE_TO_KEY:
                raise ValueError(
                    f"CustomOp.impl(device_types=[{one}, ...]): we only support device_type in "
                    f"{list(SUPPORTED_DEVICE_TYPE_TO_KEY)}"
                )

        def register(function: Function) -> Function:
            for one in types:
                key = SUPPORTED_DEVICE_TYPE_TO_KEY[one]
                self._require_none(key, *_COMPOSITES)
                self._impls.add(key)
                self._lib.impl(self._op, function, key)
            return function

        return register

    def impl_factory(self) -> Callable[[Function], Function]:
        """A decorator of the kernel of an operator that takes no tensors."""

        def register(function: Function) -> Function:
            self._impls.add("BackendSelect")
            self._lib.impl(self._op, function, "BackendSelect")
            return function

        return register

    def impl_abstract(self, _stacklevel: int = 2) -> Callable[[Function], Function]:
        """A decorator of the rule that gives outputs without values."""

        def register(function: Function) -> Function:
            self._require_none("Meta", "CompositeImplicitAutograd")
            self._impls.add("Meta")
            self._lib.register_fake(self._op, function)
            return function

        return register

    def impl_save_for_backward(self, _stacklevel: int = 2) -> Callable[[Function], Function]:
        """A decorator of what is saved for the gradient: ``function(inputs, output)``, its result as it is."""

        def register(function: Function) -> Function:
            self._require_differentiable()
            self._save = function
            self._register_gradient()
            return function

        return register

    def impl_backward(
        self, output_differentiability: Sequence[bool] | None = None, _stacklevel: int = 2
    ) -> Callable[[Function], Function]:
        """A decorator of the gradient. ``output_differentiability`` says of each output whether it has one."""
        returns = self._schema.returns
        if output_differentiability is not None:
            if not isinstance(output_differentiability, (list, tuple)) or not all(
                isinstance(one, bool) for one in output_differentiability
            ):
                raise RuntimeError(
                    f"impl_backward(output_differentiability): expected a list of bools, got {output_differentiability}"
                )
            if len(output_differentiability) != len(returns):
                raise RuntimeError(
                    f"impl_backward(output_differentiability): expected {len(returns)} entries, one an output of "
                    f"{self._qualname}, got {len(output_differentiability)}"
                )

        def register(function: Function) -> Function:
            self._require_differentiable()
            self._backward = function
            self._differentiable = list(output_differentiability or [True] * len(returns))
            self._register_gradient()
            return function

        return register

    def _require_none(self, *keys: str) -> None:
        for key in keys:
            if key in self._impls or (self._op.has_kernel(key) and not self._is_placeholder(key)):
                raise RuntimeError(
                    f"impl(...) of {self._qualname}: the operator already has an implementation for {key}, "
                    f"registered at {self._op.kernel_sources().get(key, 'this place')}"
                )

    def _is_placeholder(self, key: str) -> bool:
        return isinstance(self._op.kernel(key), _Refusal)

    def _require_differentiable(self) -> None:
        schema = self._schema
        what = f"Cannot register a gradient for {self._qualname}"
        if any(a.is_write for a in schema.arguments):
            raise RuntimeError(f"{what}: it is a non-functional operator, {schema}")
        if not schema.returns:
            raise RuntimeError(f"{what}: it has no returns")
        if any(one.alias is not None for one in schema.returns):
            raise RuntimeError(f"{what}: it is an operator that returns views, {schema}")
        for key in (*_AUTOGRAD, "CompositeImplicitAutograd"):
            if self._op.has_kernel(key) and self._save is self._backward is None and not self._is_placeholder(key):
                raise RuntimeError(f"{what}: it has an implementation for {key}, which has its own")

    def _register_gradient(self) -> None:
        self._lib.register_autograd(self._op, self._gradients, setup_context=self._set_up)

    def _set_up(self, ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Saves for backward what the operator's author says."""
        if self._save is None or self._backward is None:
            there, absent = (
                ("backward", "save_for_backward") if self._save is None else ("save_for_backward", "backward")
            )
            raise RuntimeError(
                f"Found a '{there}' function for {self._qualname}, but was unable to find a '{absent}' one"
            )
        names = namedtuple("inputs", [a.name for a in self._schema.arguments])  # type: ignore[misc]
        flat, ctx.structure = tree_flatten(self._save(names(*inputs), output))
        ctx.save_for_backward(*[one for one in flat if isinstance(one, Tensor)])
        ctx.others = [None if isinstance(one, Tensor) else (one,) for one in flat]
        ctx.counts = [len(one) if isinstance(one, (list, tuple)) else None for one in inputs]
        outputs = (output,) if len(self._schema.returns) == 1 else output
        for place, (one, has_gradient) in enumerate(zip(outputs, self._differentiable, strict=True)):
            leaves = tree_leaves(one)
            if has_gradient and not all(isinstance(leaf, Tensor) for leaf in leaves):
                raise RuntimeError(
                    f"output {place} of {self._qualname} is not a Tensor, but output_differentiability says that it "
                    "has a gradient"
                )
            if not has_gradient:
                ctx.mark_non_differentiable(*[leaf for leaf in leaves if isinstance(leaf, Tensor)])

    def _gradients(self, ctx: Any, *grads: Any) -> Any:
        """The gradients in the order of the arguments, of what the operator's author returns by name."""
        assert self._backward is not None
        tensors = iter(ctx.saved_tensors)
        saved = tree_unflatten([next(tensors) if one is None else one[0] for one in ctx.others], ctx.structure)
        found = self._backward(ctx, saved, *grads)
        self._require_gradients(found, ctx.counts)
        return tuple(found.get(a.name) for a in self._schema.arguments)

    def _require_gradients(self, found: Any, counts: list[int | None]) -> None:
        what = f"In the backward function defined for {self._qualname}: expected"
        if not isinstance(found, dict):
            raise RuntimeError(f"{what} the result of the backward function to be a dict, got {type(found).__name__}")
        of_tensors = {a.name for a in self._schema.arguments if base_of(a.type).name == "Tensor"}
        if found.keys() != of_tensors:
            names = "{" + ", ".join(f"'{a.name}'" for a in self._schema.arguments if a.name in of_tensors) + "}"
            other = [name for name in found if name not in of_tensors]
            known = [a.name for a in self._schema.arguments]
            hint = " (gradients of non-Tensor-like types are left out)" if any(name in known for name in other) else ""
            raise RuntimeError(f"{what} the result to have keys {names}, got keys {set(found)}{hint}")
        for argument, count in zip(self._schema.arguments, counts, strict=True):
            if argument.name not in of_tensors:
                continue
            given = found[argument.name]
            if not isinstance(argument.type, ListType):
                if not (given is None or isinstance(given, Tensor)):
                    raise RuntimeError(f"{what} the gradient of {argument.name} to be either None or a Tensor")
                continue
            if not isinstance(given, (list, tuple)):
                raise RuntimeError(f"{what} for {argument.name} a list of gradients, got {type(given).__name__}")
            if len(given) != count:
                raise RuntimeError(f"{what} for {argument.name} {count} gradients but got {len(given)}")
            if not all(one is None or isinstance(one, Tensor) for one in given):
                raise RuntimeError(f"{what} the gradients of {argument.name} each to be None or Tensor")


class _Refusal:
    """What runs for an operator where nothing is registered: a message that says what is missing."""

    def __init__(self, message: str) -> None:
        self.message = message

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(self.message)


class _NoGradient(_Refusal):
    """What runs at the key Autograd of an operator without a gradient: it is refused where one would be recorded."""

    def __init__(self, op: OpOverload) -> None:
        super().__init__(f"Autograd has not been implemented for operator {op}")
        self.op = op

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = tree_leaves((args, kwargs))
        if _core.is_grad_enabled() and any(isinstance(one, Tensor) and one.requires_grad for one in given):
            raise RuntimeError(self.message)
        with _AutoDispatchBelowAutograd():
            return self.op(*args, **kwargs)


def custom_op(qualname: str, manual_schema: str | None = None) -> Callable[[Function], CustomOp]:
    """A decorator that makes an operator of a function's name and annotations; the function itself is not called.

    Raises ValueError for a reserved namespace, a schema that is not functional, or a function that takes other things.
    """

    def make(function: Function) -> CustomOp:
        namespace, name = parse_qualname(qualname)
        validate_namespace(namespace)
        if not inspect.isfunction(function):
            raise ValueError(f"custom_op(...)(func): Expected `func` to be a Python function, got: {type(function)}")
        if function.__name__ != name:
            raise ValueError(
                f"custom_op(qualname='{qualname}', ...)(func): expected `func` to have name '{name}' but got "
                f"'{function.__name__}'"
            )
        text = infer_schema(function, mutates_args=()) if manual_schema is None else manual_schema
        schema = _parsed(name, text)
        validate_schema(schema)
        if manual_schema is not None:
            validate_function_matches_schema(schema, function)
        return _define(namespace, name, schema)

    return make


def custom_op_with_schema(qualname: str, text: str) -> CustomOp:
    """An operator of a schema."""
    namespace, name = parse_qualname(qualname)
    validate_namespace(namespace)
    schema = _parsed(name, text)
    validate_schema(schema)
    return _define(namespace, name, schema)


def _parsed(name: str, text: str) -> Schema:
    try:
        return parse_schema(name + text)
    except SchemaError as error:
        raise AssertionError(f"Invalid function schema: {name}{text}: {error}") from None


def _define(namespace: str, name: str, schema: Schema) -> CustomOp:
    lib = Library(namespace, "FRAGMENT")
    lib.define(str(schema))
    op = _ops.find(f"{namespace}::{name}")
    for kind, key in SUPPORTED_DEVICE_TYPE_TO_KEY.items():
        lib.register_placeholder(
            op, key, _Refusal(f"{namespace}::{name} has no {kind} impl registered: see CustomOp.impl")
        )
    lib.register_placeholder(
        op, "Meta", _Refusal(f"{namespace}::{name} has no fake impl or Meta kernel: see CustomOp.impl_abstract")
    )
    if not any(base_of(a.type).name == "Tensor" for a in schema.arguments):
        refusal = _Refusal(f"{namespace}::{name} has no Tensor inputs to choose a kernel by: see CustomOp.impl_factory")
        lib.register_placeholder(op, "BackendSelect", refusal)
    lib.impl(op, _NoGradient(op), "Autograd")
    return CustomOp(lib, namespace, op._schema, name, op, _private_access=True)


def custom_op_from_existing(op: OpOverload) -> CustomOp:
    """An operator that is defined already, to register more for it."""
    lib = Library(op.namespace, "FRAGMENT")
    return CustomOp(lib, op.namespace, op._schema, op._schema.name, op, _private_access=True)


def parse_qualname(qualname: str) -> tuple[str, str]:
    """Namespace and name. Raises ValueError where one is missing, or an overload is named."""
    namespace, found, name = qualname.partition("::")
    if not found or not namespace or not name:
        raise ValueError(f"Expected there to be a namespace in {qualname}, i.e. 'namespace::name'")
    if "." in name:
        raise ValueError(
            f"The torch._custom_ops APIs do not handle overloads, i.e. operator names with '.': {qualname}"
        )
    return namespace, name


def validate_namespace(ns: str) -> None:
    """Raises ValueError for a namespace that is PyTorch's own."""
    if "." in ns:
        raise ValueError(f"custom_op(..., ns='{ns}'): expected ns to not contain any '.'")
    if ns in RESERVED_NS:
        raise ValueError(f"custom_op(..., ns='{ns}'): '{ns}' is a reserved namespace, please choose another one")


def validate_schema(schema: Schema) -> None:
    """Raises ValueError for an operator that is not a function of its arguments."""
    aliases = [a.alias for a in schema.arguments] + [r.alias for r in schema.returns]
    if schema.arguments and schema.arguments[0].name == "self":
        raise ValueError(
            f"custom_op does not support arguments named 'self'. Please rename your argument. Got: {schema}"
        )
    if any(aliases) or not schema.returns:
        raise ValueError(
            f"custom_op only supports functional operators (ops that do not mutate any inputs, do not return views of "
            f"the inputs, and have at least one return). Got: {schema}"
        )


def validate_function_matches_schema(schema: Schema, function: Function) -> None:
    """Raises ValueError where a function takes other things than a schema says."""
    parameters = list(inspect.signature(function).parameters.values())
    what = f"custom_op(..., manual_schema)(func): func {inspect.signature(function)}, schema {schema}:"
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.POSITIONAL_ONLY) for p in parameters):
        raise ValueError(f"{what} positional-only arguments, *args and **kwargs are not supported")
    if any(p.default is not p.empty for p in parameters):
        raise ValueError(f"{what} func may not have default arguments: they are the schema's")
    positional = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    keywords = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    if positional != [a.name for a in schema.positional] or keywords != [a.name for a in schema.kwarg_only]:
        raise ValueError(f"{what} expected the function's signature to match the schema's arguments, in their order")


def _find_custom_op(qualname: str, also_check_torch_library: bool = False) -> CustomOp:
    """The operator of that name. Raises RuntimeError where there is none."""
    found = global_registry.get(qualname)
    if found is not None:
        return found
    if not also_check_torch_library:
        raise RuntimeError(f'Could not find custom op "{qualname}". Did you register it by torch._custom_ops?')
    return custom_op_from_existing(get_op(qualname))


def get_op(qualname: str) -> OpOverload:
    """The operator of a name, whatever defined it. Raises RuntimeError where there is none, or it has overloads."""
    namespace, name = parse_qualname(qualname)
    packet = _ops.find_packet(qualname) if hasattr(getattr(_ops.ops, namespace), name) else None
    if packet is None:
        raise RuntimeError(f"The operator {qualname} is not there. Was it defined, or its module imported?")
    found: OpOverload = getattr(packet, "default", None)  # type: ignore[assignment]
    if found is None:
        raise RuntimeError(f"The operator {qualname} has overloads, which torch._custom_ops does not handle")
    return found
