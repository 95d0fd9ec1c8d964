"""What the parts of one definition share: how arguments and outputs are spelled in it, and what writes expressions."""

from __future__ import annotations

from collections.abc import Mapping

import opschema
from mtcodegen.entries.model import OpSpec
from mtcodegen.entries.schemas import aliased_argument, fresh_returns, tensor_arguments
from mtcodegen.expr import output_names
from mtcodegen.pycode.definitions import DefinitionEmitter
from mtcodegen.pycode.imports import Imports
from mtcodegen.pycode.names import KEYWORDS, Names

__all__ = ["SPOKEN", "Scope"]

# Names that a definition uses itself: no variable of an argument gets one of them.
SPOKEN = frozenset(
    {"op", "torch", "math", "context", "absolute", "align_up", "all_of", "any_of", "bf16", "bool_", "broadcast"}
    | {"broadcast_shapes", "can_cast", "ceil", "ceil_div", "desc", "dim_bits", "empty", "exp", "f16", "f32", "f64"}
    | {"floor", "i8", "i16", "i32", "i64", "like", "log", "maximum", "minimum", "none_of", "one_of", "promote_types"}
    | {"reduced_shape", "result_type", "rng"}
    | {"sqrt", "stream", "struct", "to_float", "to_int", "total", "u8", "u16", "u32", "u64", "upload", "workspace"}
    | {"NotImplemented", "NotImplementedError", "IndexError", "TypeError", "ValueError", "RuntimeError"}
)
RESERVED = KEYWORDS | SPOKEN | {"_"}


class Scope:
    """The variables of one operator's definition.

    ``arguments`` and ``outputs`` say how each name of the language is spelled, ``variables`` how each output that the
    operator makes itself is. ``local`` gives names for further variables. The parts read expressions through
    ``emitter``, which knows afterwards which of the names were read.
    """

    def __init__(self, spec: OpSpec, imports: Imports) -> None:
        self.spec, self.schema, self.imports = spec, spec.schema, imports
        self.local = Names(reserved=RESERVED)
        self.arguments = self.local.each([argument.name for argument in spec.schema.arguments])
        self.variables = _variables(spec.schema, self.local)
        self.outputs = self._outputs()
        self.emitter = DefinitionEmitter(imports, {**self.arguments, **self.outputs})

    def _outputs(self) -> dict[str, str]:
        found = {}
        for name, i in output_names(self.schema).items():
            argument = aliased_argument(self.schema, self.schema.returns[i])
            found[name] = self.variables[i] if argument is None else self.arguments[argument.name]
        return found

    def read(self, argument: str) -> str:
        """The spelling of an argument, which is noted as read."""
        self.emitter.read.add(argument)
        return self.arguments[argument]

    def beside(self, rename: Mapping[str, str]) -> DefinitionEmitter:
        """An emitter with further names, or with other spellings for some."""
        emitter = DefinitionEmitter(self.imports, {**self.emitter.rename, **rename})
        emitter.read = self.emitter.read
        return emitter

    def tensors(self) -> list[opschema.Argument]:
        """The arguments that are tensors, or may be."""
        return tensor_arguments(self.schema)

    def first(self) -> str:
        """The tensor whose device is the call's: the first argument that is one; empty where none is."""
        tensors = self.tensors()
        return self.read(tensors[0].name) if tensors else ""

    def parameters(self) -> tuple[str, ...]:
        """The arguments that the definition's function takes, once all is written: by name, those that it reads.

        All of them, in order, where one is spelled as another is called.
        """
        by_name = all(s in (n, f"{n}_") and (s == n or s not in self.arguments) for n, s in self.arguments.items())
        return tuple(spelled for name, spelled in self.arguments.items() if not by_name or name in self.emitter.read)


def _variables(schema: opschema.Schema, names: Names) -> dict[int, str]:
    """A variable for each output that is none of the arguments."""
    returns = schema.returns
    wanted = {i: returns[i].name or ("out" if len(returns) == 1 else f"out{i}") for i in fresh_returns(schema)}
    return {i: names.unique(name) for i, name in wanted.items()}
