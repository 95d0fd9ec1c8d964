"""`Library`: defines operators and registers what runs for them; what one library registered goes when it goes."""

from __future__ import annotations

import dataclasses
import functools
import re
import sys
import weakref
from collections.abc import Callable, Iterable, Mapping
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

from opschema import Schema, SchemaKind, parse_schema

from .. import _core, _ops
from .._core import OpOverload
from .._hooks import hooks as _hooks
from ..errors import RegistrationError
from ..overrides import dispatch_rules, without_defaults
from ._fake import in_fake_rule
from ._graph import UPDATE_SPECS, GraphDeclaration, check_hooks, check_update, declarations
from ._list_outputs import gradients_by_output, returns_lists
from ._publishing import publish
from ._registrations import Kernel, find_meta, formula, pop, push
from ._tags import Tag

if TYPE_CHECKING:
    from .definitions import Definition

__all__ = [
    "Library",
    "as_tags",
    "caller",
    "canonical_key",
    "fallthrough_kernel",
    "parse",
    "register",
    "require_namespace",
]

fallthrough_kernel = _core.fallthrough_kernel  # registered as a kernel: nothing happens at that key

Function = TypeVar("Function", bound=Callable[..., Any])

# A comma or arrow with the space around it; strings and lists, whose commas stay as they are, in group 1.
_SEPARATOR = re.compile(r"""("[^"]*"|'[^']*'|\[[^\]]*\])|\s*(,|->|=)\s*""")
_SPACED = {",": ", ", "->": " -> ", "=": "="}
_KINDS = ("DEF", "IMPL", "FRAGMENT")
_RESERVED = ("prim",)
_TAGS_OF_ATEN = (Tag.pt2_compliant_tag,)  # what PyTorch says of each of its own operators
_PACKAGE = __name__.partition(".")[0]
_definers: dict[str, str] = {"aten": "mindtorch_ops"}  # namespace -> where its one DEF library was made
_impls: set[str] = set()  # "ns/name/key" of each kernel that a library registered
_fallbacks: dict[str, str] = {}  # dispatch key -> where a library registered its fallback


def as_tags(tags: str | Iterable[str] | None) -> tuple[str, ...]:
    """Tags as a tuple: one, several, or None for none. Raises TypeError for what is no tag's name."""
    found = (tags,) if isinstance(tags, str) else () if tags is None else tuple(tags)
    for tag in found:
        if not isinstance(tag, str):
            raise TypeError(f"define(): argument 'tags' must be of torch.Tag, not of {type(tag).__name__}")
    return found


def require_namespace(schema: Schema, namespace: str) -> None:
    """Raises RuntimeError where a schema names another namespace."""
    if schema.namespace not in (None, namespace):
        raise RegistrationError(
            f"Explicitly provided namespace ({schema.namespace}) in schema string does not match namespace of "
            f"enclosing library ({namespace}): {schema}"
        )


class _Registrations:
    """What a library registered, as PyTorch's libraries hold it: `reset` takes it back."""

    reset: Callable[[], object]


class Library:
    """A handle to define operators in a namespace, or to register kernels for them.

    ``kind`` is ``"DEF"`` (the one library that owns the namespace), ``"FRAGMENT"`` (defines too; any number) or
    ``"IMPL"`` (kernels only, by default for ``dispatch_key``). All that a library registered is taken back when it is
    destroyed or no longer referenced. A method that raises leaves the registry as it was.
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in _KINDS:
            raise ValueError(f"Unsupported kind: {kind}; expected one of {', '.join(_KINDS)}")
        if ns in _RESERVED:
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        if not ns.isidentifier() or (ns == "_" and kind != "IMPL"):
            raise ValueError(f"a namespace must be an identifier, got {ns!r}")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._undo: list[Callable[[], object]] = []
        self._definitions: list[Definition] = []
        if kind == "DEF":
            _claim_namespace(ns, self._undo)
        self._op_impls: set[str] = set()
        self.m = _Registrations()
        self._finalizer = weakref.finalize(self, _undo_all, self._undo, _impls, self._op_impls)
        self.m.reset = self._finalizer
        self._finalizer.atexit = False

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})"

    def define(
        self,
        schema: str,
        alias_analysis: str = "",
        *,
        tags: str | Iterable[str] = (),
        doc: str | None = None,
        variants: Iterable[str] = ("function",),
        device_check: str = "NoCheck",
        overlap_check: Iterable[str] = (),
        source: str | None = None,
    ) -> str:
        """Defines an operator from its schema, ``"name(Tensor x) -> Tensor"``, and returns its name.

        ``variants`` says where else it appears: ``"method"`` of Tensor, and in the namespace ``aten`` as a
        ``"function"`` of the top level. ``device_check`` (``"ExactSame"``, ``"CPUScalars"``, ``"CPUIndices"``) says
        which devices its tensors may be on together, and ``overlap_check`` (of ``"Internal"``, ``"Partial"``,
        ``"Full"``) which overlap of memory that it writes to is refused: calls raise RuntimeError before a kernel
        runs. As in PyTorch nothing is checked by default; operators declared in YAML are (`docs/yaml.md`).
        ``source`` is where it is declared, by default the calling line. Raises RuntimeError where the schema does not
        parse, names another namespace, or is defined already, and ValueError for an unknown check.
        """
        self._require_alive()
        if self.kind == "IMPL":
            raise RegistrationError(f"Cannot define an operator inside of a library of kind IMPL: {schema}")
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        parsed = parse(schema)
        require_namespace(parsed, self.ns)
        parsed = parsed.in_namespace(self.ns)
        all_tags = as_tags(tags) + (_TAGS_OF_ATEN if self.ns == "aten" else ())
        place = source or caller()
        overload = OpOverload(self.ns, parsed, place, all_tags, doc, device_check, overlap_check)
        packet = _ops.add(overload)
        try:
            withdraw = publish(packet, overload, tuple(variants))
        except ValueError:
            _ops.discard(overload)
            raise
        self._undo += [lambda: _ops.discard(overload), withdraw]
        return parsed.name

    def operator(
        self,
        schema: str,
        *,
        doc: str | None = None,
        tags: str | Iterable[str] = (),
        variants: Iterable[str] = ("function",),
        device_check: str = "NoCheck",
        overlap_check: Iterable[str] = (),
        deprecated: str | None = None,
        fallback: str | None = None,
        autocast: Mapping[str, str] | None = None,
        graph_update: Iterable[str] = (),
        graph_hooks: Mapping[str, str] | None = None,
    ) -> Callable[[Callable[..., None]], OpOverload]:
        """Decorator: defines an operator by a function that says, of its arguments as symbols, what a call does.

        ``function(op, *arguments)`` says what is checked, returned and launched, and what the gradient is
        (`docs/operators.md`). It runs once, when the operator is first called or looked at; calls run what it said,
        without Python. ``deprecated`` says what to call instead; ``fallback`` what runs on devices without a kernel
        ("cpu": the one for that, on copies; "error"); ``autocast`` to which dtype, or "promote", the operator's tensors
        are cast with autocast on for a device; ``graph_update`` which arguments a captured graph may change,
        ``graph_hooks`` what its handler does beside (`register_graph`). The others are `define`'s; the function's
        docstring is the operator's. Returns the operator in the function's place.
        """

        from .definitions import Definition  # a program that defines nothing starts without it

        def decorate(function: Callable[..., None]) -> OpOverload:
            code = getattr(function, "__code__", None)
            self.define(
                schema,
                tags=tags,
                doc=doc or function.__doc__,
                variants=variants,
                device_check=device_check,
                overlap_check=overlap_check,
                source=None if code is None else f"{code.co_filename}:{code.co_firstlineno}",
            )
            overload = self._resolve(schema.partition("(")[0].strip())
            overload.refuses_aliases = True
            definition = Definition(
                self,
                overload,
                function,
                deprecated=deprecated,
                fallback=fallback,
                autocast=autocast,
                graph_update=graph_update,
                graph_hooks=graph_hooks,
            )
            self._definitions.append(definition)
            self._undo.append(definition.forget)
            return overload

        return decorate

    def check(self) -> None:
        """Makes all that calls of the operators defined by `operator` can ask for, gradients included.

        For tests: what a definition cannot say raises DefinitionError here, else at a first call.
        """
        for definition in self._definitions:
            definition.check()

    def impl(
        self,
        op_name: str | OpOverload,
        fn: Callable[..., Any],
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = True,
        source: str | None = None,
    ) -> None:
        """Registers ``fn`` as what runs for an operator at a dispatch key (``"CPU"``, ``"Autograd"``, ...).

        With ``with_keyset`` its first argument is the call's ``DispatchKeySet``, for ``op.redispatch``.
        The default key is the library's, else ``CompositeImplicitAutograd``. Raises TypeError where ``fn`` is not
        callable and RuntimeError for an unknown operator or key, or with ``allow_override=False`` for a second
        kernel.
        """
        self._require_alive()
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        overload = self._resolve(op_name)
        name = str(dispatch_key) or self.dispatch_key or "CompositeImplicitAutograd"
        if self.dispatch_key and name != self.dispatch_key:
            raise RegistrationError(
                f"impl({overload.name()}): the dispatch key {name} is inconsistent with the dispatch key of the "
                f"library, {self.dispatch_key}"
            )
        key = canonical_key(overload, name)
        if not allow_override and overload.has_kernel(key):
            raise RegistrationError(
                f"impl({overload.name()}, key={key}): there's already a kernel registered{_at(overload, key)}"
            )
        if key == "Meta" and overload.has_kernel("CompositeImplicitAutograd"):
            raise RegistrationError(
                f"We should not register a meta kernel directly to the operator '{overload.name()}', because it has a "
                "CompositeImplicitAutograd kernel: it decomposes into operators that have meta kernels."
            )
        kernel = Kernel(fn, source or caller(), with_keyset=with_keyset)
        self._register(name, key, lambda key: _pushed(overload, key, kernel))
        entry = f"{self.ns}/{overload.name().partition('::')[2]}/{name}"
        self._op_impls.add(entry)
        _impls.add(entry)

    def fallback(
        self,
        fn: Callable[..., Any],
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        exclude: Iterable[str | OpOverload] = (),
    ) -> None:
        """Registers ``fn(op, *args, **kwargs)`` for every operator without a kernel of its own at a dispatch key.

        Only a library of the namespace ``"_"``, which stands for all, may do so. ``fallthrough_kernel`` as ``fn``
        leaves the call to the next key; ``exclude`` holds operators, by full name, that the fallback is not for. An
        alias stands for all its keys. Raises RuntimeError for another namespace, an unknown key or operator, or a key
        that has a fallback of a library already. For one operator alone there is `impl_fallback`.
        """
        self._require_alive()
        if self.ns != "_":
            raise RegistrationError(
                'Fallback can only be registered using library fragment on the global namespace "_" but it is '
                f"{self.ns}"
            )
        name = str(dispatch_key) or self.dispatch_key
        if not name:
            raise AssertionError("dispatch_key must not be empty for fallback")
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        excluded = [(op if isinstance(op, OpOverload) else _ops.find(op)).name() for op in exclude]
        keys, source = _keys_of(name), caller()
        written = fn if fn is fallthrough_kernel else _as_written(fn, with_keyset)
        for key in keys:
            if key in _fallbacks:
                raise RegistrationError(
                    f"Tried to register multiple backend fallbacks for the same dispatch key {key}; previous "
                    f"registration registered at {_fallbacks[key]}, new registration registered at {source}"
                )
        for key in keys:
            self._register(name, key, lambda key: _with_fallback(key, written, source, with_keyset, excluded))

    def impl_fallback(
        self, op_name: str | OpOverload, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False
    ) -> None:
        """Registers a function made as a fallback, ``fn(op, *args, **kwargs)``, as one operator's kernel at a key."""
        self._require_alive()
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        overload = self._resolve(op_name)
        if fn is fallthrough_kernel:
            kernel = fn
        elif with_keyset:
            kernel = functools.wraps(fn)(lambda keys, *args, **kwargs: fn(keys, overload, *args, **kwargs))
        else:
            kernel = functools.wraps(fn)(lambda *args, **kwargs: fn(overload, *args, **kwargs))
        self.impl(overload, kernel, dispatch_key, with_keyset=with_keyset, source=caller())

    def impl_stub(self, stub_name: str, fn: Callable[..., Any], dispatch_key: str = "") -> None:
        """Registers the loop of an operator that works element by element: ``fn(out, *operands, **others)``.

        ``"add_stub"`` stands for the overloads of `add` and `add_` that have kernels. ``out`` and the operands are on
        the device, contiguous, of one dimension, length and dtype (of a result of truth values: the operands');
        ``others`` are the arguments that are no tensors. What the operator checks and allocates, and how its arguments
        are broadcast and converted, is done.
        Raises RuntimeError where no such operator has kernels.
        """
        from ._stubs import operators_of_stub, stub_kernel  # a program without stubs starts without it

        self._require_alive()
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        place = caller()
        for overload in operators_of_stub(self.ns, stub_name):
            self.impl(overload, stub_kernel(overload, fn), dispatch_key, source=place)

    def register_fake(
        self,
        op_name: str | OpOverload,
        fn: Callable[..., Any],
        *,
        allow_override: bool = True,
        source: str | None = None,
    ) -> None:
        """Registers ``fn`` as the rule that gives an operator's outputs without data: its kernel on meta tensors."""
        self._require_alive()
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        overload = self._resolve(op_name)
        _require_fake_allowed(overload, allow_override)
        self._push(overload, "Meta", Kernel(in_fake_rule(overload, fn), source or caller(), fake=True))

    def register_placeholder(self, op_name: str | OpOverload, key: str, fn: Callable[..., Any]) -> None:
        """Registers ``fn``, which raises, as what runs at a key until somebody registers a kernel for it."""
        self._require_alive()
        self._push(self._resolve(op_name), key, Kernel(fn, caller(), placeholder=True))

    def register_autograd(
        self,
        op_name: str | OpOverload,
        backward: Callable[..., Any] | None,
        *,
        setup_context: Callable[..., Any] | None = None,
        source: str | None = None,
    ) -> None:
        """Registers a gradient: ``setup_context(ctx, inputs, output)`` after forward, ``backward(ctx, *grads)``.

        ``backward`` gets one gradient for every output, a list of them for a list of tensors, and returns one (or None)
        for every argument of the schema; None in its place says that there is no gradient, and asking for it raises.
        Raises RuntimeError for the gradient of an out variant.
        """
        self._require_alive()
        overload = self._resolve(op_name)
        if backward is not None and overload._schema.kind is SchemaKind.OUT:
            raise RegistrationError(
                f"Out variants do not support autograd. Cannot register autograd formula for non-functional operator "
                f"{overload} with schema {overload._schema}."
            )
        place = source or caller()
        if backward is not None and returns_lists(overload._schema):
            backward, setup_context = gradients_by_output(overload._schema, backward, setup_context)
        self._push(overload, "Autograd", formula(backward, setup_context, place))

    def register_graph(
        self,
        op_name: str | OpOverload,
        *,
        update: str | Iterable[str] = (),
        source: str | None = None,
        **hooks: str,
    ) -> None:
        """Says how an operator is captured into a graph: which arguments may have new values at a replay, and hooks.

        ``prepare="out"`` captures the overload ``out``, into outputs and a workspace that were allocated before. Any
        other hook is a Python function, ``"module:function"``, with the arguments of the method of
        `npu.graphs.NpuGraphOpHandler` that it becomes: ``prepare``, ``postprocess``, ``update_args``, ``record``.
        Raises RuntimeError for a name that is no argument, for a type whose values the host does not read at a launch,
        for an unknown hook, and where another library said it before.
        """
        self._require_alive()
        overload = self._resolve(op_name)
        names = check_update(overload, (update,) if isinstance(update, str) else tuple(update))
        declaration = GraphDeclaration(names, check_hooks(overload, hooks))
        if overload.name() in declarations:
            raise RegistrationError(
                f"{overload.name()}: what a graph may update is registered already ({source or caller()} is the second)"
            )
        UPDATE_SPECS[overload.name()] = names
        declarations[overload.name()] = overload, declaration
        if _hooks.graph_declared is not None:
            _hooks.graph_declared(overload, declaration)

        def forget() -> None:
            del UPDATE_SPECS[overload.name()], declarations[overload.name()]
            if _hooks.graph_forgotten is not None:
                _hooks.graph_forgotten(overload)

        self._undo.append(forget)

    def register_jvp(
        self, op_name: str | OpOverload, fn: Callable[..., Any] | None, *, source: str | None = None
    ) -> None:
        """Registers the forward-mode formula, ``fn(inputs, tangents, output)``; None removes it.

        ``inputs`` are the bound arguments in schema order, keyword-only ones included; those that the operator writes
        to as they were before. ``tangents`` has an entry for each: a tensor, None for zero (and for what is no
        tensor), or a list of these for a list of tensors. ``fn`` returns one tangent (None: zero) per output, a single
        one or a tuple; what it computes may be differentiated again. Without a formula an operator's gradient formula
        is differentiated instead. Raises TypeError where ``fn`` is not callable, RuntimeError for an out variant.
        """
        self._require_alive()
        if fn is not None and not callable(fn):
            raise TypeError(f"register_jvp({op_name}): expected a callable but found type {type(fn)}")
        overload = self._resolve(op_name)
        if overload._schema.kind is SchemaKind.OUT:
            raise RegistrationError(f"Out variants do not support forward-mode AD: {overload._schema}")
        before = overload.jvp_function, overload.jvp_source
        overload.set_jvp(fn, source or caller())
        self._undo.append(lambda: overload.set_jvp(*before))

    def _register_torch_dispatch_rule(
        self, op_name: str | OpOverload, torch_dispatch_class: type, fn: Callable[..., Any]
    ) -> None:
        """For tensors or modes of a class the operator runs ``fn`` in place of its ``__torch_dispatch__``."""
        op = self._resolve(op_name)
        key = op, torch_dispatch_class
        if key in dispatch_rules:
            raise RuntimeError(f"{key[1]} already has a `__torch_dispatch__` rule registered for {op.name()}")
        dispatch_rules[key] = fn
        self._undo.append(lambda: dispatch_rules.__delitem__(key))

    def _destroy(self) -> None:
        """Takes back all that this library registered."""
        self._finalizer()

    def _require_alive(self) -> None:
        if not self._finalizer.alive:
            raise RegistrationError(f"Library object has been destroyed: {self!r}")

    def _resolve(self, op_name: str | OpOverload) -> OpOverload:
        if isinstance(op_name, OpOverload):
            op_name = op_name.name()
        if not isinstance(op_name, str):
            raise RuntimeError(
                "an operator should be given as its name or as an OpOverload object, as the first argument, got "
                f"{type(op_name)}"
            )
        namespace, colons, name = op_name.rpartition("::")
        if colons and namespace != self.ns:
            raise RegistrationError(
                f"{op_name}: Explicitly provided namespace ({namespace}) in operator name does not match namespace of "
                f"enclosing library ({self.ns})"
            )
        return _ops.find(f"{self.ns}::{name}")

    def _push(self, overload: OpOverload, key: str, kernel: Kernel) -> None:
        self._undo.append(_pushed(overload, key, kernel))

    def _register(self, name: str, key: str, do: Callable[[str], Callable[[], object]]) -> None:
        """Registers at a key, which ``name`` means now; ``do(key)`` gives what takes it back."""
        if "PrivateUse1" not in name or key.endswith("PrivateUse1"):
            self._undo.append(do(key))
            return
        made = _Registration(name, do, do(key))
        self._undo.append(made.take_back)
        _of_private_use1[made] = None


def register(
    lib: Library, op_name: str, dispatch_key: str, *, source: str | None = None
) -> Callable[[Function], Function]:
    """Decorator: registers the function as ``op_name``'s kernel at a dispatch key (``Meta`` for the fake rule)."""

    def decorate(function: Function) -> Function:
        if dispatch_key == "Meta":
            lib.register_fake(op_name, function, source=source)
        else:
            lib.impl(op_name, function, dispatch_key, source=source)
        return function

    return decorate


def parse(text: str) -> Schema:
    """`parse_schema`, which takes the spacing of native_functions.yaml only, for schemas written by hand.

    Raises SchemaError, a RuntimeError.
    """
    return parse_schema(_SEPARATOR.sub(lambda m: m[1] or _SPACED[m[2]], text).strip())


def canonical_key(overload: OpOverload, name: str) -> str:
    """A dispatch key's own name. Raises RuntimeError where there is no such key."""
    try:
        return _core.key_name(name)
    except ValueError as error:
        raise RegistrationError(f"{overload.name()}: {error}") from None


def caller() -> str:
    """``file.py:line`` of the innermost frame outside this package: where somebody registers something."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        frame = frame.f_back
    return "<unknown>" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _claim_namespace(ns: str, undo: list[Callable[[], object]]) -> None:
    if ns in _definers:
        raise RegistrationError(
            f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}; define everything in one "
            f'Library("{ns}", "DEF"), or use the kind "FRAGMENT" to define operators in several places, or "IMPL" to '
            f"register kernels. Previous registration at {_definers[ns]}; latest registration at {caller()}"
        )
    _definers[ns] = caller()
    undo.append(lambda: _definers.__delitem__(ns))


def _require_fake_allowed(overload: OpOverload, allow_override: bool) -> None:
    text = f"register_fake(...): the operator {overload.name()} already has"
    if overload.has_kernel("CompositeImplicitAutograd"):
        raise RegistrationError(
            f"{text} an implementation for this device type via a pre-existing registration to "
            "DispatchKey::CompositeImplicitAutograd. CompositeImplicitAutograd operators do not need a fake impl; "
            "the operators that they are composed of have fake impls."
        )
    meta = find_meta(overload)
    if allow_override or meta is None or meta.placeholder:
        return
    what = "a fake impl" if meta.fake else "a DispatchKey::Meta implementation via a pre-existing registration"
    raise RegistrationError(f"{text} {what} registered at {meta.source}.")


def _keys_of(name: str) -> list[str]:
    """The dispatch keys that a name stands for. Raises RuntimeError for an unknown one."""
    try:
        return _core.key_names(_core.key_mask(name))
    except ValueError as error:
        raise RegistrationError(str(error)) from None


@dataclasses.dataclass(eq=False)
class _Registration:
    """What a program registered by a key's name."""

    name: str
    do: Callable[[str], Callable[[], object]]
    undo: Callable[[], object]

    def take_back(self) -> None:
        _of_private_use1.pop(self, None)
        self.undo()


_of_private_use1: dict[_Registration, None] = {}  # by that name, while it is the NPU's


def _private_use1_renamed() -> None:
    """A program may register kernels of its device before it names it, as in PyTorch: they are not the NPU's."""
    while _of_private_use1:
        made = next(iter(_of_private_use1))
        del _of_private_use1[made]
        made.undo()
        made.undo = made.do(_core.key_name(made.name))


_hooks.fill(private_use1_renamed=_private_use1_renamed)


def _pushed(overload: OpOverload, key: str, kernel: Kernel) -> Callable[[], object]:
    push(overload, key, kernel)
    return lambda: pop(overload, key, kernel)


def _with_fallback(key: str, fn: Any, source: str, with_keyset: bool, excluded: list[str]) -> Callable[[], object]:
    before = _core.set_fallback(key, fn, source, with_keyset, excluded)
    _fallbacks[key] = source
    return lambda: _restore_fallback(key, before)


def _restore_fallback(key: str, before: tuple[Any, ...]) -> None:
    del _fallbacks[key]
    _core.set_fallback(key, *before)


def _at(overload: OpOverload, key: str) -> str:
    source = overload.kernel_sources().get(key)
    return f" at {source}" if source else ""


def _undo_all(undo: list[Callable[[], object]], impls: set[str], own: set[str]) -> None:
    impls -= own
    while undo:
        undo.pop()()


def _as_written(fn: Callable[..., Any], with_keyset: bool) -> Callable[..., Any]:
    """A fallback that is given arguments as a caller would write them, without those that equal their default."""

    @functools.wraps(fn)
    def called(*given: Any, **kwargs: Any) -> Any:
        first = 1 + with_keyset
        args, keywords = without_defaults(given[with_keyset], given[first:], kwargs)
        return fn(*given[:first], *args, **keywords)

    return called
