"""`jacrev`, `jacfwd` and `hessian`: whole derivatives, a row or a column for each sample of a `vmap`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._argument_types import names_wrong_types
from .._core import Tensor
from .._ops import ops
from ..utils._pytree import tree_leaves, tree_map
from ._forward import jvp
from ._inputs import ArgNums, chosen_arguments, own
from ._reverse import vjp_of
from ._vmap import vmap

__all__ = ["hessian", "jacfwd", "jacrev"]


@names_wrong_types
def jacrev(
    func: Callable[..., Any],
    argnums: ArgNums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """The function that computes the Jacobian of ``func`` for the arguments ``argnums`` by reverse mode.

    Shapes are output's + argument's; for several arguments a tuple, nested as outputs and arguments are. With
    ``has_aux`` func returns ``(output, aux)``, and the Jacobian comes as ``(jacobian, aux)``. ``chunk_size`` is how
    many rows are computed at a time (default: all); ``_preallocate_and_copy`` is where PyTorch keeps them.
    """

    if chunk_size is not None and not chunk_size > 0:
        raise ValueError(f"jacrev: `chunk_size` should be greater than 0, got {chunk_size}.")

    @functools.wraps(func)
    def jacobian(*args: Any) -> Any:
        _require_real("jacrev", "inputs", args)
        chosen = chosen_arguments(argnums, len(args))
        output, pull_back, aux = vjp_of(_partial(func, args, chosen), tuple(args[n] for n in chosen), has_aux)
        _require_real("jacrev", "outputs", output)
        outputs = tree_leaves(output)
        sizes = [o.numel() for o in outputs]
        basis = _basis(outputs)
        rebuilt = _rebuild(output)
        rows = _in_chunks(lambda *parts: pull_back(rebuilt(parts)), basis, sum(sizes), chunk_size)

        def of_output(number: int, shape: Any) -> Any:
            start = sum(sizes[:number])
            found = tree_map(lambda r: ops.aten.reshape(r[start : start + sizes[number]], [*shape, *r.shape[1:]]), rows)
            return found[0] if isinstance(argnums, int) else found

        numbers = iter(range(len(outputs)))
        result = tree_map(lambda o: of_output(next(numbers), o.shape), output)
        return (result, aux) if has_aux else result

    return jacobian


def jacfwd(
    func: Callable[..., Any],
    argnums: ArgNums = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Callable[..., Any]:
    """As `jacrev`, by forward mode: cheaper where there are fewer inputs than outputs."""

    @functools.wraps(func)
    def jacobian(*args: Any) -> Any:
        _require_real("jacfwd", "inputs", args)
        chosen = chosen_arguments(argnums, len(args))
        partial, primals = _partial(func, args, chosen), tuple(args[n] for n in chosen)
        inputs = tree_leaves(primals)
        sizes = [i.numel() for i in inputs]
        rebuilt = _rebuild(primals)

        def column(*parts: Any) -> Any:
            found = jvp(partial, primals, rebuilt(parts), has_aux=has_aux)
            _require_real("jacfwd", "outputs", found[0])
            return found[1:] if has_aux else found[1]

        columns = vmap(column, randomness=randomness)(*_basis(inputs))
        columns, aux = (columns[0], tree_map(lambda a: a[0], columns[1])) if has_aux else (columns, None)

        def by_input(out: Tensor) -> Any:
            starts = iter(sum(sizes[:i]) for i in range(len(sizes)))
            lengths = iter(sizes)

            def part(value: Tensor) -> Any:
                start = next(starts)
                moved = ops.aten.movedim(out[start : start + next(lengths)], 0, -1)
                return ops.aten.reshape(moved, [*out.shape[1:], *value.shape])

            found = tree_map(part, primals)
            return found[0] if isinstance(argnums, int) else found

        result = tree_map(by_input, columns)
        return (result, aux) if has_aux else result

    return jacobian


def hessian(func: Callable[..., Any], argnums: ArgNums = 0) -> Callable[..., Any]:
    """The function that computes the second derivatives of ``func``: forward mode over reverse mode."""
    return jacfwd(jacrev(func, argnums), argnums)


def _require_real(name: str, what: str, tree: Any) -> None:
    for number, leaf in enumerate(tree_leaves(tree)):
        if isinstance(leaf, Tensor) and leaf.is_complex():
            raise RuntimeError(
                f"{name}: Expected all {what} to be real but received complex tensor at flattened input idx: {number}"
            )


def _partial(func: Callable[..., Any], args: tuple[Any, ...], chosen: tuple[int, ...]) -> Callable[..., Any]:
    """``func`` as a function of the chosen arguments alone."""

    def partial(*values: Any) -> Any:
        given = [None if n in chosen else own(value) for n, value in enumerate(args)]
        for n, value in zip(chosen, values, strict=True):
            given[n] = value
        return func(*given)

    return partial


def _basis(tensors: list[Tensor]) -> list[Tensor]:
    """For each tensor a stack: of all directions there are, over all tensors, its part of each."""
    total = sum(t.numel() for t in tensors)
    stacks, start = [], 0
    for t in tensors:
        count = t.numel()
        stack = ops.aten.zeros([total, count], dtype=t.dtype, device=t.device)
        stack[start : start + count] = ops.aten.eye(count, dtype=t.dtype, device=t.device)
        stacks.append(ops.aten.reshape(stack, [total, *t.shape]))
        start += count
    return stacks


def _rebuild(tree: Any) -> Callable[[Any], Any]:
    def rebuilt(leaves: Any) -> Any:
        at = iter(leaves)
        return tree_map(lambda _: next(at), tree)

    return rebuilt


def _in_chunks(func: Callable[..., Any], stacks: list[Tensor], count: int, chunk_size: int | None) -> Any:
    if chunk_size == 1:  # one after the other, for functions that `vmap` does not take
        rows = [func(*(s[i] for s in stacks)) for i in range(count)]
        return tree_map(lambda *parts: ops.aten.stack(list(parts)), *rows)
    mapped = vmap(func)
    if chunk_size is None or chunk_size >= count:
        return mapped(*stacks)
    parts = [mapped(*(s[i : i + chunk_size] for s in stacks)) for i in range(0, count, chunk_size)]
    return tree_map(lambda *rows: ops.aten.cat(list(rows)), *parts)
