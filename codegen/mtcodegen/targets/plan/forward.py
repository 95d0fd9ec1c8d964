"""Forward-mode differentiation as one function: the tangents of the outputs from those of the arguments."""

from __future__ import annotations

from collections.abc import Sequence, Set

from mtcodegen.check.forward import differentiable_arguments, tangent_names
from mtcodegen.entries.model import Forward, Tangent, place_of
from mtcodegen.expr import gradient_names, output_names, reads
from mtcodegen.expr.nodes import Binary, Expr, Index, Literal, Name, map_children
from mtcodegen.pycode.literals import quoted
from mtcodegen.pycode.names import RESERVED, Names
from mtcodegen.targets.plan.backward import NOTHING, Gradients, formula_of, output_spelling, unpack
from mtcodegen.targets.plan.function import Function
from mtcodegen.targets.plan.kernels import OpPlan
from mtcodegen.targets.plan.variants import call_of

__all__ = ["plan_forward"]

_PARAMETERS = ("inputs: tuple[Any, ...]", "tangents: tuple[Any, ...]", "output: Any")


def plan_forward(op: OpPlan) -> Gradients:
    """The rule for ``op``'s tangents; nothing where it has none, which makes forward mode through it an error."""
    forward = op.spec.forward
    if forward is None:
        return NOTHING
    if forward.function is not None:
        return Gradients((), (_register(op, forward, f'library.python_function("{forward.function.reference}")'),))
    function = _Rule(op, forward).planned()
    return Gradients((function,), (_register(op, forward, function.name),))


def _register(op: OpPlan, forward: Forward, function: str) -> str:
    return f'{op.library}.register_jvp("{op.name}", {function}, source={quoted(place_of(forward.key))})'


class _Rule:
    """The function of one operator, with its local names."""

    def __init__(self, op: OpPlan, forward: Forward) -> None:
        self.op = op
        self.forward = forward
        self.differentiable = differentiable_arguments(op.spec)
        names = Names(("inputs", "tangents", "output"), reserved=RESERVED)
        self.arguments = names.each([argument.name for argument in op.schema.arguments])
        self.formulas = {item.name: expr for item in forward.tangents if (expr := self._formula(item)) is not None}
        self.is_linear = any(item.marker == "auto_linear" for item in forward.tangents)
        self.read = {read.name for expr in self.formulas.values() for read in reads(expr)}
        self.tangents = {
            name: names.unique(f"{name}_t")
            for name in self.differentiable
            if self.is_linear or self._is_read(f"{name}_t")
        }
        self.linear = names.unique("linear")

    def _is_read(self, name: str) -> bool:
        return name in self.read and name not in self.arguments

    def _formula(self, tangent: Tangent) -> Expr | None:
        if tangent.formula is not None:
            return tangent.formula.expr
        return self._element_wise() if tangent.marker == "auto_element_wise" else None

    def _element_wise(self) -> Expr | None:
        """The sum of the gradients' formulas, each with its argument's tangent in place of the output's gradient."""
        backward = self.op.spec.backward
        gradients = gradient_names(self.op.schema).keys() - self.arguments.keys()
        total: Expr | None = None
        for derivative in backward.derivatives if backward is not None else ():
            expr = formula_of(self.op, derivative)
            if expr is not None:
                term = self._of_tangent(expr, Name(f"{derivative.arguments[0]}_t"), gradients)
                total = term if total is None else Binary("+", total, term)
        return total

    def _of_tangent(self, expr: Expr, tangent: Name, gradients: Set[str]) -> Expr:
        if expr == Index(Name("grads"), Literal(0)) or (isinstance(expr, Name) and expr.id in gradients):
            return tangent
        return map_children(expr, lambda child: self._of_tangent(child, tangent, gradients))

    def planned(self) -> Function:
        op = self.op
        rename = {f"{name}_p": spelled for name, spelled in self.arguments.items()} | self.arguments
        rename |= output_spelling(op, output_names(op.schema)) | {
            f"{name}_t": spelled for name, spelled in self.tangents.items()
        }
        used = {name for name in self.arguments if self._reads_argument(name)}
        lines = self._prologue(used)
        values = {name: op.python(expr, rename) for name, expr in self.formulas.items()}
        for tangent in self.forward.tangents:
            if tangent.marker == "not_implemented":
                text = quoted(f"{op.schema.qualname}: the tangent of `{tangent.name}` is not implemented")
                return self._function([f"raise {op.builtin('NotImplementedError')}({text})"])
        outputs = tangent_names(op.schema)
        if self.is_linear and len(outputs) == 1:
            return self._function([*lines, f"return {self._linear_call()}"])
        if self.is_linear:
            lines.append(f"{self.linear} = {self._linear_call()}")
            linear = {item.name for item in self.forward.tangents if item.marker == "auto_linear"}
            values |= {name: f"{self.linear}[{i}]" for i, name in enumerate(outputs) if name in linear}
        return self._function([*lines, f"return {', '.join(values.get(name, 'None') for name in outputs)}"])

    def _reads_argument(self, name: str) -> bool:
        return self.is_linear or name in self.tangents or name in self.read or f"{name}_p" in self.read

    def _prologue(self, used: set[str]) -> list[str]:
        names = [spelled if name in used else "_" for name, spelled in self.arguments.items()]
        positions = {argument.name: i for i, argument in enumerate(self.op.schema.arguments)}
        filled = [
            f"{spelled} = library.tangent({self.arguments[name]}, tangents[{positions[name]}])"
            for name, spelled in self.tangents.items()
        ]
        return [*([unpack(names, "inputs")] if used else []), *filled]

    def _linear_call(self) -> str:
        written = {argument.name for argument in self.op.schema.arguments if argument.is_write}
        spelled = {
            name: f"{self.tangents[name]}.clone()" if name in written else self.tangents.get(name, own)
            for name, own in self.arguments.items()
        }
        return call_of(self.op.schema, spelled)

    def _function(self, body: Sequence[str]) -> Function:
        return Function(self.op.private("jvp"), _PARAMETERS, "Any", body)
