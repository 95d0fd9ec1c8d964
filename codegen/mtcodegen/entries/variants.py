"""Variants of one entry: out, in-place and functional operators that are made of it, by PyTorch's rules for schemas."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import opschema
from mtcodegen.entries.inplace import written_in_place, written_to_a_copy
from mtcodegen.entries.model import Backward, File, KernelSpec, OpSpec, Variant
from mtcodegen.entries.schemas import is_tensor
from mtcodegen.expr import ExpressionError
from mtcodegen.findings.codes import Code
from mtcodegen.findings.diagnostics import Diagnostic, suggest
from mtcodegen.findings.source import Place, Text
from mtcodegen.pycode.names import taken
from opschema import Alias, Argument, Return, Schema, SchemaKind

__all__ = [
    "calling",
    "expand",
    "functional_name",
    "is_variant",
    "renamed",
    "tensor_options",
    "variant_name",
    "variant_named",
    "variants_of",
]

_KEPT_TAGS = ("nondeterministic_seeded", "view_copy", "pt2_compliant_tag")  # that hold for variants, too
_TENSOR_OPTIONS = ("dtype", "layout", "device", "pin_memory")
_WORDS = {SchemaKind.OUT: "The out variant", SchemaKind.INPLACE: "The in-place variant"}
_EXTRA_TAGS = {SchemaKind.OUT: ("out",), SchemaKind.INPLACE: ("inplace",)}


def expand(file: File) -> tuple[File, list[Diagnostic]]:
    """The file with the variants that its entries ask for, each behind its entry."""
    ops: list[OpSpec] = []
    found: list[Diagnostic] = []
    for spec in file.ops:
        first = len(ops)
        ops.append(spec)
        for name, asked in _asked(spec):
            schema = variant_named(spec.schema, _bare(name, spec.schema), asked.value in spec.autogen_as)
            if schema is None:
                possible = [variant_name(variant) for variant in variants_of(spec.schema)]
                known = f"possible are {', '.join(possible)}" if possible else "there is nothing to make of it"
                message = f"`{name}` is not a variant of {spec.schema.qualname}"
                hint = suggest(name.rpartition("::")[2], possible) or known
                found.append(Diagnostic(Code.MT130, message, asked.locate_item(name), hint))
                continue
            try:
                ops.append(_variant(spec, schema, asked))
            except ExpressionError:  # a namespace or name that is a word of the expression language
                message = f"`{name}` cannot be made: it would call {spec.schema.qualname}, which no formula can name"
                found.append(Diagnostic(Code.MT130, message, asked.locate_item(name), "declare it as an entry"))
        made: list[OpSpec] = []
        for asked in spec.aliases:
            if fault := _alias_fault(spec.schema, asked.value):
                found.append(Diagnostic(Code.MT130, f"`{asked.value}` {fault}", asked.span, "choose another name"))
            else:
                variants = spec.aliases_as.get(asked.value)
                # A name that is said to be no method has no variant in place, which is called as one.
                as_method = variants is None or "method" in variants
                family = [one for one in ops[first:] if as_method or not _is_in_place_of(one.schema, spec.schema)]
                made += _aliases(spec, family, asked)
        ops += made
    return replace(file, ops=tuple(ops)), found


def is_variant(spec: OpSpec) -> bool:
    """Whether `autogen` made the operator of an entry; then faults are reported for that entry alone."""
    return spec.made_of is not None


def _alias_fault(schema: Schema, name: str) -> str:
    """Why an operator cannot have another name; empty where it can."""
    if taken(schema.namespace or "", name, schema.overload) is not None:
        return "is taken, and cannot name an operator"
    try:
        replace(schema, name=name)
    except opschema.SchemaError as error:
        return f"cannot be another name of {schema.qualname}: {str(error).splitlines()[0]}"
    return ""


def _is_in_place_of(variant: Schema, schema: Schema) -> bool:
    return variant.kind is SchemaKind.INPLACE and schema.kind is not SchemaKind.INPLACE


def _aliases(spec: OpSpec, family: Sequence[OpSpec], asked: Text) -> Iterator[OpSpec]:
    """An entry and its variants under another name, overload by overload."""
    schemas = renamed([one.schema for one in family], asked.value)
    for one, schema in zip(family, schemas, strict=True):
        made = replace(
            one,
            place=Place(asked.span),
            func=asked,
            schema=schema,
            doc=f"Another name of ``{variant_name(one.schema)}``.",
            aliases=(),
            autogen=(),
            autogen_as={},
            deprecated="",
            examples=(),
            output_differentiability=(),
            fakes=(),
            fake_function=None,
            autocast=(),
            graph_update=(),
            fallback="",
            variants=spec.aliases_as.get(asked.value) or one.variants,
            made_of=one.schema,
        )
        yield calling(made)


def renamed(family: Sequence[Schema], name: str) -> list[Schema]:
    """An entry's schema and those of its variants under another name; a variant gains or loses a `_` at its end."""
    base = family[0].name
    longer = {base: name, f"{base}_": f"{name}_", base.removesuffix("_"): name.removesuffix("_")}
    return [replace(schema, name=name if schema.name == base else longer.get(schema.name, name)) for schema in family]


def _asked(spec: OpSpec) -> Iterator[tuple[str, Text]]:
    for asked in spec.autogen:
        for name in asked.value.split(","):
            yield name.strip(), asked


def _bare(name: str, schema: Schema) -> str:
    """A variant's name without the namespace, which is always that of its operator."""
    return name.removeprefix(f"{schema.namespace}::")


def variant_name(schema: Schema) -> str:
    """How ``autogen`` names an operator: without its namespace."""
    return f"{schema.name}.{schema.overload}" if schema.overload else schema.name


def _variant(spec: OpSpec, schema: Schema, asked: Text) -> OpSpec:
    """The variant ``schema`` of an entry: with the entry's own kernels where possible, else with one that calls it."""
    published = spec.autogen_as.get(asked.value)
    # An in-place variant has the shape of its result, and stays pointwise; an out variant resizes its argument.
    in_place = ("pointwise",) if schema.kind is SchemaKind.INPLACE else ()
    kept = tuple(tag for tag in spec.tags if tag in (*_KEPT_TAGS, *in_place))
    made = OpSpec(
        place=Place(asked.span),
        func=asked,
        schema=schema,
        doc=f"{_WORDS.get(schema.kind, 'The functional variant')} of ``{variant_name(spec.schema)}``.",
        tags=("generated", *_EXTRA_TAGS.get(schema.kind, ()), *kept) if published is None else spec.tags,
        variants=published or ("function",),
        device_check=spec.device_check,
        overlap_check=spec.overlap_check,
        made_of=spec.schema,
    )
    return written_in_place(spec, made) or written_to_a_copy(spec, made) or calling(made)


def calling(made: OpSpec) -> OpSpec:
    """A variant whose only kernel calls the operator it is made of."""
    asked, base = made.func, made.made_of
    # PyTorch's out variants are not differentiable; the others are, through the operators that they call.
    backward = Backward(asked, marker="not_implemented") if made.schema.kind is SchemaKind.OUT else None
    kernel = KernelSpec(made.place, (), (), None, Variant(base or made.schema))
    return replace(made, checks=(), kernels=(kernel,), backward=backward, forward=None)


def variants_of(schema: Schema) -> list[Schema]:
    """The schemas that can be made of ``schema``."""
    made = [variant_named(schema, name) for name in _makers(schema)]
    return [variant for variant in made if variant is not None]


def variant_named(schema: Schema, name: str, published: bool = False) -> Schema | None:
    """The variant of ``schema`` that is called ``name`` or ``name.overload``; None where none is made.

    The out arguments of one that is ``published``, as PyTorch's own are that users call, have the names of the results.
    """
    plain = schema.in_namespace(None)
    called = _out_maker(plain, name)
    maker = called if published and called is not None else _makers(plain).get(name) or called
    if maker is None or ".__" in name:  # of an overload `_`: names that begin with `__` are Python's own
        return None
    made = maker(plain)
    return None if made is None else made.in_namespace(schema.namespace)


def _out_maker(schema: Schema, name: str) -> Callable[[Schema], Schema | None] | None:
    """What makes the out variant of a functional operator under an overload of another name.

    That has `out`, or the name of a result, as a part: `add.out` of `add.Tensor`, `sort.values`. Results with names
    give these to the arguments.
    """
    base, _, overload = name.partition(".")
    named = [ret.name for ret in schema.returns if ret.name]
    telling = {"out", *named}
    if schema.kind is not SchemaKind.FUNCTIONAL or base != schema.name or overload == schema.overload:
        return None
    if telling.isdisjoint(overload.split("_")) and not overload.startswith("Out"):
        return None

    def maker(functional: Schema) -> Schema | None:
        names = named if len(named) == len(schema.returns) > 1 else None
        made = _functional_to_out(functional, names)
        if made is None:
            return None
        called: Sequence[str | None] = names or [None] * len(made.returns)
        returns = tuple(replace(ret, name=name) for ret, name in zip(made.returns, called, strict=False))
        return replace(made, overload=overload, returns=returns)

    return maker


def _makers(schema: Schema) -> dict[str, Callable[[Schema], Schema | None]]:
    """The functions that make the variants of a schema, by the names of the variants."""
    overload = f".{schema.overload}" if schema.overload else ""
    match schema.kind:
        case SchemaKind.FUNCTIONAL:
            return {
                f"{schema.name}.{_out_overload(schema)}": _functional_to_out,
                f"{schema.name}_{overload}": _functional_to_inplace,
            }
        case SchemaKind.INPLACE:
            name = functional_name(schema)
            return {f"{name}{overload}": _inplace_to_functional, f"{name}.{_out_overload(schema)}": _inplace_to_out}
        case SchemaKind.MUTABLE:
            return {
                f"{schema.name}_functional{overload}": _mutable_to_functional,
                f"{schema.name}.{_out_overload(schema)}": _functional_to_out,
            }
    return {}


def _is_writable(type_: opschema.Type) -> bool:
    """A tensor, or a list of them: what a variant can write to."""
    return is_tensor(type_) or (isinstance(type_, opschema.ListType) and is_tensor(type_.elem))


def _handed_back(written: Iterable[Argument]) -> tuple[Return, ...]:
    """The returns of an operator that writes to its arguments: all of these, or nothing where one is a list."""
    returns = tuple(Return(argument.type, None, argument.alias) for argument in written)
    return returns if all(is_tensor(ret.type) for ret in returns) else ()


def _out_overload(schema: Schema) -> str:
    return f"{schema.overload}_out" if schema.overload else "out"


def _plain(argument: Argument) -> Argument:
    return argument if argument.alias is None else replace(argument, alias=None)


def _write(letter: str) -> Alias:
    return Alias((letter,), True, ())


def _functional_to_out(schema: Schema, called: Sequence[str] | None = None) -> Schema | None:
    """An out argument for each output, ``called`` so or ``out0``, ``out1``.

    Factories lose dtype, device and the like, which ``out`` has.
    """
    if not schema.returns or any(not _is_writable(ret.type) or ret.alias is not None for ret in schema.returns):
        return None
    taken = {letter for argument in schema.arguments if argument.alias for letter in argument.alias.before}
    letters = [letter for letter in string.ascii_lowercase if letter not in taken]
    numbered = ["out"] if len(schema.returns) == 1 else [f"out{i}" for i in range(len(schema.returns))]
    names = list(called or numbered)
    if len(letters) < len(names) or {argument.name for argument in schema.arguments} & {*names}:
        return None
    options = set(tensor_options(schema))
    kept = [argument for argument in schema.arguments if argument.name not in options]
    types = [ret.type for ret in schema.returns]
    outs = [Argument(n, t, None, True, _write(x)) for n, t, x in zip(names, types, letters, strict=False)]
    returns = _handed_back(outs)
    return replace(schema, overload=_out_overload(schema), arguments=(*kept, *outs), returns=returns)


def tensor_options(schema: Schema) -> tuple[str, ...]:
    """The keyword-only arguments, one behind the other, that say what a factory's result is; none, or all four."""
    names = [argument.name for argument in schema.kwarg_only]
    found = any(tuple(names[i : i + len(_TENSOR_OPTIONS)]) == _TENSOR_OPTIONS for i in range(len(names)))
    return _TENSOR_OPTIONS if found else ()


def _functional_to_inplace(schema: Schema) -> Schema | None:
    first = schema.arguments[0] if schema.arguments else None
    if first is None or first.kwarg_only or first.alias is not None or schema.name.endswith("_"):
        return None
    if not _is_writable(first.type) or [ret.type for ret in schema.returns] != [first.type]:
        return None
    if schema.returns[0].alias is not None or any(argument.alias for argument in schema.arguments):
        return None
    written = replace(first, alias=_write("a"))
    returns = _handed_back([written])
    return replace(schema, name=f"{schema.name}_", arguments=(written, *schema.arguments[1:]), returns=returns)


def functional_name(schema: Schema) -> str:
    """``add`` for ``add_``, ``__add__`` for ``__iadd__``; the name of any operator that is not in-place by name."""
    if not schema.is_inplace_name:
        return schema.name
    return f"__{schema.name[3:]}" if schema.name.endswith("__") else schema.name[:-1]


def _inplace_to_functional(schema: Schema) -> Schema | None:
    return _without_writes(schema, functional_name(schema))


def _inplace_to_out(schema: Schema) -> Schema | None:
    """The result goes to ``out`` in place of the first argument; what else is written to stays so."""
    first, *others = schema.arguments
    if not _is_writable(first.type) or not first.is_write or any(argument.name == "out" for argument in others):
        return None
    out = Argument("out", first.type, None, True, first.alias)
    arguments = (_plain(first), *others, out)
    return replace(schema, name=functional_name(schema), overload=_out_overload(schema), arguments=arguments)


def _mutable_to_functional(schema: Schema) -> Schema | None:
    return _without_writes(schema, f"{schema.name}_functional")


def _without_writes(schema: Schema, name: str) -> Schema | None:
    """What was written to and not returned is returned, too, behind the other outputs."""
    written = [argument for argument in schema.arguments if argument.is_write]
    if not written or any(not _is_writable(argument.type) for argument in written):
        return None
    back = {ret.alias for ret in schema.returns}
    returns = [Return(ret.type, ret.name) for ret in schema.returns]
    returns += [Return(arg.type, f"{arg.name}_out") for arg in written if arg.alias not in back]
    return replace(schema, name=name, arguments=tuple(map(_plain, schema.arguments)), returns=tuple(returns))
