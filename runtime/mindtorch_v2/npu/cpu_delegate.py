"""The delegate "cpu_c": a chain of operators that work element by element, as one loop of generated C."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .._core import RuntimeContext, Tensor, c_types
from .build_cache import cache_root, digest
from .delegates import BackendInitContext, Delegate, register_delegate
from .errors import DelegateError
from .launcher import KernelLauncher
from .tracing import Call, Function, Trace, tensors_in

__all__ = ["CpuDelegate", "c_source"]

_TENSORS = 48  # that a kernel takes
_C_TYPES = {"float32": ("float", "f"), "float64": ("double", "")}  # and what the functions of math.h end in

# Operator -> its value in C, of the arguments by name. Comparisons are written so that a NaN stays one.
_EXPRESSIONS: Mapping[str, str] = {
    "aten::abs": "fabs{f}({self})",
    "aten::add.Tensor": "{self} + {alpha} * {other}",
    "aten::add.Scalar": "{self} + {alpha} * {other}",
    "aten::clamp": "clamped({self}, {min}, {max})",
    "aten::div.Tensor": "{self} / {other}",
    "aten::div.Scalar": "{self} / {other}",
    "aten::exp": "exp{f}({self})",
    "aten::log": "log{f}({self})",
    "aten::maximum": "{self} > {other} || {self} != {self} ? {self} : {other}",
    "aten::minimum": "{self} < {other} || {self} != {self} ? {self} : {other}",
    "aten::mul.Tensor": "{self} * {other}",
    "aten::mul.Scalar": "{self} * {other}",
    "aten::neg": "-{self}",
    "aten::reciprocal": "1 / {self}",
    "aten::relu": "{self} <= 0 ? 0 : {self}",
    "aten::rsqrt": "1 / sqrt{f}({self})",
    "aten::sigmoid": "1 / (1 + exp{f}(-{self}))",
    "aten::silu": "{self} / (1 + exp{f}(-{self}))",
    "aten::sqrt": "sqrt{f}({self})",
    "aten::sub.Tensor": "{self} - {alpha} * {other}",
    "aten::sub.Scalar": "{self} - {alpha} * {other}",
    "aten::tanh": "tanh{f}({self})",
}
_OPEN_ENDS = {"min": "-INFINITY", "max": "INFINITY"}  # of clamp, where None is given


@register_delegate("cpu_c")
class CpuDelegate(Delegate):
    """Lowers a chain of operators to C, compiles it once, and runs it as one call.

    It takes what works element by element on float32 or float64: tensors of one shape, or of one element. Everything
    else is refused by its name. Values are those of C's math.h, which may differ from the operators' own in the last
    digits.
    """

    device_types = ("cpu",)

    def init(
        self, context: BackendInitContext, module: Function, inputs: Sequence[Tensor], state: Sequence[Tensor]
    ) -> None:
        """Writes and compiles the kernel. Raises ``DelegateError`` for what it does not take."""
        text = c_source(context.trace)
        outputs = list(tensors_in(context.trace.result))
        tensors = len(inputs) + len(state) + len(outputs)
        folder = cache_root() / "delegates"
        source = _written(folder / f"{digest([text])}.c", text)
        types = [*[c_types["ptr"]] * tensors, c_types["i64"]]
        self._kernel = KernelLauncher.from_source("delegate", [source]).bind("chain", types, abi="c")
        self._count = outputs[0].numel()

    def execute(
        self, context: RuntimeContext, inputs: Sequence[Tensor], state: Sequence[Tensor], outputs: Sequence[Tensor]
    ) -> None:
        """Calls the kernel; the outputs are there when it returns."""
        self._kernel(*(value.contiguous() for value in (*inputs, *state)), *outputs, self._count)


def _written(path: Path, text: str) -> Path:
    """A file of the cache; another process may write the same one."""
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "w") as file:
            file.write(text)
        Path(name).replace(path)
    return path


def c_source(trace: Trace) -> str:
    """``int chain(inputs..., state..., outputs..., n)`` in C, for what a module runs. Raises ``DelegateError``."""
    given = [*trace.inputs, *trace.state.values()]
    outputs = list(tensors_in(trace.result))
    _refuse_unfit(trace, given, outputs)
    ctype, suffix = _C_TYPES[_name(outputs[0].dtype)]
    whole = tuple(outputs[0].shape)
    names: dict[int, str] = {}
    arguments = []
    for number, value in enumerate(given):
        arguments.append(f"const {ctype}* a{number}")
        names[id(value)] = f"a{number}[i]" if tuple(value.shape) == whole else f"a{number}[0]"
    lines = [
        f"const {ctype} v{number} = {_expression(call, names, ctype, suffix, number)};"
        for number, call in enumerate(trace.calls)
    ]
    for number, output in enumerate(outputs):
        arguments.append(f"{ctype}* restrict o{number}")
        lines.append(f"o{number}[i] = {names[id(output)]};")
    body = "\n".join(f"    {line}" for line in lines)
    return f"""#include <math.h>
#include <stdint.h>

static inline {ctype} clamped({ctype} x, {ctype} low, {ctype} high) {{
  const {ctype} raised = x < low ? low : x;
  return raised > high ? high : raised;
}}

int chain({", ".join(arguments)}, int64_t n) {{
  for (int64_t i = 0; i < n; ++i) {{
{body}
  }}
  return 0;
}}
"""


def _refuse_unfit(trace: Trace, given: list[Any], outputs: list[Tensor]) -> None:
    """Raises ``DelegateError`` for what is no chain of tensors of one shape and dtype."""
    known = ", ".join(sorted({name.removeprefix("aten::").partition(".")[0] for name in _EXPRESSIONS}))
    if trace.views:
        raise DelegateError(f"{trace.views[0].op.name()} looks at memory in another way; it lowers {known}")
    for call in trace.calls:
        if call.op.name() not in _EXPRESSIONS:
            raise DelegateError(f"{call.op.name()} cannot be lowered to C; it lowers {known}")
    if len(given) + len(outputs) > _TENSORS:
        raise DelegateError(f"{len(given) + len(outputs)} tensors, and a kernel takes at most {_TENSORS}")
    whole, dtype = tuple(outputs[0].shape), outputs[0].dtype
    if _name(dtype) not in _C_TYPES:
        raise DelegateError(f"tensors of {_name(dtype)}; it lowers {' and '.join(_C_TYPES)}")
    made = [output for call in trace.calls for output in call.outputs]
    for value in (*given, *outputs, *made):
        if value.dtype != dtype:
            raise DelegateError(f"tensors of {_name(dtype)} and of {_name(value.dtype)}; a chain is of one dtype")
        if tuple(value.shape) != whole and (value.numel() != 1 or any(value is output for output in outputs)):
            raise DelegateError(
                f"a tensor of shape {list(value.shape)} beside the output's {list(whole)}; they must be of one shape, "
                "or of one element"
            )


def _expression(call: Call, names: dict[int, str], ctype: str, suffix: str, number: int) -> str:
    """A call's value in C; its result has a name from then on."""
    arguments = call.op._schema.arguments
    values = {argument.name: argument.default_value for argument in arguments if argument.has_default}
    positional = [argument.name for argument in arguments if not argument.kwarg_only]
    values |= dict(zip(positional, call.args, strict=False)) | dict(call.kwargs)
    spelled = {name: _spelled(call, name, value, names, ctype) for name, value in values.items()}
    names[id(call.outputs[0])] = f"v{number}"
    return _EXPRESSIONS[call.op.name()].format(f=suffix, **spelled)


def _spelled(call: Call, name: str, value: Any, names: dict[int, str], ctype: str) -> str:
    if isinstance(value, Tensor):
        if id(value) not in names:
            raise DelegateError(f"{call.op.name()} reads a tensor that is no input, parameter or buffer of the module")
        return names[id(value)]
    if value is None and name in _OPEN_ENDS:
        return _OPEN_ENDS[name]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        number = float(value)
        if number != number:
            return "NAN"
        if number in (float("inf"), float("-inf")):
            return "INFINITY" if number > 0 else "(-INFINITY)"
        return f"(({ctype}){number.hex()})"
    raise DelegateError(f"{call.op.name()} with {name}={value!r} cannot be lowered to C")


def _name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")
