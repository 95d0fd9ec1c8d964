"""Kernels that are made of another one: variants of an operator, and the way over the host."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import opschema
from mtcodegen.entries.schemas import aliased_argument, fresh_returns, is_tensor, is_tensor_list, tensor_arguments
from mtcodegen.entries.variants import tensor_options
from mtcodegen.pycode.expressions import attribute, by_name
from mtcodegen.pycode.literals import quoted
from mtcodegen.pycode.names import Names, Parameters, return_annotation
from opschema import Schema, SchemaKind

__all__ = ["autocast_statements", "call_of", "fallback_statements", "variant_statements"]

Builtin: TypeAlias = Callable[[str], str]  # how a builtin is spelled where an operator may have its name


def call_of(base: Schema, spelled: Mapping[str, str]) -> str:
    """A call of an operator with a value for each argument."""
    positional = [spelled[argument.name] for argument in base.positional]
    keywords = [by_name(argument.name, spelled[argument.name]) for argument in base.kwarg_only]
    operator = attribute("torch.ops", base.namespace or "", base.name, base.overload or "default")
    return f"{operator}({', '.join(positional + keywords)})"


def variant_statements(schema: Schema, base: Schema, parameters: Parameters, builtin: Builtin) -> list[str]:
    """The body of a variant, which calls ``base``: on copies of what ``base`` writes to and the variant does not."""
    local = parameters.local_names()
    writes = {argument.name for argument in schema.arguments if argument.is_write}
    copied = [argument for argument in base.arguments if argument.is_write and argument.name not in writes]
    copies = {argument.name: local.unique(f"{argument.name}_out") for argument in copied}
    lines = [f"{copies[arg.name]}: {_annotation(arg)} = {_clone(arg, parameters)}" for arg in copied]
    call = call_of(base, {**parameters.spelled, **copies, **_options(schema, base, parameters)})
    if schema.kind is SchemaKind.FUNCTIONAL:
        return lines + _functional(schema, base, copies, call, local)
    given = {argument.name for argument in base.arguments if argument.is_write}
    targets = [argument for argument in schema.arguments if argument.is_write and argument.name not in given]
    if base.returns:
        results = [local.unique("result" if len(targets) == 1 else f"result{i}") for i in range(len(targets))]
        lines.append(f"{', '.join(results)} = {call}")
    else:  # an in-place operator that hands nothing back has written to the copies
        results = list(copies.values())
        lines.append(call)
    for argument, result in zip(targets, results, strict=True):
        lines += _copied(schema, argument, parameters.spelled[argument.name], result, local, builtin)
    back = [arg.name for ret in schema.returns if (arg := aliased_argument(schema, ret))]
    return [*lines, f"return {', '.join(parameters.spelled[name] for name in back)}"] if back else lines


def _annotation(argument: opschema.Argument) -> str:
    return "list[Tensor]" if is_tensor_list(argument.type) else "Tensor"


def _clone(argument: opschema.Argument, parameters: Parameters) -> str:
    name = parameters.spelled[argument.name]
    return f"[item.clone() for item in {name}]" if is_tensor_list(argument.type) else f"{name}.clone()"


def _options(schema: Schema, base: Schema, parameters: Parameters) -> dict[str, str]:
    """What a factory's result is, which its out variant does not take, since ``out`` has it."""
    there = {argument.name for argument in schema.arguments}
    types = {argument.name: argument.type for argument in base.kwarg_only if argument.name not in there}
    gone = [name for name in tensor_options(base) if name in types]
    if not gone:
        return {}
    out = parameters.spelled[schema.out_arguments[0].name]
    # Of memory that is there already, layout and pinning are settled.
    settled = {"layout": "torch.strided", "pin_memory": "False"}
    return {name: f"{out}.{name}" if name not in settled else _default(types[name], settled[name]) for name in gone}


def _default(type_: opschema.Type, value: str) -> str:
    return "None" if isinstance(type_, opschema.OptionalType) else value


def _functional(schema: Schema, base: Schema, copies: dict[str, str], call: str, local: Names) -> list[str]:
    """What ``base`` returns, and the copies that it wrote to and does not return."""
    back = {arg.name for ret in base.returns if (arg := aliased_argument(base, ret))}
    values = [copy for name, copy in copies.items() if name not in back]
    if not base.returns:
        return [call, f"return {', '.join(values)}"]
    result = local.unique("result")
    if not values:
        return [f"{result}: {return_annotation(schema)} = {call}", f"return {result}"]
    fresh = result if len(base.returns) == 1 else f"*{result}"
    return [f"{result} = {call}", f"return {', '.join([fresh, *values])}"]


def _copied(
    schema: Schema, argument: opschema.Argument, target: str, result: str, local: Names, builtin: Builtin
) -> list[str]:
    """``result`` into an argument, which must fit, as copying would broadcast and convert silently."""
    name, length = argument.name, builtin("len")
    title = "the output" if schema.kind is SchemaKind.OUT else "the result"
    if not is_tensor_list(argument.type):
        return _copied_tensor(schema, name, target, result, title)
    one, other = local.unique(f"{name}_item"), local.unique(f"{result}_item")
    text = quoted(f"`{name}` to have the length of {title}")
    got = f'{{"{name}": {length}({target}), "result": {length}({result})}}'
    return [
        f"if {length}({target}) != {length}({result}):",
        f"    raise library.check_error({quoted(schema.qualname)}, {text}, {got})",
        f"for {one}, {other} in {builtin('zip')}({target}, {result}, strict=True):",
        *(f"    {line}" for line in _copied_tensor(schema, name, one, other, title)),
    ]


def _copied_tensor(schema: Schema, name: str, target: str, result: str, title: str) -> list[str]:
    pair = f"({target}.shape, {target}.dtype) != ({result}.shape, {result}.dtype)"
    got = f'{{"{name}": ({target}.shape, {target}.dtype), "result": ({result}.shape, {result}.dtype)}}'
    text = quoted(f"`{name}` to have the shape and dtype of {title}")
    resized = [f"if {target}.numel() == 0:", f"    {target}.resize_({result}.shape)"]
    return [
        *(resized if schema.kind is SchemaKind.OUT else []),
        f"if {pair}:",
        f"    raise library.check_error({quoted(schema.qualname)}, {text}, {got})",
        f"{target}.copy_({result})",
    ]


# ---------------------------------------------------------------- over the host


def fallback_statements(schema: Schema, parameters: Parameters, builtin: Builtin) -> list[str]:
    """The body of a kernel for any device that runs the one for cpu on copies, and brings back what that made."""
    local = parameters.local_names()
    lines, spelled = [], dict(parameters.spelled)
    for argument in schema.arguments:
        moved = _moved(argument.type, parameters.spelled[argument.name], quoted("cpu"))
        if argument.is_write or is_tensor_list(argument.type):
            spelled[argument.name] = local.unique(f"{argument.name}_cpu")
            lines.append(f"{spelled[argument.name]} = {moved}")
        else:
            spelled[argument.name] = moved
    call = call_of(schema, spelled)
    device = f"{parameters.spelled[tensor_arguments(schema)[0].name]}.device"
    count = len(schema.returns)
    results = [local.unique("result" if count == 1 else f"result{i}") for i in range(count)]
    lines.append(f"{', '.join(results)} = {call}" if fresh_returns(schema) else call)
    for argument in schema.arguments:
        if argument.is_write:
            target = parameters.spelled[argument.name]
            lines += _written_back(argument.type, target, spelled[argument.name], local, builtin)
    values = []
    for ret, result in zip(schema.returns, results, strict=True):
        written = aliased_argument(schema, ret)
        values.append(parameters.spelled[written.name] if written else _moved(ret.type, result, device))
    if len(values) == 1 and values[0] != results[0] and aliased_argument(schema, schema.returns[0]) is None:
        moved = local.unique("moved")
        return [*lines, f"{moved}: {return_annotation(schema)} = {values[0]}", f"return {moved}"]
    return [*lines, f"return {', '.join(values)}"] if values else lines


def _written_back(type_: opschema.Type, target: str, value: str, local: Names, builtin: Builtin) -> list[str]:
    """The statements that copy ``value``, what a kernel wrote to, into ``target``."""
    if isinstance(type_, opschema.OptionalType):
        inner = _written_back(type_.elem, target, value, local, builtin)
        return [f"if {target} is not None and {value} is not None:", *(f"    {line}" for line in inner)]
    if not isinstance(type_, opschema.ListType):
        return [f"{target}.copy_({value})"]
    item, other = local.unique(f"{target}_item"), local.unique(f"{value}_item")
    inner = _written_back(type_.elem, item, other, local, builtin)
    pairs = f"{builtin('zip')}({target}, {value}, strict=True)"
    return [f"for {item}, {other} in {pairs}:", *(f"    {line}" for line in inner)]


# ---------------------------------------------------------------- in another dtype


def autocast_statements(schema: Schema, parameters: Parameters, key: str, policy: str) -> list[str]:
    """The body of a kernel at an autocast key: the operator again, below that key, with floating-point tensors cast."""
    local = parameters.local_names()
    lines, dtype = [], f"torch.{policy}"
    if policy == "promote":
        dtypes = [f"{parameters.spelled[argument.name]}.dtype" for argument in tensor_arguments(schema)]
        dtype, widest = local.unique("dtype"), dtypes[0]
        for other in dtypes[1:]:
            widest = f"torch.promote_types({widest}, {other})"
        lines.append(f"{dtype} = {widest}")
    spelled = dict(parameters.spelled)
    for argument in schema.arguments:
        if opschema.base_of(argument.type).name == "Tensor":
            spelled[argument.name] = local.unique(f"{argument.name}_cast")
            lines.append(f"{spelled[argument.name]} = {_cast(argument.type, parameters.spelled[argument.name], dtype)}")
    keys = f"torch._C.DispatchKeySet(torch._C.DispatchKey.__members__[{quoted(key)}])"
    guard = f"torch._C._ExcludeDispatchKeyGuard({keys})"
    result = local.unique("result")
    call = (
        f"{result}: {return_annotation(schema)} = {call_of(schema, spelled)}"
        if schema.returns
        else call_of(schema, spelled)
    )
    return [*lines, f"with {guard}:", f"    {call}", *([f"return {result}"] if schema.returns else [])]


def _cast(type_: opschema.Type, value: str, dtype: str) -> str:
    """Floating-point tensors in another dtype; float64 is somebody's intention, and stays."""
    if isinstance(type_, opschema.OptionalType):
        return f"{value} if {value} is None else {_cast(type_.elem, value, dtype)}"
    if isinstance(type_, opschema.ListType):
        return f"[{_cast(type_.elem, 'item', dtype)} for item in {value}]"
    return f"{value}.to({dtype}) if {value}.is_floating_point() and {value}.dtype != torch.float64 else {value}"


def _moved(type_: opschema.Type, value: str, device: str) -> str:
    """A value of the schema's type with its tensors on another device."""
    if isinstance(type_, opschema.OptionalType):
        moved = _moved(type_.elem, value, device)
        return moved if moved == value else f"None if {value} is None else {moved}"
    if is_tensor_list(type_) and isinstance(type_, opschema.ListType):
        return f"[{_moved(type_.elem, 'item', device)} for item in {value}]"
    return f"{value}.to({device})" if is_tensor(type_) else value
