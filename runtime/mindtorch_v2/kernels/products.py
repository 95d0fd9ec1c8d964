"""Products of tensors: by subscripts, over dimensions, of vectors and batches of matrices."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from .. import _core
from .._core import Tensor, dtype
from .._numbers import as_element
from .._ops import ops
from .reduction import wrap_dim

_BOOL = _core.dtypes["bool"]


# ---------------------------------------------------------------- einsum
def einsum(equation: str, tensors: Sequence[Tensor], *, path: Sequence[int] | None = None) -> Tensor:
    """The sum of products that an equation's subscripts say: ``"ij,jk->ik"``."""
    if not tensors:
        raise RuntimeError("einsum(): must provide at least one operand")
    diagonals, products, gone, order = _recipe(equation, tuple(tuple(tensor.shape) for tensor in tensors))
    current = _diagonal(tensors[0], diagonals[0])
    for other, pairs, product in zip(tensors[1:], diagonals[1:], products, strict=True):
        current = _multiplied(current, _diagonal(other, pairs), product)
    if gone:
        current = current.sum(gone)
    return current if order is None else current.permute(order)


Labels = list[Any]  # letters, and for an ellipsis the numbers of dimensions counted from the last


class _Recipe(NamedTuple):
    """What an equation is for operands of some shapes: their diagonals, products of two, and what is left to do."""

    diagonals: list[list[tuple[int, int]]]
    products: list[_Product]
    gone: list[int]
    order: list[int] | None  # of the result's dimensions; None: as they are


@functools.lru_cache(1024)
def _recipe(equation: str, shapes: tuple[tuple[int, ...], ...]) -> _Recipe:
    inputs, output = _subscripts(equation, [len(shape) for shape in shapes])
    sizes = _sizes(inputs, shapes)
    operands = [_diagonals(shape, labels) for shape, labels in zip(shapes, inputs, strict=True)]
    products = []
    _, shape, labels = operands[0]
    for at, (_, other, theirs) in enumerate(operands[1:], 1):
        later = set(output).union(*(rest for _, _, rest in operands[at + 1 :]))
        product, shape, labels = _product_of(shape, labels, other, theirs, later, sizes)
        products.append(product)
    gone = [k for k, label in enumerate(labels) if label not in output]
    order = [[label for label in labels if label in output].index(label) for label in output]
    # What was made here is in order, maybe; of one operand the result is a view in any case.
    return _Recipe([pairs for pairs, _, _ in operands], products, gone, _unless_kept(order) if products else order)


def _unless_kept(order: list[int]) -> list[int] | None:
    return None if order == list(range(len(order))) else order


def _subscripts(equation: str, ranks: Sequence[int]) -> tuple[list[Labels], Labels]:
    left, arrow, _ = equation.partition("->")
    terms = left.split(",")
    if len(terms) > len(ranks):
        raise RuntimeError("einsum(): fewer operands were provided than specified in the equation")
    if len(terms) < len(ranks):
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")
    inputs, start = [], 0
    for at, (term, rank) in enumerate(zip(terms, ranks, strict=True)):
        inputs.append(_term(_read(equation, start, start + len(term), f"operand {at}", *_OF_OPERAND), rank, at))
        start += len(term) + 1
    spread = sorted({label for term in inputs for label in term if isinstance(label, int)})
    if not arrow:
        letters = [label for term in inputs for label in term if isinstance(label, str)]
        return inputs, [*spread, *sorted(letter for letter in set(letters) if letters.count(letter) == 1)]
    output: Labels = []
    for letter in _read(equation, len(left) + 2, len(equation), "output", *_OF_OUTPUT):
        if letter == _ELLIPSIS:
            output += spread
            continue
        if letter in output:
            raise RuntimeError(f"einsum(): output subscript {letter} appears more than once in the output")
        if not any(letter in term for term in inputs):
            raise RuntimeError(
                f"einsum(): output subscript {letter} does not appear in the equation for any input operand"
            )
        output.append(letter)
    return inputs, output


_ELLIPSIS = "..."
# What is said of dots that are no ellipsis, and of a second one.
_OF_OPERAND = ("that is not part of any ellipsis", "for which an ellipsis was already found")
_OF_OUTPUT = ("that is not part of any ellipsis (...)", "but an ellipsis (...) was already found")


def _read(equation: str, at: int, end: int, whose: str, no_ellipsis: str, second: str) -> list[str]:
    """The letters in a part of an equation, and the ellipsis."""
    found: list[str] = []
    while at < end:
        letter = equation[at]
        if letter == ".":
            if _ELLIPSIS in found or equation[at : min(at + 3, end)] != _ELLIPSIS:
                raise RuntimeError(f"einsum(): found '.' for {whose} {second if _ELLIPSIS in found else no_ellipsis}")
            letter = _ELLIPSIS
        elif letter != " " and not (letter.isalpha() and letter.isascii()):
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {at} in the equation string, subscripts must be in "
                "[a-zA-Z]"
            )
        at += len(letter)
        if letter != " ":
            found.append(letter)
    return found


def _term(labels: list[str], ndim: int, at: int) -> Labels:
    dots = _ELLIPSIS in labels
    named = len(labels) - dots
    if named > ndim or (not dots and named != ndim):
        what = "is more than" if dots else "does not match"
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({named}) {what} the number of dimensions ({ndim}) "
            f"for operand {at}{'' if dots else ' and no ellipsis was given'}"
        )
    if not dots:
        return [*labels]
    before = labels.index(_ELLIPSIS)
    return [*labels[:before], *range(named - ndim, 0), *labels[before + 1 :]]


def _sizes(inputs: Sequence[Labels], shapes: Sequence[tuple[int, ...]]) -> dict[Any, int]:
    sizes: dict[Any, int] = {}
    for at, (labels, shape) in enumerate(zip(inputs, shapes, strict=True)):
        for label, size in zip(labels, shape, strict=True):
            known = sizes.setdefault(label, size)
            if known == 1:
                sizes[label] = size
            elif size not in (1, known):
                raise RuntimeError(
                    "einsum(): operands do not broadcast with remapped shapes [original->remapped]: subscript "
                    f"{label} has "
                    f"size {size} for operand {at} which does not broadcast with previously seen size {known}"
                )
    return sizes


def _diagonals(shape: tuple[int, ...], labels: Labels) -> tuple[list[tuple[int, int]], list[int], Labels]:
    """Which diagonals are taken one after the other where a letter repeats, and what shape and labels are left."""
    sizes, labels, pairs = list(shape), list(labels), []
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            if sizes[first] != sizes[second]:
                raise RuntimeError(
                    f"einsum(): subscript {label} is repeated for an operand but the sizes don't match, "
                    f"{sizes[second]} != {sizes[first]}"
                )
            pairs.append((first, second))
            kept = [k for k in range(len(labels)) if k not in (first, second)]
            sizes, labels = [*(sizes[k] for k in kept), sizes[first]], [*(labels[k] for k in kept), label]
    return pairs, sizes, labels


def _diagonal(tensor: Tensor, pairs: Sequence[tuple[int, int]]) -> Tensor:
    for first, second in pairs:
        tensor = tensor.diagonal(0, first, second)
    return tensor


class _Side(NamedTuple):
    """What becomes of an operand before a product: sums, another order, sizes of 1 repeated, groups made one."""

    gone: list[int]
    order: list[int] | None
    wide: list[int] | None
    matrices: list[int]


class _Product(NamedTuple):
    left: _Side
    right: _Side
    shape: list[int]


def _product_of(
    shape: Sequence[int], first: Labels, other: Sequence[int], second: Labels, later: set[Any], sizes: dict[Any, int]
) -> tuple[_Product, list[int], Labels]:
    """Two operands made one, by a product of batches of matrices; what nobody reads any more is summed before."""
    own = {**dict(zip(first, shape, strict=True)), **dict(zip(second, other, strict=True))}
    shared = [label for label in first if label in second]
    batch = [label for label in shared if label in later]
    inner = [label for label in shared if label not in later]
    rows = [label for label in first if label not in second and label in later]
    columns = [label for label in second if label not in first and label in later]
    own.update((label, sizes[label]) for label in shared)  # a size of 1 where the other has more is repeated
    left = _side(shape, first, (batch, rows, inner), own)
    right = _side(other, second, (batch, inner, columns), own)
    labels = [*batch, *rows, *columns]
    made = [own[label] for label in labels]
    return _Product(left, right, made), made, labels


def _side(shape: Sequence[int], labels: Labels, groups: Sequence[Labels], sizes: dict[Any, int]) -> _Side:
    kept = [label for label in labels if any(label in group for group in groups)]
    wanted = [label for group in groups for label in group]
    gone = [k for k, label in enumerate(labels) if label not in kept]
    order = [kept.index(label) for label in wanted]
    now = dict(zip(labels, shape, strict=True))
    wide = [sizes[label] for label in wanted]
    repeats = any(now[label] != sizes[label] for label in wanted)
    matrices = [math.prod(sizes[label] for label in group) for group in groups]
    return _Side(gone, _unless_kept(order), wide if repeats else None, matrices)


def _multiplied(a: Tensor, b: Tensor, product: _Product) -> Tensor:
    left, right = _matrices(a, product.left), _matrices(b, product.right)
    made = ops.aten.bmm(left, right) if left.dtype is not _BOOL else (left.unsqueeze(3) & right.unsqueeze(1)).any(2)
    result: Tensor = made.reshape(product.shape)
    return result


def _matrices(tensor: Tensor, side: _Side) -> Tensor:
    gone, order, wide, matrices = side
    tensor = tensor.sum(gone) if gone else tensor
    tensor = tensor if order is None else tensor.permute(order)
    tensor = tensor if wide is None else tensor.expand(wide)
    result: Tensor = tensor.reshape(matrices)
    return result


# ---------------------------------------------------------------- over dimensions
def tensordot(self: Tensor, other: Tensor, dims_self: Sequence[int], dims_other: Sequence[int]) -> Tensor:
    """The sums of products over dimensions of both."""
    if len(dims_self) != len(dims_other):
        raise RuntimeError("both dimension lists should have same length")
    if self.dtype is not other.dtype:
        raise RuntimeError("tensordot: both inputs should have same dtype")
    own = [wrap_dim(d, self.dim()) for d in dims_self]
    theirs = [wrap_dim(d, other.dim()) for d in dims_other]
    for dims in (own, theirs):
        if len(set(dims)) != len(dims):
            raise RuntimeError("dim appears multiple times in the list of dims")
    for a, b in zip(own, theirs, strict=True):
        sizes = self.shape[a], other.shape[b]
        if sizes[0] != sizes[1] and 1 not in sizes:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {sizes[0]} in dim {a} and second has "
                f"size {sizes[1]} "
                f"in dim {b}"
            )
        if sizes[0] != sizes[1]:  # a single one takes the sum of the others
            self, other = (self.sum([a], True), other) if sizes[1] == 1 else (self, other.sum([b], True))
    rows = [d for d in range(self.dim()) if d not in own]
    columns = [d for d in range(other.dim()) if d not in theirs]
    count = 1
    for d in own:
        count *= self.shape[d]
    left = self.permute([*rows, *own]).reshape((_product(self.shape, rows), count))
    right = other.permute([*theirs, *columns]).reshape((count, _product(other.shape, columns)))
    shape = [*(self.shape[d] for d in rows), *(other.shape[d] for d in columns)]
    result: Tensor = ops.aten.mm(left, right).reshape(shape)
    return result


def _product(shape: Sequence[int], dims: Sequence[int]) -> int:
    count = 1
    for d in dims:
        count *= shape[d]
    return count


def inner(self: Tensor, other: Tensor) -> Tensor:
    """Sums of products over both last dimensions; of a number the product."""
    if not self.dim() or not other.dim():
        product: Tensor = self * other
        return product
    if self.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            f"inner() the last dimension must match on both input tensors but got shapes {list(self.shape)} and "
            f"{list(other.shape)}"
        )
    return tensordot(self, other, [-1], [-1])


_SHORT = 64


def kron(self: Tensor, other: Tensor) -> Tensor:
    """Kronecker's product: each element times the whole other tensor."""
    ndim = max(self.dim(), other.dim())
    own, theirs = ((*(1,) * (ndim - t.dim()), *t.shape) for t in (self, other))
    left = self.reshape([n for size in own for n in (size, 1)])
    right = other.reshape([n for size in theirs for n in (1, size)])
    if ndim > 1 and theirs[-1] < _SHORT:  # products of long rows, which are written out first, take less time
        row = [own[-1], theirs[-1]]
        left = left.expand([*left.shape[:-2], *row]).reshape([*left.shape[:-2], 1, math.prod(row)])
        right = right.expand([*right.shape[:-2], *row]).reshape([*right.shape[:-2], 1, math.prod(row)])
    result: Tensor = (left * right).reshape([a * b for a, b in zip(own, theirs, strict=True)])
    return result


def vdot(self: Tensor, other: Tensor) -> Tensor:
    """The sum of products of two vectors' elements, the first conjugated."""
    result: Tensor = ops.aten.dot(ops.aten.conj_physical(self) if self.is_complex() else self, other)
    return result


# ---------------------------------------------------------------- with a summand
def _scaled(self: Tensor, product: Tensor, beta: Any, alpha: Any) -> Tensor:
    """beta * self + alpha * product; where beta is 0, self may be anything."""
    if not (product.is_floating_point() or product.is_complex() or product.dtype is _BOOL):
        beta, alpha = (as_element(factor, product.dtype) for factor in (beta, alpha))
    found = product if _is_one(alpha) else product * alpha
    if not isinstance(beta, bool) and beta == 0:
        shape = _core.broadcast_shapes(self.shape, found.shape)
        alone: Tensor = found.expand(shape)
        return alone
    result: Tensor = (self if _is_one(beta) else self * beta) + found
    return result


def _is_one(number: Any) -> bool:
    return bool(number == 1)


def _check_factors(kind: dtype, beta: Any, alpha: Any) -> None:
    """Refuses a fraction as a factor of integers, and a truth as a factor of numbers."""
    for name, factor in (("beta", beta), ("alpha", alpha)):
        if isinstance(factor, bool) and kind is not _BOOL:
            raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
        if isinstance(factor, float) and not (kind.is_floating_point or kind.is_complex):
            raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
        if isinstance(factor, complex) and not kind.is_complex:
            raise RuntimeError(f"For non-complex input tensors, argument {name} must not be a complex number.")


def _require_one_dtype(what: str, *tensors: Tensor) -> None:
    if any(tensor.dtype is not tensors[0].dtype for tensor in tensors):
        given = ", ".join(_core.scalar_types[tensor.dtype.name] for tensor in tensors)
        raise RuntimeError(f"{what} must have the same dtype, but got {given}")


def addmv(self: Tensor, mat: Tensor, vec: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * self + alpha * mat @ vec"""
    if mat.dim() != 2 or vec.dim() != 1 or self.dim() > 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {self.dim()}, {mat.dim()}, {vec.dim()}")
    if mat.shape[1] != vec.shape[0] or (self.dim() == 1 and self.shape[0] not in (1, mat.shape[0])):
        raise RuntimeError(
            f"size mismatch, got input ({self.numel()}), mat ({mat.shape[0]}x{mat.shape[1]}), vec ({vec.shape[0]})"
        )
    _require_one_dtype("addmv input tensors", self, mat, vec)
    return _scaled(self, ops.aten.mv(mat, vec), beta, alpha)


def addr(self: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * self + alpha * the outer product of two vectors"""
    for at, vec in enumerate((vec1, vec2), 1):
        if vec.dim() != 1:
            raise RuntimeError(f"addr: Expected 1-D argument vec{at}, but got {vec.dim()}-D")
    shape = (vec1.shape[0], vec2.shape[0])
    self.expand(shape)  # refuses what does not fit
    kind = _core.common_dtype(self, vec1, vec2)
    _check_factors(kind, beta, alpha)
    if kind is _BOOL:
        product = ops.aten.logical_and(vec1.unsqueeze(1), vec2) if alpha else ops.aten.zeros(shape, dtype=_BOOL)
        found: Tensor = product if not beta else ops.aten.logical_or(self, product)
        return found
    return _scaled(self.expand(shape), vec1.unsqueeze(1) * vec2, beta, alpha)


def addbmm(self: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * self + alpha * the sum of the products of a batch of matrices"""
    for at, batch in enumerate((batch1, batch2), 1):
        if batch.dim() != 3:
            raise RuntimeError(f"batch{at} must be a 3D tensor")
    if batch1.shape[0] != batch2.shape[0]:
        raise RuntimeError(
            f"batch1 and batch2 must have same number of batches, got {batch1.shape[0]} and {batch2.shape[0]}"
        )
    if batch1.shape[2] != batch2.shape[1]:
        raise RuntimeError(
            f"Incompatible matrix sizes for bmm ({batch1.shape[1]}x{batch1.shape[2]} and "
            f"{batch2.shape[1]}x{batch2.shape[2]})"
        )
    _require_one_dtype("addbmm: self, batch1 and batch2", self, batch1, batch2)
    shape = (batch1.shape[1], batch2.shape[2])
    given = self.expand(shape)
    if not batch1.shape[0]:
        product = given.new_zeros(shape)
    elif (
        batch1.is_floating_point() and batch1.dtype.itemsize < 4
    ):  # half precision, rounded for each product as PyTorch rounds it
        total: Tensor = given
        for first, second in zip(batch1, batch2, strict=True):
            total, beta = ops.aten.addmm(total, first, second, beta=beta, alpha=alpha), 1
        return total
    else:
        product = ops.aten.bmm(batch1, batch2).sum([0])
    return _scaled(given, product.to(self.dtype), beta, alpha)


def cross(self: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The cross products of vectors of three elements along a dimension."""
    if self.dim() != other.dim():
        raise RuntimeError(
            f"linalg.cross: inputs must have the same number of dimensions, but got {self.dim()} and {other.dim()}"
        )
    d = wrap_dim(dim, self.dim())
    if self.dim() == 0 or self.shape[d] != 3 or other.shape[d] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {self.shape[d] if self.dim() else 1} and "
            f"{other.shape[d] if other.dim() else 1}"
        )
    _require_one_dtype("linalg.cross: inputs", self, other)
    a, b = self.roll([-1], [d]), other.roll([-1], [d])
    result: Tensor = (self * b - a * other).roll([-1], [d])
    return result


def cross_default(self: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """As `cross`, along the first dimension of three elements if none is given."""
    if dim is None:
        shape = _core.broadcast_shapes(self.shape, other.shape)
        dim = next((d for d, size in enumerate(shape) if size == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    result: Tensor = ops.aten.linalg_cross(self, other, dim=dim)
    return result


def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """Sums of products along a dimension, the first factor conjugated."""
    first = ops.aten.conj_physical(x) if x.is_complex() else x
    result: Tensor = (first * y).sum([dim])
    return result


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:  # noqa: N803 - PyTorch's name
    """The powers of a vector's elements, a column each."""
    if x.dim() != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    count = x.shape[0] if N is None else N
    if count < 0:
        raise RuntimeError("N must be non-negative.")
    powers = ops.aten.arange(count, device=x.device)
    result: Tensor = x.unsqueeze(1).pow(powers if increasing else powers.flip([0]))
    return result


def chain_matmul(matrices: Sequence[Tensor]) -> Tensor:
    """The product of matrices."""
    found = matrices[0]
    for matrix in matrices[1:]:
        found = ops.aten.mm(found, matrix)
    return found


# ---------------------------------------------------------------- products with more behind, or of less
def addmm_activation(
    self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1, use_gelu: bool = False
) -> Tensor:
    """relu(beta * self + alpha * mat1 @ mat2), or gelu; shapes as `addmm`'s."""
    total = ops.aten.addmm(self, mat1, mat2, beta=beta, alpha=alpha)
    result: Tensor = ops.aten.gelu(total) if use_gelu else ops.aten.relu(total)
    return result


def int_mm(self: Tensor, mat2: Tensor) -> Tensor:
    """(n, m) int8 or uint8 times (m, p) int8: (n, p) int32. Raises RuntimeError for other shapes and dtypes."""
    for name, given, dtypes in (("self", self, ("int8", "uint8")), ("mat2", mat2, ("int8",))):
        if given.dim() != 2:
            raise RuntimeError(f"_int_mm: Expected {name} to be of dimension 2 but got {given.dim()}")
        if given.dtype not in [_core.dtypes[dtype] for dtype in dtypes]:
            raise RuntimeError(f"_int_mm: Expected {name} dtype to be {' or '.join(dtypes)} but got {given.dtype}")
    if self.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            f"_int_mm: self.size(1) needs to match mat2.size(0) but got {self.shape[1]} and {mat2.shape[0]}"
        )
    wide = _core.dtypes["int32"]
    result: Tensor = ops.aten.mm(self.to(wide), mat2.to(wide))
    return result


# ---------------------------------------------------------------- groups
def grouped_mm(
    self: Tensor, mat2: Tensor, offs: Tensor | None = None, bias: Tensor | None = None, out_dtype: Any = None
) -> Tensor:
    """Products of groups of matrices; ``offs``, (groups) of int32, says where each ends in a side of two dimensions.

    (rows, k) @ (groups, k, n) has groups of rows: (rows, n). (groups, m, k) @ (k, columns) has groups of columns:
    (m, columns). (m, inner) @ (inner, n) has groups of the inner dimension: (groups, m, n). Two batches need no
    ``offs``. Rows and columns behind the last group are 0.

    Raises RuntimeError for shapes and dtypes that do not go together, and for offsets that fall or lie outside.
    """
    _check_groups(self, mat2, offs, bias, out_dtype)
    if offs is None:
        return ops.aten.bmm(self, mat2)  # type: ignore[no-any-return]
    whole = self.shape[0] if self.dim() == 2 < mat2.dim() else mat2.shape[1] if mat2.dim() == 2 < self.dim() else None
    ends = offs.tolist()
    spans = list(zip([0, *ends], ends, strict=False))
    limit = self.shape[1] if whole is None else whole
    if any(not 0 <= first <= last <= limit for first, last in spans):
        raise RuntimeError(f"expected offsets that rise from 0 to at most {limit}, got {ends}")
    if whole is None:
        return ops.aten.stack([ops.aten.mm(self[:, a:b], mat2[a:b]) for a, b in spans])  # type: ignore[no-any-return]
    rest = whole - (ends[-1] if ends else 0)
    if self.dim() == 2:
        parts = [ops.aten.mm(self[a:b], group) for (a, b), group in zip(spans, mat2.unbind(), strict=True)]
        parts.append(self.new_zeros((rest, mat2.shape[2])))
    else:
        parts = [ops.aten.mm(group, mat2[:, a:b]) for (a, b), group in zip(spans, self.unbind(), strict=True)]
        parts.append(self.new_zeros((self.shape[1], rest)))
    result: Tensor = ops.aten.cat(parts, 0 if self.dim() == 2 else 1)
    return result


def grouped_mm_fake(
    self: Tensor, mat2: Tensor, offs: Tensor | None = None, bias: Tensor | None = None, out_dtype: Any = None
) -> Tensor:
    """What `grouped_mm` gives, without its values."""
    _check_groups(self, mat2, offs, bias, out_dtype)
    size: tuple[int, ...] = (self.shape[-2], mat2.shape[-1])
    if self.dim() == mat2.dim():
        size = (self.shape[0] if offs is None else offs.shape[0], *size)
    return self.new_empty(size)  # type: ignore[no-any-return]


def _check_groups(a: Tensor, b: Tensor, offs: Tensor | None, bias: Tensor | None, out_dtype: Any) -> None:
    dtypes = [_core.dtypes[name] for name in ("float32", "bfloat16", "float16")]
    for name, given in (("mat_a", a), ("mat_b", b)):
        if given.dtype not in dtypes:
            raise RuntimeError(f"Expected {name} to be Float32, BFloat16 or Float16 matrix, got {given.dtype}")
        if given.dim() not in (2, 3):
            raise RuntimeError(f"{name} has to be 2 or 3d, got {given.dim()}d")
    if a.dtype != b.dtype:
        raise RuntimeError(f"expected mat_a and mat_b to have the same dtype, but got: {a.dtype} != {b.dtype}")
    if a.shape[-1] != b.shape[-2]:
        raise RuntimeError(
            f"contraction dimension of mat_a and mat_b must match, got {tuple(a.shape)} and {tuple(b.shape)}"
        )
    if (offs is not None) != (2 in (a.dim(), b.dim())):
        raise RuntimeError("Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d")
    if offs is None and a.shape[0] != b.shape[0]:
        raise RuntimeError(f"batched dimension has to match, got {a.shape[0]} and {b.shape[0]}")
    if offs is not None:
        if offs.dim() != 1:
            raise RuntimeError(f"offs has to be 1D, got {offs.dim()}D")
        if offs.dtype is not _core.dtypes["int32"]:
            raise RuntimeError(f"Offsets have to be int32, got {offs.dtype}")
        groups = [side.shape[0] for side in (a, b) if side.dim() == 3]
        if groups and groups[0] != offs.shape[0]:
            raise RuntimeError(f"matrix batch sizes have to match: {groups[0]} matrices, {offs.shape[0]} offsets")
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if out_dtype is not None and out_dtype != a.dtype:
        raise RuntimeError(f"Grouped gemm output dtype must match `mat_a` dtype, got {out_dtype} and {a.dtype}")
