"""Numbers at the edges, and what stands for one: PyTorch's value, or its class of error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mindtorch_v2
from mindtorch_v2 import _core
from tests.runtime.both import agree_or_raise


class Indexed:
    def __index__(self) -> int:
        return 3


# By what judges them: a call a line. `v` is a vector of floats, `a` a matrix, `s` a number, `i` and `m` hold integers
# and truth values, `w` the matrix of integers, `h` halves, `u` large integers of 64 bits without a sign, `e` nothing.
CALLS = {
    "truth values and tensors of one element for sizes": """
        torch.zeros(torch.tensor(True))
        torch.zeros((2, torch.tensor(True)))
        torch.zeros(torch.tensor([2]))
        torch.ops.aten.zeros([torch.tensor(True)])
        a.view(torch.tensor(True))
        a.view(6, torch.tensor(True))
        a.reshape(torch.tensor(6), torch.tensor(True))
        a.expand(torch.tensor(True), 2, 3)
        a.permute(torch.tensor(True), 0)
        a.size(torch.tensor(1))
        a.size(torch.tensor([1]))
        a.size(torch.tensor(True))
        a.size(torch.tensor(1.0))
        a.stride(torch.tensor(1))
        a.stride(torch.tensor([1]))
        a.stride(torch.tensor(False))
    """,
    "one int for a list of them": """
        torch.sum(a, np.int64(0))
        torch.sum(a, dim=np.int32(-1))
        torch.sum(a, torch.tensor(0))
        torch.sum(a, torch.tensor([1]))
        torch.sum(a, torch.tensor(True))
        torch.sum(a, torch.tensor(0.0))
        torch.sum(a, torch.tensor([0, 1]))
        torch.sum(a, np.bool_(True))
        torch.sum(a, np.float64(0))
        torch.sum(a, np.array(0))
        torch.sum(a, Indexed())
        torch.unsqueeze(a, torch.tensor(1)).shape
        torch.unsqueeze(a, torch.tensor([1]))
        torch.transpose(a, torch.tensor([0]), 1)
        torch.softmax(a, torch.tensor([[0]]))
        torch.select(a, torch.tensor([0]), 0)
        torch.select(a, 0, torch.tensor([0]))
        torch.chunk(a, torch.tensor([2]))
        torch.flatten(a, torch.tensor([0]))
        torch.permute(a, [torch.tensor([1]), 0])
        torch.eye(torch.tensor([2]))
        torch.sum(a, True)
        torch.sum(a, np.int64(2))
        torch.amax(a, torch.tensor(0, dtype=torch.uint8))
        a.mean(np.int64(0))
        torch.ops.aten.sum.dim_IntList(a, np.int64(0))
        torch.ops.aten.amax.default(a, torch.tensor(0))
        a.squeeze(torch.tensor([0]))
        torch.Tensor(1, torch.tensor([-2]))
        torch.Tensor(2, torch.tensor([3])).shape
    """,
    "lists in parts": """
        torch.permute(v, 0)
        torch.permute(s, 1)
        torch.permute(v, True)
        torch.permute(v, (0,))
        torch.permute(v, np.int64(0))
        torch.permute(v, torch.tensor(0))
        torch.reshape(v, 3)
        torch.reshape(v, -1)
        torch.ops.aten.permute(v, 0)
        torch.ops.aten.permute(v, [0])
        v.permute(0)
        s.permute(1)
        a.permute(1, 0)
        a.permute(np.int64(1), 0)
        torch.Tensor.permute(a, 1, 0)
        torch.Tensor.view(v, 3, 1)
        v.view(torch.tensor([3]))
        v.view(torch.tensor([3]), 1)
        v.view(3, torch.tensor(1))
        v.view(1.5, 2)
        v.expand(np.int64(2), 3)
        v.expand(Indexed(), 3)
        v.repeat(2, 1)
        v.reshape("3", 1)
    """,
    "older forms": """
        torch.addmm(2, b, b, b)
        torch.addmm(2, b, 3, b, b)
        torch.addmm(2.5, b, 3, b, b)
        torch.addmm(b, 2, b, b)
        torch.addmm(b, 2, 3, b, b)
        torch.addmm(2, b, b)
        b.addmm(2, b, b)
        b.addmm(2, 3, b, b)
        b.addmm(b, 2, b)
        torch.Tensor.addmm(b, 2, 3, b, b)
        torch.ops.aten.addmm(2, b, b, b)
        torch.baddbmm(2, b[None], b[None], b[None])
        torch.baddbmm(2, b[None], 3, b[None], b[None])
        torch.baddbmm(b[None], 3, b[None], b[None])
        b[None].baddbmm(2, b[None], b[None])
        b[None].baddbmm(2, 3, b[None], b[None])
        torch.add(v, 2, v)
        v.add(2, v)
        v.add_(2, v)
        torch.ops.aten.add(v, 2, v)
        torch.ops.aten.add.__ne__(0) is NotImplemented
        torch.ops.aten.add == torch.ops.aten.add
        v.sub(2, v)
        torch.addcmul(v, 2, v, v)
        v.addcdiv_(2, v, v + 1)
    """,
    "factors beyond 2**53": """
        i.add(i, alpha=2**53 + 1)
        i.add(i, alpha=2**53)
        i.add(1, alpha=2**53 + 1)
        i.add(i, alpha=2**63)
        i.add(i, alpha=2**63 - 1)
        i.add(i, alpha=2**64 - 1)
        i.add_(i, alpha=2**63)
        i.add_(1, alpha=2**63)
        e.long().add(True, alpha=2**63)
        torch.ops.aten.add.Scalar(i, True, 2**63)
        torch.ops.aten.add.Tensor(i, i.int(), alpha=2**63)
        i.sub(i, alpha=2**63)
        i.sub(i, alpha=2**64 - 1)
        torch.rsub(i, i, alpha=2**63)
        i.add_(i, alpha=-(2**62) - 1)
        i.sub(i, alpha=2**53 + 1)
        i.sub(i, alpha=-(2**63))
        i.sub(3, alpha=1 - 2**63)
        torch.rsub(i, i, alpha=2**53 + 1)
        torch.rsub(i, 3, alpha=1 - 2**63)
        i.int().add(i, alpha=2**60 + 1)
        i.int().add_(i, alpha=2**60 + 1)
        i.int().add(i.int(), alpha=2**60 + 1)
        m.add(m, alpha=2**60)
        m.add(i, alpha=2**60 + 1)
        i.add(v, alpha=2**60)
        v.add(v, alpha=1e30)
        v.add(v, alpha=1e300)
        i.add(v, alpha=1e300)
        i.add(v, alpha=float("nan"))
        i.add(i, alpha=1e30)
        i.addcmul(i, i, value=2**53 + 1)
        i.addcmul_(i, i, value=2**60 + 1)
        i.addcmul(m, m, value=2**60 + 1)
        i.int().addcmul(i.int(), i.int(), value=2**60)
        m.addcmul(m, m, value=2**60)
        v.addcmul(i, i, value=2**60)
        h.addcmul(h, h, value=1e30)
        torch.addmm(w, w, w, alpha=2**53 + 1)
        torch.addmm(w, w, w, beta=2**53 + 1)
        torch.addmm(w, w, w, beta=0, alpha=2**62 + 1)
        torch.addmm(w.int(), w.int(), w.int(), alpha=2**53 + 1)
        torch.addmm(b, b, b, beta=1e20, alpha=1e21)
        torch.addmm(b, b, b, beta=1e300)
    """,
    "numbers for two tensors": """
        torch.sub(2.5, 0.5)
        torch.add(2.5, 1)
        torch.mul(2.5, 0.5)
        torch.mul(True, 2)
        torch.sub(2.5, torch.tensor(1.0).double())
        torch.sub(2.5, 0.5, alpha=2)
        torch.ops.aten.floor_divide.default(-(2**63) - 1)
        torch.ops.aten.floor_divide.default(2**64, 0)
        torch.ops.aten.mul.Tensor(2**64)
        torch.ops.aten.sin.default(2**64)
        torch.floor_divide(-(2**63) - 1)
    """,
    "integers of 64 bits without a sign": """
        u // 3
        u // u
        u % 3
        torch.div(u, 3, rounding_mode="floor")
        torch.div(u, u, rounding_mode="trunc")
        torch.fmod(u, 3)
        u.clamp(1, 2)
        u.clamp_max(2**63)
        torch.clamp_max(torch.tensor([1, 2], dtype=torch.uint32), 2**40)
        torch.clamp_min(torch.tensor([1, 2], dtype=torch.uint32), -1)
        torch.clamp(torch.tensor([1, 2], dtype=torch.uint16), 1, 2**40)
        torch.clamp(torch.tensor([1, 2], dtype=torch.uint8), 1, 2)
    """,
    "more than a dtype holds": """
        torch.where(m, v, 1e300)
        torch.where(m, 1e39, v)
        torch.where(m, i, 1e300)
        torch.where(m, h, 1e300)
        torch.where(m, v.double(), 1e300)
        torch.where(m, v, float("inf"))
        torch.where(m[:0], e, 1e300)
        torch.where(m.to("meta"), v.to("meta"), 1e300).shape
        torch.arange(0, 1, 1e300, dtype=torch.float16)
        torch.arange(0, 1, 1e300, dtype=torch.float32)
        torch.arange(0, 1e39, 1e38, dtype=torch.float16)
        torch.arange(1e39, 1e39, dtype=torch.bfloat16)
        torch.arange(1e39, 1e39, dtype=torch.float16, device="meta")
        torch.arange(0, 0, 1e39, dtype=torch.float16)
        torch.Size([2**62, 4]).numel()
        torch.Size([2**62, 2]).numel()
        torch.Size([2**62, 4, 0]).numel()
    """,
    "norms": """
        v.norm(1e300)
        v.norm(-1e39)
        v.norm(3.4e38)
        v.double().norm(1e300)
        torch.zeros(3).norm(1e300)
        e.norm(1e300)
        torch.zeros(0, 3).norm(1e300, 0)
        torch.tensor([2.0]).norm(1e300)
        torch.tensor([2.0]).norm(0)
        torch.tensor([[2.0], [3.0]]).norm(1e300, 1)
        torch.tensor([float("nan"), 1.0]).norm(1e300)
        h.norm(1e5)
        h.norm(1e39)
        (h * 300).norm()
        (h * 300).norm(3)
        h.bfloat16().norm(1e39)
        s.norm(dim=-1)
        s.norm(None, 0)
        s.norm(3, 0, True)
        s.norm(0, -1)
        s.norm(float("inf"), (0,))
        s.norm(-1, ())
        s.norm(dim=1)
        s.norm(dim=-2)
        s.norm(dim=(0, 0))
        s.norm(dim=(0, -1))
        torch.norm(-s, dim=0)
        a.norm(1e300, 0, True)
    """,
    "products of batches": """
        torch.baddbmm(b[None, None], b[None], b[None])
        torch.baddbmm(b.expand(3, 2, 2), b[None], b[None])
        torch.baddbmm(b[0], b[None], b[None])
        torch.baddbmm(v, b[None], b[None])
        torch.baddbmm(b[None].to("meta"), b[None].to("meta"), b[None].to("meta")).shape
        torch.baddbmm(b[None, None].to("meta"), b[None].to("meta"), b[None].to("meta"))
        torch.baddbmm(b[None] * float("nan"), b[None], b[None], beta=0)
        torch.baddbmm(b[None], b, b[None])
    """,
    "probabilities": """
        v.bernoulli_(torch.tensor([1.0, 0.0, 1.0]))
        i.bernoulli_(torch.tensor([1.0, 0.0, 1.0]))
        m.bernoulli_(torch.tensor([1.0, 0.0, 1.0]).half())
        a.bernoulli_(torch.tensor([1.0, 0.0, 1.0]))
        v.bernoulli_(torch.tensor(1.0))
        v.bernoulli_(torch.tensor(1.5))
        v.bernoulli_(torch.tensor([1.0, 0.0, 2.0]))
        v.bernoulli_(torch.tensor([1.0, 0.0]))
        v.bernoulli_(torch.tensor(float("nan")))
        v.bernoulli_(i)
        v.bernoulli_(torch.tensor(1))
        v.bernoulli_(torch.ones(3, requires_grad=True))
        e.bernoulli_(torch.tensor(2.0))
        torch.ops.aten.bernoulli_.Tensor(v, torch.zeros(3))
        torch.empty((0, 2**62)).bernoulli_().shape
        torch.empty((0, 2**62)).bernoulli_(torch.tensor(0.5)).shape
        torch.empty((0, 2**62)).index_select(1, torch.tensor(1)).shape
    """,
    "limits": """
        v.clamp_min(v + 1)
        v.clamp_max(torch.tensor(1))
        v.clamp_min(i + 1)
        i.clamp_min(v + 0.5)
        v.clamp_min(torch.tensor([float("nan"), 1.0, 2.0]))
        v.clamp_min(v[:2])
        torch.clamp_max(v, torch.tensor([1.0, 2.0, 3.0], requires_grad=True))
        torch.ops.aten.clamp_min.Tensor(v, v + 1)
        torch.ops.aten.clamp_max.Tensor(v, v - 1)
    """,
    "bytes of a storage": """
        torch.UntypedStorage(()).nbytes()
        torch.UntypedStorage([]).nbytes()
        torch.UntypedStorage([1, 2]).nbytes()
        torch.UntypedStorage(range(3)).nbytes()
        torch.UntypedStorage(b"ab").nbytes()
        torch.UntypedStorage(np.int64(3)).nbytes()
        torch.UntypedStorage([1, 2], device="meta").nbytes()
        torch.UntypedStorage([1.5])
        torch.UntypedStorage(["x"])
        torch.UntypedStorage([np.int64(3)])
        torch.UntypedStorage("x")
        torch.UntypedStorage({})
        torch.UntypedStorage({1})
        torch.UntypedStorage(None)
        torch.UntypedStorage(1.5)
        torch.UntypedStorage(True)
        torch.UntypedStorage(np.bool_(True))
        torch.UntypedStorage(v)
        torch.UntypedStorage(s)
        torch.UntypedStorage(Indexed())
    """,
}


@pytest.mark.parametrize(
    "call", [line.strip() for lines in CALLS.values() for line in lines.split("\n") if line.strip()]
)
def test_a_call(call: str) -> None:
    def case(torch: Any) -> Any:
        names = {
            "torch": torch,
            "np": np,
            "Indexed": Indexed,
            "v": torch.arange(3.0),
            "a": torch.arange(6.0).reshape(2, 3),
            "b": torch.arange(4.0).reshape(2, 2),
            "s": torch.tensor(2.5),
            "i": torch.arange(3),
            "w": torch.arange(4).reshape(2, 2),
            "m": torch.tensor([True, False, True]),
            "h": torch.arange(3.0).half(),
            "u": torch.tensor([2**64 - 1, 5, 2**63], dtype=torch.uint64),
            "e": torch.zeros(0),
        }
        return eval(call, names)

    agree_or_raise(case)


def test_numbers_beyond_float32_become_infinite_on_the_npu() -> None:
    for call in ("v.mul_(1e300)", "v.mul_(-1e300)", "v.add_(1e300)", "v.sub_(1e300)", "v.add(1, alpha=1e300)"):

        def case(torch: Any, call: str = call) -> Any:
            where = "npu" if torch is mindtorch_v2 else "cpu"
            return eval(call, {"v": torch.ones(3, device=where)}).cpu()

        agree_or_raise(case)


def test_memory_of_the_npu_grows_with_what_is_in_it() -> None:
    t = mindtorch_v2.arange(3.0).to("npu")
    view = t[1:]
    assert view.resize_(7)[:2].tolist() == [1.0, 2.0]
    assert t.tolist() == [0.0, 1.0, 2.0]
    assert t.untyped_storage().nbytes() == 32
    t.untyped_storage().resize_(64)
    assert t.tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_a_storage_is_made_of_bytes(device: str) -> None:
    storage = mindtorch_v2.UntypedStorage([300, -1, True], device=device)
    bytes_ = _core.from_buffer(storage, storage.data_ptr(), (3,), (1,), mindtorch_v2.uint8, storage.device)
    assert bytes_.tolist() == [44, 255, 1]
