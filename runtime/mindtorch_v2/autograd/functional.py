"""Products with Jacobians and Hessians, and the matrices themselves, of functions of tensors.

As `torch.autograd.functional`: a function takes and returns a tensor or a tuple of tensors, and what is computed of it
has the same form. ``create_graph`` keeps the graph, so that the result can be differentiated; ``strict`` raises
RuntimeError where an output does not depend on an input, in place of zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .._core import Tensor
from .._ops import ops
from . import forward_ad
from .engine import grad
from .grad_mode import enable_grad, is_grad_enabled, set_grad_enabled

# What strict mode says: of a gradient that is None, and of one without a graph although one is wanted, at each stage.
_NOT_ALLOWED = "This is not allowed in strict mode"
_INDEPENDENT = {
    "vjp": "The output of the user-provided function is independent of input {}.",
    "jvp": (
        "The gradient with respect to the input is independent of entry {} in the grad_outputs when using the double "
        "backward trick to compute forward mode gradients."
    ),
    "jacobian": "Output {of} of the user-provided function is independent of input {}.",
    "vhp": "The jacobian of the user-provided function is independent of input {}.",
    "hvp": "The hessian of the user-provided function is independent of entry {} in the grad_jacobian.",
}
_WITHOUT_GRAPH = {
    "vjp": "The jacobian of the user-provided function is independent of input {}.",
    "jvp": "The jacobian of the user-provided function is independent of input {}.",
    "jacobian": "The jacobian of the user-provided function is independent of input {}.",
    "vhp": "The hessian of the user-provided function is independent of input {}.",
    "hvp": "The hessian of the user-provided function is independent of input {}.",
}
# The same of what is differentiated a second time.
_CONSTANT = {
    "gradient": "The gradient with respect to input {} is independent of the inputs of the user-provided function.",
    "jacobian": (
        "While computing the hessian, found that the jacobian of the user-provided function with respect to input {} "
        "is independent of the inputs: the function has to be twice differentiable, and not linear."
    ),
    "hessian": (
        "The hessian of the user-provided function with respect to input {} is independent of the inputs: the function "
        "has to be thrice differentiable."
    ),
}

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Tensors = Tensor | tuple[Tensor, ...]
Function = Callable[..., Any]


class _Call(NamedTuple):
    """A function's inputs, with a graph of their own, its outputs, and whether these were given as tuples."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    many_inputs: bool
    many_outputs: bool


def vjp(
    func: Function, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> tuple[Tensors, Tensors]:
    """The function's outputs, and the product of ``v``, of their form, with its Jacobian, of the inputs' form.

    ``v`` may be left out where the output is one element. Raises TypeError where an input or an output is no tensor,
    RuntimeError where ``v`` has another form than the outputs.
    """
    with enable_grad():
        call = _called(func, _aliases(inputs, "vjp", create_graph), "vjp", strict)
        vector = _vector(v, call.outputs, call.many_outputs, "vjp")
    product = _product(call.outputs, call.inputs, vector, call.inputs, create_graph, strict, "vjp")
    return _result(call.outputs, call.many_outputs, create_graph), _result(product, call.many_inputs, create_graph)


def jvp(
    func: Function, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> tuple[Tensors, Tensors]:
    """The function's outputs, and the product of its Jacobian with ``v``, of the inputs' form.

    By two backward passes: the gradient is linear in what it is given, and the gradient of that is the product. Errors
    are those of `vjp`; ``v`` may be left out where the input is one element.
    """
    with enable_grad():
        given = _aliases(inputs, "jvp", create_graph)
        vector = _vector(v, *given, "jvp")
        call = _called(func, given, "jvp", strict)
        weights = tuple(_zeros_like(output).requires_grad_() for output in call.outputs)
        linear = _gradients(call.outputs, call.inputs, weights, True)
        _require_gradients(linear, strict, "gradient")
    product = _product(linear, weights, vector, call.outputs, create_graph, strict, "jvp")
    return _result(call.outputs, call.many_outputs, create_graph), _result(product, call.many_outputs, create_graph)


def jacobian(
    func: Function,
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian: for each output and input a tensor of the output's shape, then the input's.

    A tuple over the outputs, where these are one, of tuples over the inputs, where these are one. ``vectorize``
    computes the rows together, by `vmap`; ``strategy`` "forward-mode", which needs it, computes columns instead. Raises
    ValueError for another strategy, RuntimeError for ``strict`` with ``vectorize``, and NotImplementedError for the
    forward mode without it or with ``create_graph``.
    """
    if strategy not in ("reverse-mode", "forward-mode"):
        raise ValueError(
            f'Expected strategy to be either "forward-mode" or "reverse-mode", got {strategy!r}. The forward mode is '
            "cheaper for a function that has more outputs than inputs."
        )
    if strategy == "forward-mode":
        return _forward_jacobian(func, inputs, create_graph, vectorize)
    with enable_grad():
        call = _called(func, _aliases(inputs, "jacobian", create_graph), "jacobian", strict)
        if vectorize and strict:
            raise RuntimeError(
                "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together: "
                "set `strict=False` or `vectorize=False`."
            )
        if vectorize:
            rows = [_rows_together(output, call, create_graph) for output in call.outputs]
        else:
            rows = [_rows(output, i, call, create_graph, strict) for i, output in enumerate(call.outputs)]
    matrices = [_result(row, call.many_inputs, create_graph) for row in rows]
    return tuple(matrices) if call.many_outputs else matrices[0]


def hessian(
    func: Function,
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a function with one element: for each two inputs a tensor of the shape of one, then the other.

    A tuple of tuples where the inputs are a tuple. Raises ValueError for another strategy than `jacobian` has, and
    RuntimeError where the output is not one tensor of one element.
    """
    given, many = _tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("reverse-mode", "forward-mode"):
        raise ValueError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def single(*arguments: Tensor) -> Any:
        output = func(*arguments)
        outputs, several = _tuple(output, "outputs of the user-provided function", "hessian")
        _require_an_element(outputs, several, "hessian")
        _require_graph(outputs, strict)
        return outputs[0].squeeze()

    def slopes(*arguments: Tensor) -> Any:
        if outer_jacobian_strategy == "forward-mode":
            arguments = tuple(x.requires_grad_() for x in arguments)
        found = jacobian(single, arguments, create_graph=True, vectorize=vectorize)
        _require_gradients(found, strict, "jacobian")
        return found

    matrix = jacobian(slopes, given, create_graph, strict, vectorize, outer_jacobian_strategy)
    return matrix if many else matrix[0][0]


def vhp(
    func: Function, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> tuple[Tensors, Tensors]:
    """The output of a function with one element, and the product of ``v``, of the inputs' form, with its Hessian."""
    with enable_grad():
        call, vector, slopes = _slopes(func, inputs, v, create_graph, strict, "vhp")
    product = _product(slopes, call.inputs, vector, call.inputs, create_graph, strict, "vhp")
    return _result(call.outputs, call.many_outputs, create_graph), _result(product, call.many_inputs, create_graph)


def hvp(
    func: Function, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> tuple[Tensors, Tensors]:
    """As `vhp`, from the other side: the same where second derivatives are continuous, and dearer."""
    with enable_grad():
        call, vector, slopes = _slopes(func, inputs, v, create_graph, strict, "hvp")
        weights = tuple(_zeros_like(x).requires_grad_() for x in call.inputs)
        linear = _gradients(slopes, call.inputs, weights, True)
        _require_gradients(linear, strict, "hessian")
    product = _product(linear, weights, vector, call.inputs, create_graph, strict, "hvp")
    return _result(call.outputs, call.many_outputs, create_graph), _result(product, call.many_inputs, create_graph)


# ---------------------------------------------------------------- what is given


def _tuple(given: Any, what: str, user: str) -> tuple[tuple[Tensor, ...], bool]:
    """What was given as a tuple, and whether it was one."""
    many = isinstance(given, tuple)
    values = tuple(given) if many else (given,)
    for i, value in enumerate(values):
        if not isinstance(value, Tensor):
            place = f"the value at index {i}" if many else f"the given {what}"
            raise TypeError(
                f"The {what} given to {user} must be either a Tensor or a tuple of Tensors but {place} has "
                f"type {type(value)}."
            )
    return values, many


def _aliases(inputs: Any, user: str, create_graph: bool) -> tuple[tuple[Tensor, ...], bool]:
    """Aliases of the inputs, so that gradients are theirs alone, and whether they came as a tuple. Gradients are on."""
    given, many = _tuple(inputs, "inputs", user)
    return tuple(x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_() for x in given), many


def _called(func: Function, inputs: tuple[tuple[Tensor, ...], bool], user: str, strict: bool) -> _Call:
    """Calls the function with what `_aliases` gave."""
    fresh, many_inputs = inputs
    outputs, many_outputs = _tuple(func(*fresh), "outputs of the user-provided function", user)
    _require_graph(outputs, strict)
    return _Call(fresh, outputs, many_inputs, many_outputs)


def _require_graph(outputs: tuple[Tensor, ...], strict: bool) -> None:
    for i, output in enumerate(outputs if strict else ()):
        if not output.requires_grad:
            raise RuntimeError(
                f"Output {i} of the user-provided function does not require gradients. The outputs must be computed in "
                "a differentiable manner from the input when running in strict mode."
            )


def _vector(v: Any, others: tuple[Tensor, ...], many: bool, user: str) -> tuple[Tensor, ...]:
    """``v``, which has the form of ``others``: 1 where it was left out and these are one element."""
    if v is None:
        if len(others) != 1 or others[0].numel() != 1:
            what = "user-provided function returns" if user == "vjp" else "input to the user-provided function is"
            raise RuntimeError(f"The vector v can only be None if the {what} a single Tensor with a single element.")
        return (ops.aten.ones_like(others[0].detach()),)
    vector, _ = _tuple(v, "v", user)
    if len(vector) != len(others) and not many:
        raise RuntimeError("The given v should contain a single Tensor.")
    if len(vector) != len(others):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(others)} but got {len(vector)}.")
    for i, (value, other) in enumerate(zip(vector, others, strict=True)):
        if value.shape != other.shape:
            entry = f"Entry {i} in " if many else ""
            raise RuntimeError(f"{entry}v has invalid size: should be {other.shape} but got {value.shape}.")
    return vector


def _require_an_element(outputs: tuple[Tensor, ...], many: bool, user: str) -> None:
    if many or len(outputs) != 1:
        raise RuntimeError(f"The function given to {user} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {user} should contain a single element")


def _slopes(
    func: Function, inputs: Any, v: Any, create_graph: bool, strict: bool, user: str
) -> tuple[_Call, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """The call of a function with one element, what multiplies its Hessian, and its gradient, to be differentiated."""
    given = _aliases(inputs, user, create_graph)
    vector = _vector(v, *given, user)
    call = _called(func, given, user, strict)
    _require_an_element(call.outputs, call.many_outputs, user)
    slopes = _gradients(call.outputs, call.inputs, None, True)
    _require_gradients(slopes, strict, "jacobian")
    return (
        call,
        vector,
        tuple(_zeros_like(x) if s is None else s for s, x in zip(slopes, call.inputs, strict=True)),
    )


# ---------------------------------------------------------------- what is computed


def _gradients(
    outputs: Sequence[Tensor | None], inputs: Sequence[Tensor], weights: Sequence[Tensor] | None, create_graph: bool
) -> tuple[Tensor | None, ...]:
    """Gradients of those outputs that have any; None for an input on which none depends."""
    there = [(i, output) for i, output in enumerate(outputs) if output is not None and output.requires_grad]
    if not there:
        return (None,) * len(inputs)
    given = [None if weights is None else weights[i] for i, _ in there]
    return tuple(grad([output for _, output in there], inputs, given, create_graph=create_graph, allow_unused=True))


def _product(
    outputs: Sequence[Tensor | None],
    inputs: Sequence[Tensor],
    vector: Sequence[Tensor],
    models: Sequence[Tensor],
    create_graph: bool,
    strict: bool,
    stage: str,
) -> tuple[Tensor, ...]:
    """The gradients, weighted by ``vector``; zeros like ``models`` where there are none."""
    with set_grad_enabled(bool(create_graph) or is_grad_enabled()):
        found = _gradients(outputs, inputs, vector, create_graph)
        return _without_gaps(found, models, strict, create_graph, stage)


def _require_gradients(gradients: Sequence[Tensor | None], strict: bool, stage: str) -> None:
    """In strict mode, refuses what cannot be differentiated again; ``stage`` is a key of `_CONSTANT`."""
    for i, value in enumerate(gradients if strict else ()):
        if value is None:
            raise RuntimeError(f"{_INDEPENDENT['vjp'].format(i)} {_NOT_ALLOWED}.")
        if not value.requires_grad:
            raise RuntimeError(f"{_CONSTANT[stage].format(i)} {_NOT_ALLOWED}.")


def _without_gaps(
    gradients: Sequence[Tensor | None],
    models: Sequence[Tensor],
    strict: bool,
    create_graph: bool,
    stage: str,
    of: int | None = None,
) -> tuple[Tensor, ...]:
    """Zeros where nothing depends; in strict mode an error: ``stage`` is a key of `_INDEPENDENT`, ``of`` an output."""
    for i, value in enumerate(gradients if strict else ()):
        if value is None:
            raise RuntimeError(f"{_INDEPENDENT[stage].format(i, of=of)} {_NOT_ALLOWED}.")
        if create_graph and not value.requires_grad:
            raise RuntimeError(f"{_WITHOUT_GRAPH[stage].format(i)} {_NOT_ALLOWED} when create_graph=True.")
    return tuple(_zeros_like(m) if g is None else g for g, m in zip(gradients, models, strict=True))


def _rows(output: Tensor, number: int, call: _Call, create_graph: bool, strict: bool) -> list[Tensor]:
    """An output's part of the Jacobian, one backward pass for each of its elements."""
    parts: list[list[Tensor]] = [[] for _ in call.inputs]
    for element in output.reshape(-1):
        found = _gradients((element,), call.inputs, None, True)
        rows = _without_gaps(found, call.inputs, strict, create_graph, "jacobian", number)
        for part, row in zip(parts, rows, strict=True):
            part.append(row)
    return [
        _stacked(part, 0).reshape((*output.shape, *x.shape)) if part else _zeros(output, x)
        for part, x in zip(parts, call.inputs, strict=True)
    ]


def _rows_together(output: Tensor, call: _Call, create_graph: bool) -> list[Tensor]:
    """As `_rows`, with all passes in one."""
    if not output.requires_grad or not output.numel():
        return [_zeros(output, x) for x in call.inputs]
    directions = _basis(output)
    # The graph is kept: several outputs may share it.
    found = grad([output], call.inputs, [directions], True, create_graph, allow_unused=True, is_grads_batched=True)
    return [
        _zeros(output, x) if rows is None else rows.reshape((*output.shape, *x.shape))
        for rows, x in zip(found, call.inputs, strict=True)
    ]


def _forward_jacobian(func: Function, inputs: Any, create_graph: bool, vectorize: bool) -> Any:
    """The Jacobian by columns, one call of the function for each element of the inputs."""
    if create_graph:
        raise NotImplementedError(
            'torch.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"` are not supported '
            'together (yet). Please either set `create_graph=False` or `strategy="reverse-mode"`.'
        )
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only implemented for "
            "`vectorize=True`."
        )
    given, many_inputs = _tuple(inputs, "inputs", "jacobian")
    matrices: list[list[Tensor]] = []
    many_outputs = False
    for number, x in enumerate(given):
        columns: list[tuple[Tensor, ...]] = []
        for direction in _basis(x):
            with forward_ad.dual_level():
                duals = [forward_ad.make_dual(y.detach(), direction) if i == number else y for i, y in enumerate(given)]
                outputs, many_outputs = _tuple(func(*duals), "outputs of the user-provided function", "jacobian")
                parts = [forward_ad.unpack_dual(output) for output in outputs]
            columns.append(tuple(_zeros_like(y) if t is None else t for y, t in parts))
        matrices.append([_columns(column, x) for column in zip(*columns, strict=True)])
    by_output = [_result(row, many_inputs, create_graph) for row in zip(*matrices, strict=True)]
    return tuple(by_output) if many_outputs else by_output[0]


def _columns(columns: Sequence[Tensor], x: Tensor) -> Tensor:
    """Columns side by side, of the output's shape and then the input's."""
    whole: Tensor = _stacked(columns, -1).reshape((*columns[0].shape, *x.shape))
    return whole


def _basis(model: Tensor) -> Tensor:
    """For each element of a tensor, one of its shape that is 1 there and 0 elsewhere."""
    count = model.numel()
    directions = model.detach().new_zeros((count, count))
    directions.view(-1)[:: count + 1].fill_(1)
    basis: Tensor = directions.reshape((count, *model.shape))
    return basis


def _construct_standard_basis_for(tensors: Sequence[Tensor], tensor_numels: Sequence[int]) -> tuple[Tensor, ...]:
    """For each tensor its columns of a unit matrix as large as all together: ``(all elements, its own)``."""
    total, start = sum(tensor_numels), 0
    found = []
    for tensor, count in zip(tensors, tensor_numels, strict=True):
        part = tensor.new_zeros((total, count))
        part.diagonal(-start).fill_(1)
        found.append(part)
        start += count
    return tuple(found)


def _stacked(tensors: Sequence[Tensor], dim: int) -> Tensor:
    whole: Tensor = ops.aten.stack(list(tensors), dim)
    return whole


def _zeros_like(tensor: Tensor) -> Tensor:
    zeros: Tensor = ops.aten.zeros_like(tensor)
    return zeros


def _zeros(output: Tensor, x: Tensor) -> Tensor:
    zeros: Tensor = x.detach().new_zeros((*output.shape, *x.shape))
    return zeros


def _result(values: Sequence[Tensor], many: bool, create_graph: bool) -> Any:
    """What is given back: in the form of what was given, and outside of the graph unless one is wanted."""
    kept = tuple(values) if create_graph else tuple(value.detach() for value in values)
    return kept if many else kept[0]
