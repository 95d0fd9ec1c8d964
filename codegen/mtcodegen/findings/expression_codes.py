"""Codes of faults in expressions."""

from __future__ import annotations

__all__ = ["CODES"]

# code -> (title, explanation). Codes are stable: a meaning never changes, a code is never used again.
CODES: dict[str, tuple[str, str]] = {
    "MT200": (
        "an expression does not parse",
        "Expressions are written as in Python: names, numbers, strings, lists, arithmetic, comparisons, `and or not`, "
        "`a if c else b`, indexing, attributes and calls. Nothing else is part of the language.",
    ),
    "MT201": (
        "a character or a literal that the language does not have",
        "Numbers are decimal or hexadecimal and fit in 64 bits; strings are quoted once with ' or \" and end on the "
        "same line.",
    ),
    "MT202": (
        "an expression is nested too deeply",
        "No sensible formula needs it. Declare an operator for a part of the expression and call that.",
    ),
    "MT204": (
        "an unknown name",
        "An expression reads the arguments of its operator. Outputs, gradients (`grad`, `grads[i]`), and `workspace`, "
        "`tiling` and `stream` are names only where they exist: outputs in kernel arguments and formulas, gradients "
        "in `backward`, tangents (`x_t`) in `forward`, the others in kernel arguments.",
    ),
    "MT205": (
        "an unknown attribute or method",
        "Tensors have `shape`, `dtype`, `device`, `ndim`, `itemsize`, `nbytes`, `requires_grad`, `numel()`, `dim()`, "
        "`size(i)`, `stride(i)` and others; where values may be computed they also have the declared operators as "
        "methods. Dtypes have `itemsize` and `is_floating_point`.",
    ),
    "MT206": (
        "an unknown function or operator",
        "Functions are the fixed helpers of the language (`ceil_div`, `min`, `broadcast_shapes`, ...). Operators are "
        "those declared in the YAML files of this run and the built-in ones, and can be called only in `compute`, "
        "`backward` and `forward`.",
    ),
    "MT207": (
        "wrong arguments in a call",
        "An argument is missing, there is one too many, it is given twice, or no parameter has that name.",
    ),
    "MT208": ("an argument of the wrong type", "A call passes a value that the function or operator cannot take."),
    "MT209": (
        "operands that do not go together",
        "Arithmetic takes numbers, or tensors where values may be computed; lists can be joined and repeated; only "
        "values of one kind can be compared; `and`, `or` and `not` take true or false.",
    ),
    "MT210": (
        "an expression of the wrong type",
        "The place where the expression stands needs another type: a condition is true or false, a block dimension is "
        "an integer, a shape is a list of integers, a gradient is a tensor.",
    ),
    "MT211": (
        "something that is not allowed in this place",
        "Preconditions, shape rules and launch arguments are evaluated on the host, before the operator runs, and see "
        "only the properties of tensors. Operators can be called in `compute`, `backward` and `forward`, and C types "
        "such as `f32(...)` belong to launch arguments.",
    ),
    "MT212": (
        "a value that may be None",
        "The argument is optional. Test it first: `bias is not None and ...`, or `... if bias is not None else ...`.",
    ),
    "MT213": (
        "the values of a tensor, where only its properties are known",
        "A precondition, a shape rule or a launch argument cannot read the data of a tensor: it would wait for the "
        "device. Use `x.shape`, `x.dtype`, `x.numel()` and the like.",
    ),
    "MT214": (
        "an index that does not fit",
        "An index is an integer or a slice of integers. The index of `grads` and of an operator's several results is "
        "a literal number, within range.",
    ),
    "MT215": (
        "a kernel argument without a C type",
        "A kernel is called with exactly the bytes it expects, so each scalar says its C type: `f32(scale)`, "
        "`u32(x.numel())`, `bool(flag)`.",
    ),
    "MT216": (
        "a formula reads a value that the operator overwrites",
        "A mutated argument has its new value when the gradient is computed. Use the output in the formula instead.",
    ),
}
