"""The expression language of the YAML files: parse, check, resolve.

::

    table = OperatorTable(schemas)                                  # once a run: "ns::name.overload" -> Schema
    scope = scope_for(schema, Purpose.BACKWARD, table)              # schema with its namespace filled in
    checked = analyze(parse_expression(text), scope, TENSOR)        # .errors, .type, and .expr with names resolved
    found = reads(checked.expr)                                     # what a gradient reads is what is saved for it

Later stages take resolved expressions (``analyze(...).expr`` or ``resolve(expr, scope)``): only the scope knows that
``scaled_add_grad(...)`` or ``fused.scaled_add_grad(...)`` is an operator.
"""

from mtcodegen.expr.check import Checked, analyze, check_expression, check_kernel_argument, resolve
from mtcodegen.expr.errors import ExpressionError
from mtcodegen.expr.functions import HELPERS, Purpose, Signature
from mtcodegen.expr.nodes import Call, Expr, Literal, Name, Operator, Unread, walk
from mtcodegen.expr.parser import parse_expression
from mtcodegen.expr.reads import Read, reads
from mtcodegen.expr.scope import OperatorTable, Scope, gradient_names, output_names, scope_for, tangent_scope
from mtcodegen.expr.types import (
    ANY,
    BOOL,
    C_TYPES,
    DEVICE,
    DTYPE,
    DTYPES,
    FLOAT,
    GENERATOR,
    INT,
    NONE,
    NUMBER,
    OPTIONAL_TENSOR,
    POINTER,
    SHAPE,
    STR,
    TENSOR,
    TENSOR_LIST,
    Kind,
    ValueType,
    value_type,
)

__all__ = [
    "ANY",
    "BOOL",
    "C_TYPES",
    "DEVICE",
    "DTYPE",
    "DTYPES",
    "FLOAT",
    "GENERATOR",
    "HELPERS",
    "INT",
    "NONE",
    "NUMBER",
    "OPTIONAL_TENSOR",
    "POINTER",
    "SHAPE",
    "STR",
    "TENSOR",
    "TENSOR_LIST",
    "Call",
    "Checked",
    "Expr",
    "ExpressionError",
    "Kind",
    "Literal",
    "Name",
    "Operator",
    "OperatorTable",
    "Purpose",
    "Read",
    "Scope",
    "Signature",
    "Unread",
    "ValueType",
    "analyze",
    "check_expression",
    "check_kernel_argument",
    "gradient_names",
    "output_names",
    "parse_expression",
    "reads",
    "resolve",
    "scope_for",
    "tangent_scope",
    "value_type",
    "walk",
]
