"""What a failed check says: a sentence made of its condition, or its own words."""

from __future__ import annotations

import importlib.util
import itertools
from pathlib import Path
from types import ModuleType

import pytest

from tests.codegen.support import load, run
from tests.needs import needed, require

torch = needed("mindtorch_v2")

SENTENCES = {
    "x.dim() == 1": "x to have 1 dimension",
    "x.dim() == 3": "x to have 3 dimensions",
    "x.dim() == y.dim()": "x.dim() to equal y.dim()",
    "x.shape == y.shape": "x and y to have the same shape",
    "x.dtype == y.dtype": "x and y to have the same dtype",
    "x.dtype == float32": "x.dtype to be torch.float32",
    "mode == 'tanh'": "mode to be 'tanh'",
    "mode == 'none' or mode == 'tanh'": "mode to be one of 'none', 'tanh'",
    "mode in ['none', 'tanh']": "mode to be one of 'none', 'tanh'",
    "x.dtype not in [bool, int8]": "x.dtype to be none of torch.bool, torch.int8",
    "n != 0": "n not to be 0",
    "n != m": "n to differ from m",
    "n > 0": "n to be greater than 0",
    "0 <= n <= x.size(0)": "n to be at least 0 and to be at most x.size(0)",
    "5 > n >= m": "n to be less than 5 and m to be at most n",
    "not n < 3": "n to be at least 3",
    "not n == 3": "n not to be 3",
    "not flag": "flag to be False",
    "flag": "flag to be True",
    "can_cast(x.dtype, y.dtype)": "can_cast(x.dtype, y.dtype) to be True",
    "(n + 1 if n < 0 else n) + m <= x.size(0)": "n + m to be at most x.size(0)",
    "n == 3 or (m > 2 and n > 2)": "n to be 3, or m to be greater than 2 and n to be greater than 2",
}  # fmt: skip


CHECKED = """\
- func: c{number}(Tensor x, Tensor y, int n, int m, str mode, bool flag) -> Tensor
  check: ["{text}"]
  kernels: [{{compute: x * 1}}]
"""


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """An operator for each of the conditions."""
    entries = "".join(CHECKED.format(number=number, text=text) for number, text in enumerate(SENTENCES))
    return load(tmp_path_factory.mktemp("checked"), f"namespace: sentences\nops:\n{entries}")


@pytest.mark.parametrize("text", SENTENCES)
def test_a_condition_as_a_sentence(checked: ModuleType, text: str) -> None:
    """Of the first call that it refuses."""
    operator = getattr(checked, f"c{[*SENTENCES].index(text)}")
    tensors = [torch.ones(2), torch.ones(2, 2).bool(), torch.ones(5)]
    for values in itertools.product(tensors, tensors, (-9, 0, 3, 9), (0, 9), ("any", "none"), (True, False)):
        try:
            operator(*values)
        except RuntimeError as error:
            said = str(error).partition(": expected ")[2].partition(", got ")[0]
            break
    assert said == SENTENCES[text]


TEXT = """\
namespace: conditions
ops:
- func: head(Tensor x, int count, str mode='low') -> Tensor
  check:
  - x.dim() == 1
  - that: 0 <= count <= x.size(0)
    error: IndexError
    message: "head(): count is {count}, but x has {x.size(0)} elements of {x.shape}; {{braces}}"
  - {that: "mode in ['low', 'high'] and x.numel() < 10", error: ValueError}
  - {that: "x.dtype != bool", message: '"head" takes no {x.dtype}'}
  kernels: [{compute: 'x.narrow(0, 0, count)'}]
"""


@pytest.fixture(scope="module")
def ops(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    require("mindtorch_v2")
    files, shown = run(tmp_path_factory.mktemp("conditions"), TEXT)
    assert shown == ""
    return loaded("conditions_ops", files["ops.py"], tmp_path_factory.mktemp("loaded"))


def loaded(name: str, text: str, folder: Path) -> ModuleType:
    path = folder / "conditions_ops.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_a_check_says(ops: ModuleType) -> None:
    assert ops.head(torch.ones(3), 2).tolist() == [1, 1]
    for arguments, kind, message in (
        ((torch.ones(2, 3), 1), RuntimeError, "{op}: expected x to have 1 dimension, got x.dim() = 2"),
        ((torch.ones(3), 4), IndexError, "head(): count is 4, but x has 3 elements of [3]; {braces}"),
        ((torch.ones(3), 1, "no"), ValueError, "{op}: expected mode to be one of 'low', 'high', got mode = 'no'"),
        ((torch.ones(12), 1), ValueError, "{op}: expected x.numel() to be less than 10, got x.numel() = 12"),
        ((torch.ones(2).bool(), 1), RuntimeError, '"head" takes no torch.bool'),
    ):  # fmt: skip
        with pytest.raises(kind) as caught:
            ops.head(*arguments)
        assert str(caught.value) == message.replace("{op}", "conditions::head")
        with pytest.raises(kind):
            ops.head(*(a.to("meta") if isinstance(a, torch.Tensor) else a for a in arguments))


WRONG = {
    "message: '{count'": ("MT114", "a brace without its other half"),
    "message: 'of {cuont}'": ("MT204", "`cuont`"),
    "message: 'of {count +}'": ("MT200", "the expression ends too early"),
    "message: ''": ("MT116", "`message` is empty"),
    "error: KeyError": ("MT113", "`error` cannot be `KeyError`"),
    "mesage: no": ("MT110", "`mesage`"),
}


@pytest.mark.parametrize("entry", WRONG)
def test_what_is_wrong_with_a_check(entry: str, tmp_path: Path) -> None:
    code, message = WRONG[entry]
    head = TEXT.partition("  check:")[0]
    kernels = "  kernels: [{compute: x * count}]\n"
    _, shown = run(tmp_path, f"{head}  check:\n  - that: count > 0\n    {entry}\n{kernels}")
    assert code in shown
    assert message in shown
