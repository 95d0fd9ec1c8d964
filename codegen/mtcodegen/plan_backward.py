"""Gradients as two functions: what setup saves, and what backward computes from it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import opschema
from mtcodegen.expr import OperatorTable, Purpose, Saved, SavedKind, reads, saved_values, scope_for, use_saved
from mtcodegen.expr.nodes import Attribute, Compare, Conditional, Expr, Index, Literal, Name
from mtcodegen.layout import quoted
from mtcodegen.model import Backward, Derivative, place_of
from mtcodegen.names import BUILTINS, CONTEXT, IMPORTED, Names
from mtcodegen.plan_function import Function
from mtcodegen.plan_kernels import OpPlan
from mtcodegen.scopes import is_tensor_list

__all__ = ["Gradients", "formula_of", "output_spelling", "plan_backward", "unpack"]

_NO_OPERATORS = OperatorTable({})


@dataclass(frozen=True, eq=False)
class Gradients:
    """The functions of an operator's gradient, and the statements that register them."""

    functions: tuple[Function, ...] = ()
    registrations: tuple[str, ...] = ()


def plan_backward(op: OpPlan) -> Gradients:
    """The gradient of ``op``; nothing where it has none, which makes ``backward`` through it an error."""
    backward = op.spec.backward
    if backward is None or backward.marker == "not_implemented":
        return Gradients()
    if backward.function is not None:
        return _hand_written(op, backward)
    markers = {backward.marker} if backward.marker else {item.marker for item in backward.derivatives}
    if markers == {"not_differentiable"}:
        return _not_differentiable(op, backward)
    return _formulas(op, backward)


def _register(op: OpPlan, backward: Backward, function: str, setup: str | None) -> str:
    context = f", setup_context={setup}" if setup else ""
    place = quoted(place_of(backward.key))
    return f'{op.library}.register_autograd("{op.name}", {function}{context}, source={place})'


def _hand_written(op: OpPlan, backward: Backward) -> Gradients:
    def imported(reference: str) -> str:
        return f'library.python_function("{reference}")'

    function = imported(backward.function.reference) if backward.function else ""
    setup = None if backward.setup_context is None else imported(backward.setup_context.reference)
    return Gradients((), (_register(op, backward, function, setup),))


def _not_differentiable(op: OpPlan, backward: Backward) -> Gradients:
    outputs = "output" if len(op.schema.returns) == 1 else "*output"
    nones = ", ".join("None" for _ in op.schema.arguments)
    setup = Function(op.private("setup"), _SETUP, "None", (f"ctx.mark_non_differentiable({outputs})",))
    body = (f"return {nones}" if len(op.schema.arguments) > 1 else "return (None,)",)
    function = Function(op.private("backward"), ("ctx: Any", "*grads: Tensor"), "tuple[Any, ...]", body)
    return Gradients((setup, function), (_register(op, backward, function.name, setup.name),))


_SETUP = ("ctx: Any", "inputs: tuple[Any, ...]", "output: Any")


# ---------------------------------------------------------------- formulas


def _formulas(op: OpPlan, backward: Backward) -> Gradients:
    scope = scope_for(op.schema, Purpose.BACKWARD, _NO_OPERATORS)
    formulas = [expr for item in backward.derivatives if (expr := formula_of(op, item)) is not None]
    saved = saved_values(formulas, op.schema, scope)
    setup_body = _setup_body(op, backward, saved)
    functions = []
    setup = None
    if setup_body:
        setup = Function(op.private("setup"), _SETUP, "None", setup_body)
        functions.append(setup)
    function = _BackwardFunction(op, backward, saved).planned()
    functions.append(function)
    return Gradients(tuple(functions), (_register(op, backward, function.name, setup.name if setup else None),))


def formula_of(op: OpPlan, derivative: Derivative) -> Expr | None:
    """The formula, or the choice between those of several devices."""
    if derivative.formula is None:
        return None
    expr = derivative.formula.expr
    single = len(op.schema.returns) == 1
    device = Attribute(Index(Name("grads"), Literal(0)) if single else Name("result0"), "device")
    for name, formula in derivative.by_device.items():
        expr = Conditional(Compare(Attribute(device, "type"), (("==", Literal(name)),)), formula.expr, expr)
    return expr


def _is_tensor(op: OpPlan, saved: Saved) -> bool:
    """Whether it goes through ``save_for_backward``."""
    if saved.kind is SavedKind.OUTPUT and saved.output is not None:
        return opschema.base_of(op.schema.returns[saved.output].type).name == "Tensor"
    return saved.kind is SavedKind.TENSOR


def _is_list(op: OpPlan, saved: Saved) -> bool:
    if saved.output is not None:
        return is_tensor_list(op.schema.returns[saved.output].type)
    return any(argument.name == saved.name and is_tensor_list(argument.type) for argument in op.schema.arguments)


def _tensors(op: OpPlan, saved: Sequence[Saved]) -> list[Saved]:
    """What ``save_for_backward`` takes, lists last."""
    tensors = [item for item in saved if _is_tensor(op, item)]
    return sorted(tensors, key=lambda item: _is_list(op, item))


def _differentiable(backward: Backward) -> list[tuple[str, Derivative]]:
    """The arguments that get a gradient, each with what says which."""
    return [
        (name, item) for item in backward.derivatives for name in item.arguments if item.marker != "not_differentiable"
    ]


def _readers(op: OpPlan, backward: Backward, saved: Saved) -> list[str]:
    """The arguments whose gradients alone read a saved tensor; none where all do, or where it is kept in any case."""
    differentiable = _differentiable(backward)
    if saved.output is not None or _is_list(op, saved):
        return []
    readers = [
        name
        for name, item in differentiable
        if (expr := formula_of(op, item)) is not None and any(read.name == saved.name for read in reads(expr))
    ]
    is_plain = all(not is_tensor_list(arg.type) for arg in op.schema.arguments if arg.name in readers)
    return readers if is_plain and len(readers) < len(differentiable) else []


def _setup_body(op: OpPlan, backward: Backward, saved: Sequence[Saved]) -> list[str]:
    outputs = output_spelling(op)
    names = Names({*IMPORTED, *BUILTINS, "ctx", "inputs", "output"})
    used = {item.name for item in saved if item.output is None}
    spelled = {arg.name: names.unique(arg.name) if arg.name in used else "_" for arg in op.schema.arguments}
    rename = {**spelled, **outputs}
    lines = [unpack(spelled.values(), "inputs")] if used else []
    tensors = _tensors(op, saved)
    readers = {item.name: _readers(op, backward, item) for item in tensors}
    asked = {name for found in readers.values() for name in found}
    needs = {arg.name: names.unique(f"needs_{arg.name}") for arg in op.schema.arguments if arg.name in asked}
    if needs:
        lines.append(unpack([needs.get(arg.name, "_") for arg in op.schema.arguments], "ctx.needs_input_grad"))
    if tensors:
        values = [("*" if _is_list(op, item) else "") + op.python(item.expr, rename) for item in tensors]
        conditions = [" or ".join(needs[name] for name in readers[item.name]) for item in tensors]
        kept = [
            f"{value} if {when} else None" if when else value for value, when in zip(values, conditions, strict=True)
        ]
        lines.append(f"ctx.save_for_backward({', '.join(kept)})")
    for item in tensors:
        if _is_list(op, item) and item is not tensors[-1]:
            lines.append(f"ctx.{item.attr_name}_count = {op.builtin('len')}({op.python(item.expr, rename)})")
    flags = op.spec.output_differentiability
    without = ", ".join(f"output[{i}]" for i, flag in enumerate(flags) if not flag)
    if without:
        lines.append(f"ctx.mark_non_differentiable({without})")
    attributes = _attributes(op, saved)
    lines += [
        f"{attributes[item.attr_name]} = {op.python(item.expr, rename)}" for item in saved if not _is_tensor(op, item)
    ]
    return lines


def _attributes(op: OpPlan, saved: Sequence[Saved]) -> dict[str, str]:
    """Where on ``ctx`` a saved value that is no tensor is kept."""
    names = Names(CONTEXT)
    return {item.attr_name: f"ctx.{names.unique(item.attr_name)}" for item in saved if not _is_tensor(op, item)}


def output_spelling(op: OpPlan) -> dict[str, str]:
    """The outputs by all their names, in a function that has them as ``output``."""
    from mtcodegen.expr import output_names

    single = len(op.schema.returns) == 1
    return {name: "output" if single else f"output[{i}]" for name, i in output_names(op.schema).items()}


def unpack(targets: Iterable[str], value: str) -> str:
    """The assignment of ``value`` to several names."""
    names = list(targets)
    return f"({names[0]},) = {value}" if len(names) == 1 else f"{', '.join(names)} = {value}"


class _BackwardFunction:
    """The backward function of one operator, with its local names."""

    def __init__(self, op: OpPlan, backward: Backward, saved: Sequence[Saved]) -> None:
        self.op = op
        self.backward = backward
        self.saved = saved
        count = len(op.schema.returns)
        self.grads = ["grad"] if count == 1 else [f"grad{i}" for i in range(count)]
        self.names = Names({*IMPORTED, *BUILTINS, *self.grads, "ctx"})
        self.tensors = {item.attr_name: self.names.unique(item.attr_name) for item in _tensors(op, saved)}
        by_argument = {name: item for item in backward.derivatives for name in item.arguments}
        self.needs = {
            argument.name: self.names.unique(f"needs_{argument.name}")
            for argument in op.schema.arguments
            if argument.name in by_argument and by_argument[argument.name].marker != "not_differentiable"
        }
        self.results = {name: self.names.unique(f"grad_{name}") for name in self.needs}

    def planned(self) -> Function:
        op = self.op
        parameters = ["ctx: Any", *[f"{name}: Tensor" for name in self.grads]]
        lines = [unpack([self.needs.get(arg.name, "_") for arg in op.schema.arguments], "ctx.needs_input_grad")]
        lines += self._unpacked_tensors()
        for derivative in self.backward.derivatives:
            lines += self._gradient(derivative)
        implemented = {
            name for item in self.backward.derivatives if item.formula is not None for name in item.arguments
        }
        values = [self.results[arg.name] if arg.name in implemented else "None" for arg in op.schema.arguments]
        lines.append(f"return {', '.join(values)}" if len(values) > 1 else f"return ({values[0]},)")
        return Function(op.private("backward"), parameters, "tuple[Any, ...]", lines)

    def _unpacked_tensors(self) -> list[str]:
        items = _tensors(self.op, self.saved)
        lists = [item for item in items if _is_list(self.op, item)]
        if not items:
            return []
        plain = [self.tensors[item.attr_name] for item in items if item not in lists]
        if len(lists) <= 1:
            targets = [*plain, *(f"*{self.tensors[item.attr_name]}" for item in lists)]
            return [unpack(targets, "ctx.saved_tensors")]
        rest = self.names.unique("tensors")
        lines = [unpack([*plain, f"*{rest}"], "ctx.saved_tensors")]
        start = ""
        for item in lists:
            counts = [text for text in (start, f"ctx.{item.attr_name}_count") if text]
            end = "" if item is lists[-1] else " + ".join(counts)
            bounds = f"{start} : {end}".strip()
            lines.append(f"{self.tensors[item.attr_name]} = {rest}[{bounds}]")
            start = end
        return lines

    def _gradient(self, derivative: Derivative) -> list[str]:
        names = [name for name in derivative.arguments if name in self.needs]
        if not names:
            return []
        needed = " or ".join(self._needed(name) for name in names)
        if derivative.formula is None:
            what = " and ".join(f"`{name}`" for name in names)
            text = quoted(f"{self.op.schema.qualname}: the gradient for {what} is not implemented")
            return [f"if {needed}:", f"    raise {self.op.builtin('NotImplementedError')}({text})"]
        code = self._code(derivative)
        otherwise = "None" if len(names) == 1 else f"({', '.join('None' for _ in names)})"
        return [f"{', '.join(self.results[name] for name in names)} = {code} if {needed} else {otherwise}"]

    def _needed(self, name: str) -> str:
        argument = next(arg for arg in self.op.schema.arguments if arg.name == name)
        needs = self.needs[name]
        return f"{self.op.builtin('any')}({needs})" if is_tensor_list(argument.type) else needs

    def _code(self, derivative: Derivative) -> str:
        expr = formula_of(self.op, derivative)
        if expr is None:
            return ""
        expr = use_saved(expr, self.saved, self.op.schema)
        own = {name: name for name in self.grads}
        code = self.op.python(expr, {**own, **_attributes(self.op, self.saved), **self.tensors})
        return f"({code})" if isinstance(expr, Conditional) else code
