"""native_functions.yaml: every entry with all its keys, as values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from collections.abc import Mapping as MappingOf
from typing import Any

import opschema
from mtcodegen.document.nodes import Mapping, Node, Scalar
from mtcodegen.findings.codes import Code
from mtcodegen.findings.diagnostics import Diagnostic, Related, suggest
from mtcodegen.findings.source import Place, Span, Text
from mtcodegen.importer.pytorch.entries import (
    DEVICE_CHECKS,
    VARIANTS,
    EntryReader,
    part_span,
    shown_values,
    split_names,
)
from mtcodegen.system.values import dataclass

__all__ = ["CPP_KEYS", "Dispatch", "NativeFunction", "Precomputed", "read_native_functions"]

# Keys that say how PyTorch's C++ is generated, and why each has no counterpart.
CPP_KEYS = {
    "structured": "kernels are not split into shape and computation",
    "structured_inherits": "a C++ base class",
    "structured_delegate": "an operator does not share the kernel of its `out` variant",
    "python_module": "operators are in `torch.ops` only",
    "category_override": "a choice of PyTorch's code generator",
    "device_guard": "a kernel always runs on the device of its arguments",
    "cpp_no_default_args": "a C++ signature",
    "manual_cpp_binding": "a C++ binding",
    "manual_kernel_registration": "a C++ registration",
    "precomputed": "values for C++ kernels",
    "ufunc_inner_loop": "a C++ inner loop",
    "use_const_ref_for_mutable_tensors": "a C++ signature",
}

_KEYS = ("func", "variants", "device_check", "dispatch", "tags", "autogen", *CPP_KEYS)
_UFUNC_KEYS = ("Generic", "ScalarOnly", "CUDAFunctorOnSelf", "CUDAFunctorOnOther", "CPUScalar", "CPUVector")

# Dispatch keys are a functionality and a device, or stand for themselves.
_DEVICES = "CPU|CUDA|HIP|XLA|MTIA|MPS|IPU|XPU|HPU|VE|Lazy|Meta|MAIA|PrivateUse[123]"
_DISPATCH_KEY = re.compile(
    rf"(?:Quantized|Sparse|SparseCsr|NestedTensor|Autograd)?(?:{_DEVICES})"
    r"|Composite(?:Explicit|Implicit)Autograd(?:NestedTensor|NonFunctional)?"
    r"|MkldnnCPU|ZeroTensor|Vulkan|Metal|FPGA|Functionalize|Conjugate|Negative|BackendSelect|Python|ADInplaceOrView"
)
_OPERATOR = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?", re.ASCII)
_REPLACEMENT = re.compile(r"([A-Za-z_][\w:]*(?:\[\d*\]|\?)*) ([A-Za-z_]\w*)", re.ASCII)
_PRECOMPUTED = re.compile(r"(\w+) -> (.+)", re.ASCII)


@dataclass(frozen=True, eq=False)
class Dispatch:
    """A kernel and the dispatch keys it is for."""

    keys: tuple[str, ...]
    kernel: str
    text: Text


@dataclass(frozen=True, eq=False)
class Precomputed:
    """``argument -> type name, ...``, in C++'s types; with no ``argument``, values that are added."""

    argument: str
    replacements: tuple[tuple[str, str], ...]


@dataclass(frozen=True, eq=False)
class NativeFunction:
    """One entry. What a key says when it is left out is the default."""

    place: Place
    func: Text
    schema: opschema.Schema
    cpp: MappingOf[str, str]  # the values of ``CPP_KEYS``
    variants: tuple[str, ...] = ("function",)
    python_module: str = ""
    structured: bool = False
    structured_delegate: str = ""
    structured_inherits: str = ""
    category_override: str = ""
    device_check: str = "ExactSame"
    device_guard: bool = True
    dispatch: tuple[Dispatch, ...] = ()
    tags: tuple[str, ...] = ()
    autogen: tuple[str, ...] = ()
    autogen_span: Span | None = None
    cpp_no_default_args: tuple[str, ...] = ()
    manual_cpp_binding: bool = False
    manual_kernel_registration: bool = False
    precomputed: tuple[Precomputed, ...] = ()
    ufunc_inner_loop: tuple[tuple[str, str], ...] = ()
    use_const_ref_for_mutable_tensors: bool = False

    @property
    def is_composite(self) -> bool:
        """Whether it is made of other operators, so that autograd needs no formula."""
        return not self.dispatch and not self.structured and not self.structured_delegate


def _known_dispatch_key(name: str) -> bool:
    return _DISPATCH_KEY.fullmatch(name) is not None


def read_native_functions(document: Node | None) -> tuple[list[NativeFunction], list[Diagnostic]]:
    """The entries of a file in the form of native_functions.yaml, references between them checked."""
    reader = _Reader()
    found = [reader.entry(item) for item in reader.items(document, "native_functions.yaml")]
    functions = [item for item in found if item is not None]
    reader.check_references(functions)
    return functions, reader.diagnostics


class _Reader(EntryReader):
    def __init__(self) -> None:
        super().__init__()
        self.nodes: dict[NativeFunction, Mapping] = {}

    def entry(self, node: Mapping) -> NativeFunction | None:
        self.check_keys(node, _KEYS, ("func",))
        func = self.scalar(node, "func")
        schema = None if func is None else self.schema(func)
        if func is None or schema is None:
            return None
        given = {name: _READERS[name](self, node) for name in node.entries if name in _READERS}
        if "precomputed" in node.entries:
            given["precomputed"] = self.precomputed(node.get("precomputed"), schema)
        if "autogen" in node.entries:
            given["autogen_span"] = node.entries["autogen"][1].span
        function = NativeFunction(node.place, func, schema, shown_values(node, CPP_KEYS), **given)
        self.nodes[function] = node
        self.check_arguments(function, node)
        return function

    def dispatch(self, node: Node | None) -> tuple[Dispatch, ...]:
        if node is None:
            return ()
        if not isinstance(node, Mapping):
            self.fault(Code.MT112, f"`dispatch` is a mapping, and this is a {node.kind}", node)
            return ()
        found: list[Dispatch] = []
        seen: dict[str, Scalar] = {}
        for key, value in node.entries.values():
            names = split_names(key.value)
            for name in names:
                if not _known_dispatch_key(name):
                    self.fault_in(
                        key, Code.MT113, f"`{name[:60]}` is not a dispatch key", name, suggest(name, _COMMON_KEYS)
                    )
                if name in seen:
                    first = Related(part_span(seen[name], name), "first given here")
                    message = f"the dispatch key `{name}` is given twice"
                    self.fault_in(key, Code.MT102, message, name, "remove one of them", first)
                seen.setdefault(name, key)
            if not isinstance(value, Scalar):
                self.fault(Code.MT112, f"a kernel is a name, and this is a {value.kind}", value)
            elif self.is_function(value):
                found.append(Dispatch(names, value.value, key))
        return tuple(found)

    def precomputed(self, node: Node | None, schema: opschema.Schema) -> tuple[Precomputed, ...]:
        found: list[Precomputed] = []
        for item in self.scalars(node, "precomputed"):
            match = _PRECOMPUTED.fullmatch(item.value)
            name, listed = match.groups() if match else ("", item.value)
            if name and all(argument.name != name for argument in schema.arguments):
                hint = suggest(name, [argument.name for argument in schema.arguments])
                self.fault_in(item, Code.MT608, f"`{name}` is not an argument of {schema.qualname}", name, hint)
            replacements = self.replacements(item, listed)
            if replacements is not None:
                found.append(Precomputed(name, replacements))
        return tuple(found)

    def replacements(self, node: Scalar, listed: str) -> tuple[tuple[str, str], ...] | None:
        found = [_REPLACEMENT.fullmatch(part) for part in split_names(listed)]
        for part, match in zip(split_names(listed), found, strict=True):
            if match is None:
                self.fault_in(node, Code.MT114, f"`{part[:60]}` is not a type and a name", part, "as in `int kH`")
        return tuple((match[1], match[2]) for match in found if match) if all(found) else None

    def ufuncs(self, node: Node | None) -> tuple[tuple[str, str], ...]:
        if node is None:
            return ()
        if not isinstance(node, Mapping):
            self.fault(Code.MT112, f"`ufunc_inner_loop` is a mapping, and this is a {node.kind}", node)
            return ()
        self.check_keys(node, _UFUNC_KEYS, ())
        return tuple((name, self.text(node, name)) for name in node.entries)

    def check_arguments(self, function: NativeFunction, node: Mapping) -> None:
        schema = function.schema
        if "cpp_no_default_args" in node.entries:
            names = [argument.name for argument in schema.arguments]
            for item in self.scalars(node.get("cpp_no_default_args"), "cpp_no_default_args"):
                if item.value not in names:
                    message = f"`{item.value}` is not an argument of {schema.qualname}"
                    self.fault(Code.MT608, message, item, suggest(item.value, names))
        if "method" in function.variants and all(argument.name != "self" for argument in schema.arguments):
            value = node.entries["variants"][1]
            self.fault(Code.MT131, f"{schema.qualname} has no `self`, and cannot be a method", value)
        if function.structured and schema.kind is not opschema.SchemaKind.OUT:
            hint = "put it on the variant with `out`, and `structured_delegate` here"
            key = node.entries["structured"][0]
            self.fault(Code.MT606, f"a structured kernel writes to `out`, and {schema.qualname} has none", key, hint)
        if function.structured and function.structured_delegate:
            key = node.entries["structured_delegate"][0]
            self.fault(Code.MT115, "an entry cannot have both `structured` and `structured_delegate`", key)

    # ------------------------------------------------------------ between entries

    def check_references(self, functions: Iterable[NativeFunction]) -> None:
        """Names that other entries declare, and entries that are there twice."""
        by_name: dict[str, NativeFunction] = {}
        for function in functions:
            name = function.schema.qualname
            first = by_name.setdefault(name, function)
            if first is not function:
                self.duplicate(function.func, name, first.func)
        made: dict[str, NativeFunction] = {}
        for function in by_name.values():
            if function.structured_delegate:
                self.check_delegate(function, by_name)
            for name in function.autogen:
                self.check_autogen(function, name, by_name, made)

    def check_delegate(self, function: NativeFunction, by_name: dict[str, NativeFunction]) -> None:
        value = self.nodes[function].entries["structured_delegate"][1]
        target = by_name.get(function.structured_delegate)
        if target is None:
            message = f"`{function.structured_delegate[:60]}` is not an operator of this file"
            self.fault(Code.MT601, message, value, suggest(function.structured_delegate, by_name))
        elif not target.structured:
            hint = "give that one `structured: True`"
            there = Related(target.func.span, "it is declared here")
            self.fault(Code.MT606, f"`{function.structured_delegate}` is not structured", value, hint, there)

    def check_autogen(
        self,
        function: NativeFunction,
        name: str,
        by_name: dict[str, NativeFunction],
        made: dict[str, NativeFunction],
    ) -> None:
        value = self.nodes[function].entries["autogen"][1]
        first = by_name.get(name) or made.setdefault(name, function)
        if not _OPERATOR.fullmatch(name):
            self.fault(Code.MT114, f"`{name[:60]}` is not the name of an operator", value, "write `name.overload`")
        # A functional and an in-place entry may both ask for the variant that they share.
        elif name in by_name or _family(first) != _family(function):
            message, hint = f"`{name}` is declared already", "remove one of them"
            there = Related(first.func.span, "by this entry" if name in by_name else "for this entry")
            if isinstance(value, Scalar):
                self.fault_in(value, Code.MT120, message, name, hint, there)
            else:
                self.fault(Code.MT120, message, value, hint, there)


def _text(name: str) -> Callable[[_Reader, Mapping], str]:
    return lambda reader, node: reader.text(node, name)


def _flag(name: str) -> Callable[[_Reader, Mapping], bool]:
    return lambda reader, node: reader.flag(node, name)


def _names(name: str) -> Callable[[_Reader, Mapping], tuple[str, ...]]:
    return lambda reader, node: reader.names(node, name)


# How the value of a key is read, where it is there: an entry has three of these.
_READERS: dict[str, Callable[[_Reader, Mapping], Any]] = {
    "variants": lambda reader, node: reader.choices(node, "variants", VARIANTS) or ("function",),
    **{name: _text(name) for name in ("python_module", "structured_delegate", "structured_inherits")},
    "category_override": _text("category_override"),
    **{name: _flag(name) for name in ("structured", "manual_cpp_binding", "manual_kernel_registration")},
    "device_check": lambda reader, node: (reader.choices(node, "device_check", DEVICE_CHECKS) or ("ExactSame",))[0],
    "device_guard": lambda reader, node: reader.flag(node, "device_guard", True),
    "dispatch": lambda reader, node: reader.dispatch(node.get("dispatch")),
    "tags": lambda reader, node: reader.tags(node),
    **{name: _names(name) for name in ("autogen", "cpp_no_default_args")},
    "ufunc_inner_loop": lambda reader, node: reader.ufuncs(node.get("ufunc_inner_loop")),
    "use_const_ref_for_mutable_tensors": _flag("use_const_ref_for_mutable_tensors"),
}


def _family(function: NativeFunction) -> str:
    return function.schema.name.rstrip("_")


_COMMON_KEYS = (
    *(
        "CPU",
        "CUDA",
        "MPS",
        "Meta",
        "MkldnnCPU",
        "SparseCPU",
        "SparseCUDA",
        "QuantizedCPU",
        "QuantizedCUDA",
        "ZeroTensor",
    ),
    *("SparseCsrCPU", "SparseCsrCUDA", "NestedTensorCPU", "NestedTensorCUDA", "SparseMeta", "SparseCsrMeta"),
    *("CompositeExplicitAutograd", "CompositeImplicitAutograd", "CompositeExplicitAutogradNonFunctional"),
)
