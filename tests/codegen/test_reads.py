"""What formulas read: a tensor by its values, or a property of it, for which nothing of the tensor is kept."""

import pytest

from mtcodegen.expr import parse_expression, reads
from mtcodegen.pycode.expressions import to_python

# A formula, and what it reads: names whose values, and properties.
CASES = {
    "grad * scale": ["grad", "scale"],
    "grad * result0 * out": ["grad", "result0", "out"],
    "grad.expand(x.shape)": ["grad", "x.shape"],
    "grad * x.size(0) * x.size()": ["grad", "x.shape", "x.shape"],
    "grad * x.numel() / y.numel() * x.dim() * x.ndim": ["grad", "x.numel()", "y.numel()", "x.ndim", "x.ndim"],
    "grad * x.dtype.itemsize": ["grad", "x.dtype"],
    "grad * x.mT": ["grad", "x"],
    "grad * exp(x).numel()": ["grad", "x"],
    "grad if w is not None else -grad": ["grad", "w is not None", "grad"],
    "grad * x.size(dim)": ["grad", "x.shape", "dim"],
    "grad * len(xs)": ["grad", "len(xs)"],
    "grad * xs[0].numel()": ["grad", "xs[0].numel()"],
    "grad * xs[0]": ["grad", "xs"],
    "grad if s == 'x.shape' else -grad": ["grad", "s", "grad"],
    "exp(x.shape) + y.size(n)[0] * f(z, k=x) + w.foo": ["x.shape", "y.shape", "n", "z", "x", "w"],
}


@pytest.mark.parametrize("formula", CASES)
def test_reads(formula: str) -> None:
    found = reads(parse_expression(formula))
    texts = [read.name if read.property is None else to_python(read.property) for read in found]
    assert sorted(texts) == sorted(CASES[formula])
