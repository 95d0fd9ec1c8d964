"""Where a method of an object, or a function of devices or derivatives, differs and no finding is meant, and why."""

from __future__ import annotations

import re

from benchmarks.fuzz.outcome import Raised
from benchmarks.fuzz.reason import Reason, kinds, message, name, raises

__all__ = ["OF_OBJECTS"]

OF_OBJECTS = (
    Reason(
        "a context manager that is left and was not entered: PyTorch restores what it began with, or has nothing",
        kinds("refused error"),
        lambda call, ours, theirs: message(ours).endswith("is left without having been entered"),
    ),
    Reason(
        "the name of a value in a trace, the line of a step, and the number of a hook, are each library's own",
        kinds("value"),
        lambda call, ours, theirs: re.search(r"\.(debugName|sourceRange|id)$", name(call)) is not None,
    ),
    Reason(
        "a trace's types are compared and hashed as all values are; PyTorch's binding does neither",
        kinds("accepted"),
        lambda call, ours, theirs: re.search(r"\.type\(\)\.__(eq|hash)__$", name(call)) is not None,
    ),
    Reason(
        "a trace's call looks into its arguments, where code of the caller's may raise, before it counts them",
        kinds("error"),
        lambda call, ours, theirs: (
            name(call).startswith("torch.jit.trace(")
            and message(ours) == "no items"
            and re.search("is missing value for argument|Expected a value of type", message(theirs)) is not None
        ),
    ),
    Reason(
        "a library's functions have arguments here that PyTorch's do not",
        kinds("accepted error"),
        lambda call, ours, theirs: (
            name(call).startswith(("torch.library.Library(", "torch.library.custom_op("))
            and raises(theirs, "TypeError")
            and "got an unexpected keyword argument" in message(theirs)
        ),
    ),
    Reason(
        "as a decorator register_vmap leaves a function its name; PyTorch's gives None",
        kinds("value"),
        lambda call, ours, theirs: name(call).endswith(").register_vmap"),
    ),
    Reason(
        "a number is no dtype: PyTorch's `to` takes any float for the class float",
        kinds("refused"),
        lambda call, ours, theirs: (
            name(call).endswith(".to")
            and "to() received an invalid combination of arguments - got (float" in message(ours)
        ),
    ),
    Reason(
        "a fake rule that cannot be called is refused where it is registered",
        kinds("refused"),
        lambda call, ours, theirs: (
            name(call).endswith(").register_fake")
            and message(ours).startswith("Input function is required to be a callable")
        ),
    ),
    Reason(
        "a number whose __index__ fails is none: ours says so, PyTorch raises what that raised",
        kinds("error"),
        lambda call, ours, theirs: (
            name(call).startswith("torch.autograd.functional.") and message(ours).endswith("its __index__ fails")
        ),
    ),
    Reason(
        "NumPy's integers are integers",
        kinds("accepted"),
        lambda call, ours, theirs: name(call) == "torch.Generator().manual_seed" and "numpy." in call.source(),
    ),
    Reason(
        "a flag is true or false; PyTorch makes a byte of it, which has no room for some numbers, and none for None",
        kinds("accepted error"),
        lambda call, ours, theirs: (
            name(call).startswith("torch.autograd.functional.")
            and re.search("^unsigned byte integer|cannot be interpreted as an integer$", message(theirs)) is not None
        ),
    ),
    Reason(
        "the Jacobian of a function without outputs is empty; PyTorch stacks its rows, of which there are none",
        kinds("accepted"),
        lambda call, ours, theirs: (
            re.search(r"autograd\.functional\.(jacobian|hessian)$", name(call)) is not None
            and message(theirs)
            in ("stack expects a non-empty TensorList", "index 0 is out of bounds for dimension 0 with size 0")
        ),
    ),
    Reason(
        "PrivateUse1 is the NPU's, whose name tensors and modules have",
        kinds("refused accepted error"),
        lambda call, ours, theirs: (
            name(call).endswith(("generate_methods_for_privateuse1_backend", "rename_privateuse1_backend"))
            and (
                re.search("has already been registered with is_npu$|stands for the NPU, which is", message(ours))
                is not None
                or ("npu" in call.source() and "in-tree device name: cpu" in message(theirs))
            )
        ),
    ),
    Reason(
        "there are no packed sequences here, which methods would be made for",
        kinds("accepted"),
        lambda call, ours, theirs: "torch.nn.utils.rnn.PackedSequence" in message(theirs),
    ),
    Reason(
        "the name of a device type is an identifier: PyTorch refuses another one where a method has it",
        kinds("refused error"),
        lambda call, ours, theirs: (
            name(call).endswith("rename_privateuse1_backend")
            and isinstance(ours, Raised)
            and re.search("is no name for a device type|expects a str, but got bytes$", ours.message) is not None
        ),
    ),
)
