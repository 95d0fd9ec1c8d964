"""Codes of the findings in PyTorch's own YAML files, beside those that they share with our YAML files."""

from __future__ import annotations

__all__ = ["CODES"]

# code -> (title, explanation). Codes are stable: a meaning never changes, a code is never used again.
CODES: dict[str, tuple[str, str]] = {
    "MT601": (
        "an entry for an operator that is not declared",
        "The `name` of an entry of derivatives.yaml is the whole schema of an operator in native_functions.yaml, as it "
        "is written there; `structured_delegate` and the like name operators of the same file.",
    ),
    "MT602": (
        "one value for several gradients",
        "The formula of several arguments gives as many gradients: it calls a function that returns a tuple. The value "
        "here is one tensor, or has another number of elements.",
    ),
    "MT603": (
        "an output_differentiability that does not fit",
        "It has one `True` or `False` for each output, or one condition where there is one output.",
    ),
    "MT604": (
        "gradients of outputs named in two ways",
        "The formulas of an entry use `grad`, `grads[i]` or `grad_<return>`, and not two of them: `grad` is the "
        "gradient of the only differentiable output.",
    ),
    "MT605": (
        "a forward-mode formula that does not fit",
        "A forward-mode formula reads the tangent `x_t` and the primal `x_p` of a differentiable argument. "
        "`auto_element_wise` needs one differentiable argument with a formula and one output, `auto_linear` one "
        "output.",
    ),
    "MT606": (
        "a key whose value does not fit the operator",
        "For instance a structured kernel on an operator without `out`, the default of an argument that is not there, "
        "or a method without `self`.",
    ),
    "MT610": (
        "something that cannot be imported",
        "The file says it in PyTorch's terms (a C++ kernel, a helper written in C++, a key of its code generator), and "
        "our YAML has no form of it. It stands as a comment beside the imported entry.",
    ),
}
