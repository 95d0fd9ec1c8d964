"""The language of definitions: what a function says of an operator, of its arguments as symbols.

Every runtime carries out what is said here in its own way: these files are ours, and are copied beside the modules that
are generated for others.
"""

from __future__ import annotations

from ._builder import ALLOCATED, Argument, OperatorBuilder, Signature, kind_of
from ._conditions import expectation, names_of, text_of
from ._definition import COMPOSED, Definition, device_of
from ._functions import Typed
from ._gradients import Gradients
from ._references import python_function
from ._symbols import (
    DefinitionError,
    Number,
    Property,
    Several,
    Shape,
    Symbol,
    TensorList,
    TensorSymbol,
    operands_of,
)
from ._tangents import tangents
from ._tracer import Trace, Tracer, running

__all__ = [
    "ALLOCATED", "COMPOSED", "Argument", "Definition", "DefinitionError", "Gradients", "Number", "OperatorBuilder",
    "Property", "Several", "Shape", "Signature", "Symbol", "TensorList", "TensorSymbol", "Trace", "Tracer", "Typed",
    "device_of", "expectation", "kind_of", "names_of", "operands_of", "python_function", "running", "tangents",
    "text_of",
]  # fmt: skip
