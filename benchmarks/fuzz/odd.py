"""Odd things to pass, as Python: each pool is for one kind of argument."""

from __future__ import annotations

__all__ = [
    "CLASS_TEXTS",
    "DEVICES",
    "FUNCTIONS",
    "HUGE",
    "ODD_ANYTHING",
    "ODD_DEVICES",
    "ODD_INTS",
    "ODD_ITEMS",
    "ODD_NUMBERS",
    "OPERATORS",
    "STRINGS",
]


def _texts(table: str) -> tuple[str, ...]:
    """The expressions of a table, whose columns a bar separates."""
    return tuple(text for line in table.splitlines() for text in line.strip().split(" | ") if text)


# In place of an int.
ODD_INTS = _texts("""
    -1 | -2 | 0 | 1 | 7 | -7 | 100 | 2**31 - 1 | 2**31 | 2**32 + 1 | -2**31 | 2**40 | 2**62 | 2**63 - 1 | -2**63
    2**63 | 2**64 + 3 | True | 1.0 | 2.5 | None | BadIndex() | FloatIndex() | HugeIndex() | torch.tensor(1)
    torch.tensor([1, 2]) | torch.tensor(1.5) | numpy.int64(1) | '1'
""")
# In place of a number.
ODD_NUMBERS = _texts("""
    0 | -1 | 2 | 0.5 | -0.0 | 1e300 | 1e-300 | float('nan') | float('inf') | -float('inf') | True | False | 1+2j
    2**40 | 2**63 | -2**63 - 1 | 2**70 | 1e30 | torch.tensor(2) | torch.tensor(2.5) | torch.tensor([1.0, 2.0])
    numpy.float64(1.5) | numpy.float32(1.5) | numpy.int32(2) | None | '1' | [1]
""")
# In place of an item of a list.
ODD_ITEMS = _texts("""
    -1 | 0 | 1 | 2 | 3 | 7 | -2 | 2**31 | 2**40 | 2**62 | 2**63 - 1 | -2**63 | 2**63 | 1.0 | True | None | 'a'
    BadIndex() | HugeIndex() | torch.tensor(2) | torch.tensor(2.0) | []
""")
# In place of anything.
ODD_ANYTHING = _texts("""
    None | 0 | 1 | -1 | 2.5 | True | 'x' | '' | b'x' | 1j | [] | () | {} | {'a': 1} | object() | Ellipsis
    slice(None) | slice(0, 2**62) | float('nan') | 2**63 | BadIndex() | BadBool() | Anything() | torch.float32
    torch.device('cpu') | torch.device('meta') | (lambda *xs: xs[0]) | numpy.ones(3) | range(3) | torch.Tensor
    torch.Size([2]) | [[1, 2], [3]] | NotImplemented | type | 'cpu' | torch.ops.aten.add.Tensor | [None] | float
""")
# What is called back, some of which fail.
FUNCTIONS = _texts("""
    torch.sin | (lambda *xs: xs[0] * 2) | (lambda *xs: (xs[0] * xs[0]).sum()) | (lambda *xs: xs[0].sum())
    (lambda *xs: None) | (lambda *xs: (xs[0], xs[0])) | (lambda *xs: xs[0].t()) | (lambda *xs: xs[0].add_(1))
    (lambda *xs: 1 / 0) | (lambda *xs: 3) | torch.nn.functional.relu | torch.ops.aten.sin.default
    (lambda *xs: xs[0].item()) | (lambda *xs: xs[0][0]) | torch.add
""")
# Names, modes and schemas.
STRINGS = _texts(r"""
    'cpu' | 'none' | 'mean' | 'sum' | 'aten::add' | 'aten::add.Tensor' | 'CPU' | 'Meta' | 'test::f'
    'f(Tensor x) -> Tensor' | '' | 'x' | '\0' | 'npu' | 'floor' | 'trunc' | 'float32' | 'é' | 'a' * 3000 | 'f('
    'Autograd'
""")
CLASS_TEXTS = _texts("""
    torch.Tensor | Sub | int | object | torch.nn.Parameter | type
""")
OPERATORS = _texts("""
    torch.ops.aten.add.Tensor | torch.ops.aten.sin.default | torch.ops.aten.add | 'aten::sin'
""")
DEVICES = _texts("""
    'cpu' | torch.device('cpu') | None | 'meta' | 'npu' | 'npu:0' | 'cpu:0'
""")
ODD_DEVICES = _texts("""
    'cpu:7' | 'npu:99' | 'xyz' | '' | 'cpu:-1' | 0 | -1 | 2**31 - 1 | 2**40 | 'npu:2147483647'
    torch.device('meta') | 'cuda' | 'cpu:' | 'npu:01'
""")
# Tensors that say they are bigger than memory, and one that overlaps itself.
HUGE = _texts("""
    torch.tensor(1.0).expand(2**40) | torch.tensor([1.0]).as_strided((2, 2), (0, 0))
    torch.empty(2**62, device='meta') | torch.empty((2**31, 0)) | torch.empty((2**31, 2**31), device='meta')
    torch.empty((0, 2**62)) | torch.empty((2**20, 2**20, 2**20), device='meta')
    torch.empty((2**33,), dtype=torch.bool, device='meta') | torch.tensor([1.0, 2.0]).expand(2**20, 2)
    torch.tensor(3).expand(2**62)
""")
