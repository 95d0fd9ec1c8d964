"""Gradients as two functions: what setup saves, and what backward computes from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import opschema
from mtcodegen.entries.model import Backward, Derivative, place_of
from mtcodegen.entries.schemas import is_tensor, is_tensor_list
from mtcodegen.expr import Saved, SavedKind, SavedValues, output_names
from mtcodegen.expr.nodes import Attribute, Compare, Conditional, Expr, Index, Literal, Name
from mtcodegen.pycode.layout import bracketed, conditional
from mtcodegen.pycode.literals import quoted
from mtcodegen.pycode.names import CONTEXT, RESERVED, Names
from mtcodegen.targets.plan.function import Function
from mtcodegen.targets.plan.kernels import OpPlan

__all__ = ["NOTHING", "Gradients", "formula_of", "output_spelling", "plan_backward", "unpack"]


@dataclass(frozen=True, eq=False)
class Gradients:
    """The functions of an operator's gradient, and the statements that register them."""

    functions: tuple[Function, ...] = ()
    registrations: tuple[str, ...] = ()


NOTHING = Gradients()


def plan_backward(op: OpPlan) -> Gradients:
    """The gradient of ``op``; that there is none is registered, too, so that ``backward`` through it is an error."""
    backward = op.spec.backward
    if backward is None:
        return NOTHING
    if backward.marker == "not_implemented":
        return Gradients((), (_register(op, backward, "None", None),))
    if backward.function is not None:
        return _hand_written(op, backward)
    markers = {backward.marker} if backward.marker else {item.marker for item in backward.derivatives}
    if markers == {"not_differentiable"}:
        return _not_differentiable(op, backward)
    return _formulas(op, backward)


def _register(op: OpPlan, backward: Backward, function: str, setup: str | None) -> str:
    context = [f"setup_context={setup}"] if setup else []
    source = f"source={quoted(place_of(backward.key))}"
    return bracketed(f"{op.library}.register_autograd", [f'"{op.name}"', function, *context, source])


def _hand_written(op: OpPlan, backward: Backward) -> Gradients:
    def imported(reference: str) -> str:
        return f'library.python_function("{reference}")'

    function = imported(backward.function.reference) if backward.function else ""
    setup = None if backward.setup_context is None else imported(backward.setup_context.reference)
    return Gradients((), (_register(op, backward, function, setup),))


def _not_differentiable(op: OpPlan, backward: Backward) -> Gradients:
    marked = _marked(op.schema, [False] * len(op.schema.returns))
    nones = ", ".join("None" for _ in op.schema.arguments)
    setup = Function(op.private("setup"), _SETUP, "None", marked) if marked else None
    body = (f"return {nones}" if len(op.schema.arguments) > 1 else "return (None,)",)
    function = Function(op.private("backward"), ("ctx: Any", "*grads: Tensor"), "tuple[Any, ...]", body)
    return _registered(op, backward, setup, function)


def _marked(schema: opschema.Schema, differentiable: Sequence[bool]) -> list[str]:
    """The statement that says which outputs have no gradient; none where they all have one, or hold no tensors."""
    types = [ret.type for ret in schema.returns]
    if len(types) > 1 and all(is_tensor(type_) for type_ in types) and not any(differentiable):
        return ["ctx.mark_non_differentiable(*output)"]
    without = [
        ("*" if is_tensor_list(type_) else "") + ("output" if len(types) == 1 else f"output[{i}]")
        for i, type_ in enumerate(types)
        if opschema.base_of(type_).name == "Tensor" and not differentiable[i]
    ]
    return [f"ctx.mark_non_differentiable({', '.join(without)})"] if without else []


def _registered(op: OpPlan, backward: Backward, setup: Function | None, function: Function) -> Gradients:
    functions = (function,) if setup is None else (setup, function)
    return Gradients(functions, (_register(op, backward, function.name, setup.name if setup else None),))


_SETUP = ("ctx: Any", "inputs: tuple[Any, ...]", "output: Any")


# ---------------------------------------------------------------- formulas


def _formulas(op: OpPlan, backward: Backward) -> Gradients:
    rule = _Rule(op, backward)
    setup_body = rule.setup()
    setup = Function(op.private("setup"), _SETUP, "None", setup_body) if setup_body else None
    return _registered(op, backward, setup, rule.backward())


def formula_of(op: OpPlan, derivative: Derivative) -> Expr | None:
    """The formula, or the choice between those of several devices."""
    if derivative.formula is None:
        return None
    expr = derivative.formula.expr
    if derivative.by_device:
        device = Attribute(_tensor_output(op.schema), "device")
        for name, formula in derivative.by_device.items():
            expr = Conditional(Compare(Attribute(device, "type"), (("==", Literal(name)),)), formula.expr, expr)
    return expr


def _tensor_output(schema: opschema.Schema) -> Expr:
    """An output that is a tensor, or its gradient."""
    types = [ret.type for ret in schema.returns]
    plain = [i for i, type_ in enumerate(types) if is_tensor(type_)]
    if plain and len(types) > 1:  # a gradient may be None: those of the others are asked for, too
        return Name(next(name for name, i in output_names(schema).items() if i == plain[0]))
    first = next(i for i, type_ in enumerate(types) if opschema.base_of(type_).name == "Tensor")
    gradient = Index(Name("grads"), Literal(first))
    return Index(gradient, Literal(0)) if is_tensor_list(types[first]) else gradient


def output_spelling(op: OpPlan, outputs: Mapping[str, int]) -> dict[str, str]:
    """``outputs``, by all their names, in a function that has them as ``output``."""
    single = len(op.schema.returns) == 1
    return {name: "output" if single else f"output[{i}]" for name, i in outputs.items()}


def unpack(targets: Iterable[str], value: str) -> str:
    """The assignment of ``value`` to several names."""
    names = list(targets)
    return f"({names[0]},) = {value}" if len(names) == 1 else f"{', '.join(names)} = {value}"


class _Rule:
    """The functions of one operator's gradient: what they hand from one to the other, and the names that both use."""

    def __init__(self, op: OpPlan, backward: Backward) -> None:
        self.op = op
        self.types = {argument.name: argument.type for argument in op.schema.arguments}
        self.formulas = [(item, formula_of(op, item)) for item in backward.derivatives]
        self.differentiable = [
            name for item in backward.derivatives if item.marker != "not_differentiable" for name in item.arguments
        ]
        self.saved = SavedValues([expr for _, expr in self.formulas if expr is not None], op.schema)
        self.plain: list[Saved] = []
        self.lists: list[Saved] = []
        self.others: list[tuple[Saved, str]] = []  # with the attributes of ``ctx`` that have them
        names = Names(CONTEXT)
        for item in self.saved.items:
            if self._is_tensor(item):
                (self.lists if self._is_list(item) else self.plain).append(item)
            else:
                self.others.append((item, f"ctx.{names.unique(item.attr_name)}"))
        self.counts = {item.attr_name: f"ctx.{names.unique(f'{item.attr_name}_count')}" for item in self.lists[:-1]}
        self.given = {
            item.attr_name: f"ctx.{names.unique(f'{item.attr_name}_given')}"
            for item in self.lists
            if isinstance(self._type(item), opschema.OptionalType)
        }

    def _is_tensor(self, saved: Saved) -> bool:
        """Whether it goes through ``save_for_backward``."""
        if saved.kind is SavedKind.OUTPUT and saved.output is not None:
            return opschema.base_of(self.op.schema.returns[saved.output].type).name == "Tensor"
        return saved.kind is SavedKind.TENSOR

    def _is_list(self, saved: Saved) -> bool:
        return is_tensor_list(self._type(saved))

    def _type(self, saved: Saved) -> opschema.Type:
        return self.types[saved.name] if saved.output is None else self.op.schema.returns[saved.output].type

    # ------------------------------------------------------------ setup

    def setup(self) -> list[str]:
        """The statements that save what the gradients need."""
        op, lines = self.op, []
        flags = op.spec.output_differentiability
        marked = _marked(op.schema, flags) if flags else []
        if not self.saved.items:
            return marked
        names = Names(("ctx", "inputs", "output"), reserved=RESERVED)
        used = {item.name for item in self.saved.items if item.output is None}
        spelled = {name: names.unique(name) if name in used else "_" for name in self.types}
        rename = {**spelled, **output_spelling(op, self.saved.outputs)}
        if used:
            lines.append(unpack(spelled.values(), "inputs"))
        readers = self._readers()
        asked = {name for found in readers.values() for name in found}
        needs = {name: names.unique(f"needs_{name}") for name in self.types if name in asked}
        if needs:
            lines.append(unpack([needs.get(name, "_") for name in self.types], "ctx.needs_input_grad"))
        kept = []
        for item in self.plain:
            value = op.python(item.expr, rename)
            when = " or ".join([needs[name] for name in readers.get(item.name, ())])
            kept.append(f"{value} if {when} else None" if when else value)
        lists = {item.attr_name: op.python(item.expr, rename) for item in self.lists}
        filled = {name: f"{value} or ()" if name in self.given else value for name, value in lists.items()}
        kept += [f"*({value})" if name in self.given else f"*{value}" for name, value in filled.items()]
        if kept:
            lines.append(f"ctx.save_for_backward({', '.join(kept)})")
        for name, place in self.counts.items():
            lines.append(f"{place} = {op.builtin('len')}({filled[name]})")
        lines += [f"{place} = {lists[name]} is not None" for name, place in self.given.items()]
        return [*lines, *marked, *[f"{place} = {op.python(item.expr, rename)}" for item, place in self.others]]

    def _readers(self) -> dict[str, list[str]]:
        """Saved tensors that some gradients do not read, each with the arguments whose gradients do."""
        tensors = [item.name for item in self.plain if item.output is None]
        if not tensors or len(self.differentiable) < 2:
            return {}
        read_by: dict[str, list[str]] = {name: [] for name in tensors}
        with_formula = [item for item, expr in self.formulas if expr is not None]
        for item, reads in zip(with_formula, self.saved.reads, strict=True):
            for name in {read.name for read in reads} & read_by.keys():
                read_by[name] += item.arguments
        lists = {name for name, type_ in self.types.items() if is_tensor_list(type_)}
        return {
            name: readers
            for name, readers in read_by.items()
            if len(readers) < len(self.differentiable) and lists.isdisjoint(readers)
        }

    # ------------------------------------------------------------ backward

    def backward(self) -> Function:
        """The function that computes the gradients."""
        op, count = self.op, len(self.op.schema.returns)
        grads = ["grad"] if count == 1 else [f"grad{i}" for i in range(count)]
        names = Names((*grads, "ctx"), reserved=RESERVED)
        tensors = {item.attr_name: names.unique(item.attr_name) for item in (*self.plain, *self.lists)}
        needs = {name: names.unique(f"needs_{name}") for name in self.types if name in self.differentiable}
        results = {name: names.unique(f"grad_{name}") for name in needs}
        lines = [unpack([needs.get(name, "_") for name in self.types], "ctx.needs_input_grad")]
        lines += self._unpacked(tensors, names)
        others = {item.attr_name: place for item, place in self.others}
        rename = {**dict(zip(grads, grads, strict=True)), **others, **tensors}
        values = dict.fromkeys(self.types, "None")
        for item, expr in self.formulas:
            wanted = [name for name in item.arguments if name in needs]
            if not wanted:
                continue
            condition = " or ".join([self._needed(name, needs[name]) for name in wanted])
            if expr is None:
                what = " and ".join([f"`{name}`" for name in wanted])
                text = quoted(f"{op.schema.qualname}: the gradient for {what} is not implemented")
                lines += [f"if {condition}:", f"    raise {op.builtin('NotImplementedError')}({text})"]
                continue
            code = op.python(self.saved.used_in(expr), rename)
            value = f"({code})" if isinstance(expr, Conditional) else code
            otherwise = "None" if len(wanted) == 1 else f"({', '.join(['None' for _ in wanted])})"
            lines += conditional(", ".join([results[name] for name in wanted]), value, condition, otherwise, 4)
            values.update({name: results[name] for name in wanted})
        returned = ", ".join(values.values())
        lines.append(f"return {returned}" if len(values) > 1 else f"return ({returned},)")
        types = ["list[Tensor]" if is_tensor_list(ret.type) else "Tensor" for ret in op.schema.returns]
        parameters = ["ctx: Any", *[f"{name}: {type_}" for name, type_ in zip(grads, types, strict=True)]]
        return Function(op.private("backward"), parameters, "tuple[Any, ...]", lines)

    def _needed(self, name: str, needs: str) -> str:
        return f"{self.op.builtin('any')}({needs})" if is_tensor_list(self.types[name]) else needs

    def _unpacked(self, tensors: Mapping[str, str], names: Names) -> list[str]:
        """The statements that give what was saved its names."""
        if not tensors:
            return []
        plain = [tensors[item.attr_name] for item in self.plain]
        lists = {item.attr_name: tensors[item.attr_name] for item in self.lists}
        items = {**lists, **{name: names.unique(f"{lists[name]}_items") for name in self.given}}
        restored = [f"{lists[name]} = {items[name]} if {place} else None" for name, place in self.given.items()]
        if len(self.lists) <= 1:
            return [unpack([*plain, *[f"*{name}" for name in items.values()]], "ctx.saved_tensors"), *restored]
        rest = names.unique("tensors")
        lines = [unpack([*plain, f"*{rest}"], "ctx.saved_tensors")]
        start = ""
        for name, target in items.items():
            counts = [text for text in (start, self.counts.get(name, "")) if text]
            end = " + ".join(counts) if name in self.counts else ""
            bounds = f"{start} : {end}".strip()
            lines.append(f"{target} = {rest}[{bounds}]")
            start = end
        return [*lines, *restored]
