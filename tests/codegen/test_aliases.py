"""Other names of operators: what they declare, call and publish; and names that cannot be."""

from __future__ import annotations

import pytest

from tests.codegen.support import findings, load
from tests.needs import needed

torch = needed("mindtorch_v2")

TEXT = """\
namespace: codegen_aliases
ops:
- func: scaled(Tensor self, *, float by=2.0) -> Tensor
  autogen: {scaled_: method, scaled.out: function}
  aliases: [stretched, grown]
  kernels: [{compute: self * by}]
- func: row(Tensor(a) self, int at) -> Tensor(a)
  aliases: {line: function}
  kernels: [{compute: 'self.select(0, at)'}]
"""


@pytest.fixture(scope="module")
def ops(tmp_path_factory):
    return load(tmp_path_factory.mktemp("aliases"), TEXT)


@pytest.mark.parametrize("name", ["stretched", "grown"])
def test_another_name_has_the_schema_and_the_variants(ops, name):
    packet = getattr(torch.ops.codegen_aliases, name)
    assert packet.overloads() == ["default", "out"]
    assert str(packet.default._schema) == f"codegen_aliases::{name}(Tensor self, *, float by=2.0) -> Tensor"
    in_place = getattr(torch.ops.codegen_aliases, f"{name}_").default
    assert str(in_place._schema).endswith(f"{name}_(Tensor(a!) self, *, float by=2.0) -> Tensor(a!)")


def test_another_name_computes_the_same_with_gradients(ops):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    ops.grown(x, by=3.0).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    y = torch.ones(2)
    assert torch.ops.codegen_aliases.grown_(y) is y
    assert torch.ops.codegen_aliases.grown.out(y, out=torch.empty(0)).tolist() == [4.0, 4.0]
    assert y.tolist() == [2.0, 2.0]


def test_another_name_of_a_view_is_a_view(ops):
    x = torch.zeros(2, 3)
    ops.line(x, 1).fill_(1.0)
    assert x.tolist() == [[0.0] * 3, [1.0] * 3]


@pytest.mark.parametrize(
    ("name", "text"),
    [("other_", "`other_` cannot be another name of names::one"), ("__class__", "`__class__` is taken")],
)
def test_a_name_that_cannot_be(tmp_path, name, text):
    found = findings(
        tmp_path, f"- func: names::one(Tensor x) -> Tensor\n  aliases: {name}\n  kernels: [{{compute: x * 2}}]\n"
    )
    assert text in str(found)


def test_another_name_that_is_declared_twice(tmp_path):
    entry = "- func: names::{0}(Tensor x) -> Tensor\n  aliases: both\n  kernels: [{{compute: x * 2}}]\n"
    assert "names::both is declared twice" in str(findings(tmp_path, entry.format("one") + entry.format("two")))
