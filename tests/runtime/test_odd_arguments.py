"""Functions, classes and methods that are no operators, with odd arguments: PyTorch's value, or its class of error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.both import agree_or_raise


class BadIndex:
    def __index__(self) -> int:
        raise ValueError("no index")


class Indexed:
    def __index__(self) -> int:
        return 3


# By what judges them: a call a line. `v` is a vector of floats, `a` a matrix, `s` a number, `i` and `m` hold integers
# and truth values, `e` nothing.
CALLS = {
    "flags": """
        setattr(v, "requires_grad", None)
        setattr(v, "requires_grad", 1)
        setattr(v, "requires_grad", True)
        setattr(i, "requires_grad", 1)
        v.requires_grad_("1")
        v.requires_grad_(None)
        v.requires_grad_(requires_grad=1)
        i.requires_grad_(1)
        v.requires_grad_().requires_grad
        torch.Tensor._make_subclass(torch.nn.Parameter, v, 1)
        torch.Tensor._make_subclass(torch.nn.Parameter, v, type)
        v.numpy(force=0)
        v.numpy(force=None)
        v.new_tensor(1.0, requires_grad=1)
        v.new_tensor(v, requires_grad=np.float32(1.5))
        torch.tensor(1.0, pin_memory=1)
        torch.tensor(v, pin_memory=True)
        torch.autograd.set_multithreading_enabled(1)
        torch.autograd.set_multithreading_enabled(None)
        torch.autograd.set_multithreading_enabled(np.bool_(True))
        torch.autograd.set_multithreading_enabled(torch.tensor(True))
        torch.autograd.set_multithreading_enabled(torch.tensor([1.0, 2.0]))
    """,
    "values at indices": """
        v.index_put([m], torch.ones(1, 1))
        v.index_put([m], torch.ones(1, 1, 1, 1))
        v.index_put([m], torch.ones(1, 2))
        v.index_put([m], torch.ones(1, 1), True)
        v.index_put([i[1]], torch.ones(1))
        v.index_put([i[:1]], torch.ones(1, 1))
        a.index_put([m[:2], i[0]], torch.ones(1, 1, 1))
        a.index_put([i[:1]], torch.ones(1, 1, 3))
        v.index_put_([m], torch.ones(1, 1), accumulate=True)
        torch.ops.aten.index_put.default(a, [None, m], torch.ones(1, 1, 1))
        a.index_put([i[:2]], torch.ones(1, 3))
        a.index_put([i[1]], torch.ones(3))
        a.index_put([i[1]], torch.ones(1, 3))
        a.__setitem__(i[1], torch.ones(1, 1, 3)) or a
        a.__setitem__(i[:2], torch.ones(1, 1, 3)) or a
        a.__setitem__(i[:2], torch.ones(1, 2, 3)) or a
        a.__setitem__((slice(None), m), torch.ones(1, 2, 1)) or a
        v.__setitem__(i[1], torch.ones(1, 1)) or v
        v.__setitem__(1, torch.ones(1, 1)) or v
        v.__setitem__(m, torch.ones(1, 1, 2)) or v
        a.__setitem__(0, torch.ones(1, 1, 1)) or a
    """,
    "memory of another tensor": """
        torch.zeros(0).set_(torch.arange(8.0)[2:], 0, (6,))
        torch.zeros(0).set_(torch.arange(8.0)[2:], 1, (2, 2), (2, 1))
        torch.zeros(0).set_(torch.arange(8.0)[2:], -1, (2,))
        torch.zeros(0).set_(torch.arange(8.0)[2:], -3, (2,))
        torch.zeros(0).set_(torch.arange(8.0)[2:], 1, (6,)).storage_offset()
        torch.zeros(0).set_(torch.arange(12.0)[::2], 0, (3,))
        torch.zeros(0).set_(a[:, :2], 0, (2, 2), (3, 1))
        torch.zeros(0).set_(v, 1, (3,)).untyped_storage().nbytes()
        torch.zeros(3).set_(v, 1, (3,))
        torch.zeros(3).set_(v, 1, (3,), (1,))
        torch.zeros(3).set_(v, 0, (3,))
        torch.zeros(5).as_strided((3, 3), (1, 1)).set_(torch.arange(9.0).reshape(3, 3), 1, (3, 3))
        torch.zeros(5).as_strided((3, 3), (1, 1)).set_(torch.arange(9.0).reshape(3, 3), 0, (3, 3))
        torch.zeros(5).as_strided((3, 3), (1, 1)).set_(torch.arange(9.0).reshape(3, 3), 1, (3, 3), (1, 1))
        torch.zeros(3).set_(v, 1, (3,), (2,)).untyped_storage().nbytes()
        torch.zeros(2, 3).set_(v.untyped_storage(), 0, (2, 3))
        torch.zeros(2, 3).set_(v.untyped_storage(), 0, (3, 2)).shape
        torch.ops.aten.set_.source_Tensor_storage_offset(torch.zeros(3), v, 1, (3,))
        torch.ops.aten.set_.source_Storage(v, 0)
        torch.ops.aten.set_.source_Storage(v, None)
        torch.ops.aten.set_.source_Storage_storage_offset(v, type, 2, [])
        v.set_(0)
        v.set_("x", 2, [])
    """,
    "destinations": """
        v.to()
        v.to(None)
        v.to(None, None)
        v.to(float)
        v.to("cpu", torch.float64)
        v.to("cpu", None, True, True)
        v.to(torch.float64, True, True)
        v.to(i, True, copy=True)
        v.to(device="cpu", dtype=torch.int64, copy=False)
        v.to(dtype=torch.int64, non_blocking=True)
        v.to("cpu", dtype=torch.int64)
        v.to(out=True)
        v.to(other=v)
        v.to([])
        v.to(torch.float32, -1)
        v.to(torch.float32, "cpu")
        v.to(torch.float32, torch.float32)
        v.to(torch.float32, device="cpu")
        v.to(torch.float64, True, True, True)
        v.to("cpu", torch.float64, 1)
        v.to("cpu", 1)
        v.to("cpu", "cpu")
        v.to("cpu", True)
        v.to(v, 1)
        v.to(v, dtype=torch.int64)
        v.to(copy=1)
        v.to(torch.float32, copy=None)
        v.to("cpu", device="cpu")
        v.to(dtype="x")
        v.to(device=1.5)
        v.to(v, memory_format=0)
        v.to("x")
        v.type_as(1)
        v.type_as(i)
        v.to(b"cpu").device.type
        v.to(b"x")
        torch.nn.Linear(1, 1).to(b"cpu").weight.device.type
        torch.nn.Linear(1, 1).to(b"x")
    """,
    "types": """
        v.type()
        [v.to(d).type() for d in (torch.complex64, torch.complex128, torch.uint16, torch.bool, torch.half)]
        v.to("meta").type()
        v.type(1)
        v.type("x")
        v.type(float)
        v.type(torch.int64)
        v.type(torch.int64, True)
        v.type(torch.int64, non_blocking=1)
        v.type("torch.DoubleTensor")
        v.type(torch.Tensor)
        torch.dtype()
        torch.dtype("float32")
        torch.set_default_dtype(None)
        torch.set_default_dtype("x")
        torch.set_default_dtype(float)
        torch.set_default_dtype(torch.int64)
        torch.promote_types(None, None)
        str(torch.promote_types(float, torch.int64))
        torch.promote_types(torch.int64, "x")
        torch.promote_types()
    """,
    "sizes": """
        torch.Size([True])
        torch.Size(np.array([1, 2])).numel()
        torch.Size([torch.tensor(2), np.int64(3)]).numel()
        torch.Size(i)
        torch.Size({1: 2})
        torch.Size(range(3))
        torch.Size(0)
        torch.Size(None)
        torch.Size([1.5])
        torch.Size("ab")
        torch.Size([torch.tensor(2.5)])
        torch.Size([BadIndex()])
        torch.Size([1], [2])
        torch.Size([2, 3]) + [4]
        torch.Size([2, 3]) + v
        torch.Size([2, 3]) + 1
        torch.Size([2, 3]) + ("x",)
        isinstance(torch.Size([2, 3]) + (1,), torch.Size)
        isinstance((1,) + torch.Size([2, 3]), torch.Size)
        isinstance(torch.Size([2, 3]) * 2, torch.Size)
        isinstance(2 * torch.Size([2, 3]), torch.Size)
        isinstance(torch.Size([2, 3])[1:], torch.Size)
        torch.Size([2, 3]) * 1.5
        torch.Size([2, 3]).__add__(v) is NotImplemented
        v.size(True)
        v.size(BadIndex())
        v.size("x")
        v.stride(True)
        v.stride(1.5)
        v.size(2**70)
        torch.ops.aten.full.default({}, 2)
        torch.ops.aten.full.default({2: 1}, 2)
        torch.ops.aten.full.default("", 2)
        torch.ops.aten.full.default(b"\x02", 2)
        torch.ops.aten.full.default({"a": 1}, 2)
        torch.ops.aten.full.default("ab", 2)
        torch.ops.aten.permute.default(s, {})
        torch.ops.aten.permute.default(v, {0: 1})
    """,
    "devices": """
        torch.as_tensor(v, device="")
        torch.tensor(v, device="")
        v.new_tensor([1], device="")
        v.new_tensor([1], device=None)
        torch.device("cpu").__eq__(0) is NotImplemented
        torch.device("cpu").__ne__(0) is NotImplemented
        torch.device("cpu") == "cpu"
        torch.device("cpu") != "cpu"
        torch.device("x", v)
        torch.device("cpu", BadIndex())
        torch.device("cpu", True)
        torch.device("cpu", 1.5)
        torch.device("cpu", np.int64(1)).index
        torch.device("cpu", torch.tensor(1)).index
        torch.device("cpu", 2**70)
        torch.device(None)
        torch.device(b"cpu:0").index
    """,
    "data": """
        torch.tensor(range(3))
        torch.tensor([range(2), range(2)])
        torch.tensor([np.array([1, 2]), np.array([3, 4])])
        torch.tensor(range(0))
        torch.tensor(memoryview(b"ab"))
        torch.tensor(type)
        torch.tensor(None)
        torch.tensor({"a": 1})
        torch.tensor([1, None])
        torch.tensor([{}])
        torch.tensor(torch.float32)
        torch.tensor(np.float32)
        torch.tensor("x")
        torch.tensor(["x"])
        torch.tensor([b"x"])
        torch.tensor([1, "x"])
        torch.tensor(object(), dtype=torch.float32)
        torch.tensor([1, None], dtype=torch.int64)
        torch.tensor("x", dtype=torch.int64)
        torch.tensor(1.0, dtype="x")
        torch.tensor(1.0, dtype=float)
        torch.as_tensor(v, torch.float64)
        torch.as_tensor(v, dtype=torch.float64)
        torch.as_tensor(type)
        torch.as_tensor(v, dtype="x")
        torch.tensor(3).expand(2**62).tolist()
        torch.zeros(0).expand(2**61, 0).tolist()
        torch.zeros(0).expand(3, 0).tolist()
    """,
    "the class": """
        torch.Tensor(device="cpu")
        torch.Tensor(0, v)
        torch.Tensor(0, 1.5)
        torch.Tensor(2, "1")
        torch.Tensor(2, s)
        torch.Tensor(2, torch.tensor(3)).shape
        torch.Tensor(torch.tensor(2), 2).shape
        torch.Tensor(np.int64(2), 3).shape
        torch.Tensor(True)
        torch.Tensor({})
        torch.Tensor(range(3))
        torch.Tensor(v, v)
        torch.Tensor([1], [2])
        torch.Tensor(v, device="cpu")
        torch.Tensor(torch.Size([2])).shape
        torch.Tensor([1, "x"])
    """,
    "protocols": """
        e.__index__()
        i.__index__()
        s.__index__()
        torch.tensor([1]).__index__()
        torch.tensor(True).__index__()
        v.__format__("x")
        v.__format__("")
        s.__format__(".1f")
        s.__format__("aten::add")
        f"{v:>20}"
        v.__array_wrap__(np.float32(1))
        v.__array_wrap__(np.ones(3))
        v.__array_wrap__(v)
        (v * 2).requires_grad_().exp().__deepcopy__(None)
        v.__rtruediv__("x") is NotImplemented
        "x" / v
        2 / (v + 1)
        None / v
    """,
    "numbers of a tensor": """
        torch.var(v, correction=torch.tensor([1, 2]))
        torch.var(v, correction=torch.tensor(1))
        torch.std(v, correction=s.requires_grad_())
        torch.std(v, correction=1j)
        torch.var(v, True)
        torch.var(v, None)
        torch.var(v, unbiased=False)
        torch.var(v, keepdim=True)
        torch.var(v, 0, True, True)
        torch.var(v, 0, correction=None)
        torch.var(v, correction=True)
        torch.var(v, correction=s)
        torch.var(v, correction=float("nan"))
        torch.var(v, correction=2**63)
        torch.var(v, correction=-5)
        torch.var(v, [])
        torch.var(v, (), correction=0)
        torch.var(a, (0, 1))
        torch.var(s, 0)
        torch.var(v, torch.tensor(0))
        torch.var(e)
        torch.var(torch.zeros(0, 3), 0)
        torch.var(i)
        torch.var(v, True, correction=0.5)
        torch.var(v, 0, 1)
        torch.var(v, False, 0)
        torch.var(v, False, True)
        torch.var(v, unbiased=None)
        torch.var(i, unbiased=None)
        torch.var(v, unbiased=True, keepdim=True)
        torch.var(v, 0, True, False, correction=1)
        torch.var(v, keepdim=0)
        torch.var(v, correction=1j)
        torch.var(v, correction="x")
        torch.var(v, "x")
        torch.var(v, 1.5)
        torch.var(v, [1.5])
        torch.var(v, BadIndex())
        torch.var(v, 5)
        torch.var(a, (0, 0))
        torch.std(v, unbiased=False, keepdim=False)
        torch.std(i, keepdim=0)
        v.std(False, correction=0)
        v.std(0, keepdim=True)
        v.norm("1")
        v.norm("fro")
        v.norm(None)
        v.norm(True)
        v.norm(s)
        v.norm(1j)
        v.norm([1])
        v.norm(2, "x")
        v.norm(2, [])
        v.norm(2, [0], 1)
        v.norm(2, 0, keepdim=None)
        v.norm(dtype=torch.float64)
        v.allclose(v, equal_nan="1")
        v.allclose(v, None)
        v.allclose(v, 1e-5, 1e-8, 1)
        v.isclose(v, equal_nan=float("nan"))
        v.double().isclose(v, equal_nan=3)
        v.isclose(v, -1)
        v.isclose(v, True)
        s.mT
        v.isclose(v, 2**70)
        v.isclose(v, 10**400)
        v.isclose(v, v.sum().requires_grad_())
        v.allclose(v, i)
        torch.isclose(m, ~m, 0.0, 1.0)
        torch.isclose(m, ~m, 1.0)
        torch.isclose(i.to(torch.uint8), i.to(torch.uint8) + 1, 1.0)
        torch.isclose(torch.tensor([-128], dtype=torch.int8), torch.tensor([127], dtype=torch.int8), 1.0)
        torch.autograd.gradcheck(torch.sin, e.double().requires_grad_(), rtol=2**70)
        torch.autograd.gradcheck(torch.sin, v.double().requires_grad_(), rtol="x")
        v.norm(-(2**63) - 1)
        v.norm(2**63)
        i.norm(2**64)
        v.sum(dtype=torch.bool)
        torch.tensor([-1.0, 1.0]).sum(0, dtype=torch.bool)
        torch.tensor([0.5, 4.0]).prod(dtype=torch.bool)
        torch.tensor([-1.0, 0.5]).prod(0, dtype=torch.bool)
        torch.tensor([2.5, 0.5]).prod(0, dtype=torch.int64)
        torch.tensor([1 + 2j]).abs_()
        torch.tensor([1 + 2j]).to("meta").abs_()
        torch.abs_(torch.tensor([-1.5, 2.0]))
        i.div_(i)
        i.to("meta").div_(i.to("meta"))
        i.to("meta").__itruediv__(i.to("meta"))
        v.to("meta").div_(i.to("meta")).shape
        v.div_(torch.tensor([1j]))
    """,
    "promotion and shapes": """
        str(torch.result_type(1, v))
        str(torch.result_type(tensor=v, other=1j))
        torch.result_type()
        torch.result_type(1)
        torch.result_type(v, v, v)
        torch.result_type(v, "x")
        torch.can_cast(float, torch.int64)
        torch.can_cast(1, torch.int64)
        torch.can_cast(torch.int64, "x")
        torch.broadcast_shapes(range(3))
        torch.broadcast_shapes(None, 2)
        torch.broadcast_shapes(float)
        torch.broadcast_shapes(1.5)
        torch.broadcast_shapes(v)
        torch.broadcast_shapes({})
        torch.broadcast_shapes([1.5])
        torch.broadcast_shapes([-1])
        torch.broadcast_shapes(-1)
        torch.broadcast_shapes([2], [3])
        e.view(2, 2**62, 0).stride()
        e.expand(2, 2**63 - 1, 0).stride()
        torch.zeros(2, 2**62, 0).shape
        torch.zeros(2**62, 4, 0)
        torch.zeros(2, 2**62)
        torch.zeros(0, 2).t().clone().stride()
        torch.zeros(0, 2, 3).transpose(0, 1).clone().stride()
        torch.zeros(0, 1).expand(0, 5).clone().stride()
        torch.addmm(torch.zeros(1, 2, 2), a, a.t())
        torch.addmm(torch.zeros(3, 2), torch.ones(1, 1), torch.ones(1, 2))
        torch.addmm(v.to("meta"), a.to("meta"), a.t().to("meta"))
        torch.addmm(v[:2].to("meta"), a.to("meta"), a.t().to("meta")).shape
        torch.permute_copy(e, 1)
        torch.view_copy(v, 3)
        torch.expand_copy(v, 3)
        torch.permute_copy(a, (1, 0)).shape
        a.permute(1, 0).shape
        torch.cat([e, e], 5)
        torch.cat([e, a], 1)
        torch.cat([e, a], 2)
        list(torch.nn.Linear(1, 1).state_dict([], destination={"a": 1}))
        list(torch.nn.Linear(1, 1).state_dict({"b": 2}, "p", prefix="q"))
        list(torch.nn.Linear(1, 1).state_dict({"b": 2}, "p"))
        torch.ones(1).expand(2**40).index_select(0, torch.tensor(2))
        a.index_select(0, torch.tensor(1).expand(2**62))
        a.t().index_select(1, torch.tensor([1, 0, 1]))
        a.index_select(1, torch.tensor([2, 0], dtype=torch.int32))
        torch.zeros(2, 0).index_select(0, torch.tensor([0, 1, 1]))
        s.index_select(0, torch.tensor([0]))
        torch.nn.functional.embedding(i[:0], torch.ones(2, 3).long(), max_norm=1)
        torch.nn.functional.embedding(i[:1], torch.ones(2, 3).long(), max_norm=1)
        torch.nn.functional.nll_loss(a, torch.tensor([0, 1]), ignore_index=BadIndex())
    """,
    "printed": """
        repr(torch.tensor(3).expand(2**62))
        repr(torch.ones(1, dtype=torch.bfloat16).expand(2**20, 2**40))
        repr(torch.arange(2000.0).reshape(2, 1000).t())
        repr(torch.arange(20000).reshape(2, 1000, 10)[:, ::2])
    """,
    "gradients": """
        torch.autograd.grad(v, [v], allow_unused=torch.tensor(2.5))
        torch.autograd.grad(v, [v], allow_unused="a")
        torch.autograd.grad(v.requires_grad_().sum(), [v], allow_unused=2.5)
        torch.autograd.grad(v.requires_grad_().sum(), [v], allow_unused=torch.tensor(1))
        torch.autograd.grad(v.requires_grad_().sum(), [v], allow_unused=5)
        torch.autograd.grad(v.requires_grad_().sum(), [v, s.requires_grad_()], allow_unused=np.int64(0))
        torch.func.vjp(lambda x: x.add_(1), v.requires_grad_() * 1)
        torch.func.grad(lambda x: x[:1].add_(1).sum())(v.requires_grad_() * 1)
        torch.func.jacrev(lambda x: x.clone().add_(1))(v.requires_grad_() * 1)
        torch.func.jacrev(lambda x: x * 1)(v.requires_grad_() * 1)
    """,
    "modes": """
        torch.set_autocast_cache_enabled(1)
        torch.set_autocast_dtype("x", None)
        torch.set_autocast_dtype("x", torch.float16)
        torch.set_autocast_dtype("cpu", "float16")
        torch.set_autocast_dtype(0, torch.float16)
        torch.set_autocast_enabled("x", 0)
        torch.set_autocast_enabled("cpu", 0)
        torch.set_autocast_enabled("x", True)
        torch.get_autocast_dtype("x")
        torch.get_autocast_dtype(1)
        torch.is_autocast_enabled(1)
        torch.is_autocast_enabled(b"cpu")
        torch.set_autocast_enabled(b"cpu", False)
        torch.get_autocast_dtype(b"x")
        torch.amp.is_autocast_available(b"x")
        torch.amp.is_autocast_available(b"\xff")
        torch.nn.NLLLoss(torch.Tensor).weight.__name__
        torch.nn.NLLLoss(int)
        torch.set_autocast_enabled(False)
        torch.set_autocast_enabled(enabled=False)
        torch.set_autocast_enabled("cpu")
        torch.set_autocast_enabled(0)
        torch.set_autocast_enabled(False, "cpu")
        torch.set_autocast_enabled()
        torch.nn.Linear(2, 2).register_forward_pre_hook(print, with_kwargs=v)
        torch.nn.Linear(2, 2).register_forward_hook(print, always_call=v)
        torch.Generator(None).device.type
        torch.Generator(1.5)
        torch.Generator("meta")
        torch.Generator("cpu").manual_seed("x")
        torch.Generator("cpu").manual_seed(2**70)
        torch.manual_seed("x")
        torch.manual_seed(1.5).initial_seed()
        torch.manual_seed(-1).initial_seed()
        torch.manual_seed(2**70)
        torch.Tag(v)
        torch.Tag("x")
        torch.Tag(None)
    """,
    "memory": """
        v.untyped_storage().resize_(BadIndex()).nbytes()
        v.untyped_storage().resize_(torch.tensor(1)).nbytes()
        v.untyped_storage().resize_(True).nbytes()
        v.untyped_storage().resize_(1.5).nbytes()
        v.untyped_storage().resize_(np.int64(3)).nbytes()
        torch.empty((0, 2**62)).view(0, 2**62, 0, 2**62).stride()
        torch.empty((0, 2**62)).reshape(0, 2**62, 0, 2**62).stride()
        torch.tensor([1.0, 2.0]).untyped_storage().resizable()
        torch.tensor([1, 2]).untyped_storage().resizable()
        torch.tensor(np.ones(2)).untyped_storage().resizable()
        torch.from_numpy(np.ones(2)).untyped_storage().resizable()
        torch.tensor([1, 2]).resize_(8)[:2]
    """,
    "backward": """
        torch.autograd.backward(v, grad_variables="cpu")
        torch.autograd.backward(v, "c")
        torch.autograd.backward(v, range(3))
        torch.autograd.backward([v.requires_grad_(), s], [v.detach()])
        torch.autograd.backward(v, -1.5, retain_graph=1.5)
        torch.autograd.backward(e, retain_graph=-1.5, grad_variables=v)
        torch.autograd.grad(v, [a], [1])
        torch.autograd.grad(v, [a], materialize_grads=2**63)
        torch.autograd.grad(v.requires_grad_().sum(), v, allow_unused=2**63)
        torch.autograd.grad(v.requires_grad_().sum(), (v, s.requires_grad_()), allow_unused=1)
        torch.autograd.grad(v.requires_grad_().sum(), (v, s.requires_grad_()), materialize_grads=True)
        torch.autograd.grad(v.requires_grad_().sum(), (v, s.requires_grad_()))
        torch.autograd.grad(torch.autograd.graph.get_gradient_edge(v.requires_grad_() * 2), v, torch.ones(3))
        torch.autograd.grad([torch.autograd.graph.get_gradient_edge(v.requires_grad_() * 2)], v)
        torch.autograd.grad(torch.autograd.graph.get_gradient_edge(v.requires_grad_() * 2), v, torch.ones(2))
        torch.autograd.grad(torch.autograd.graph.get_gradient_edge(v.requires_grad_().sum()), v)
        torch.autograd.grad(torch.autograd.graph.get_gradient_edge(v.requires_grad_()), v, torch.ones(3))
        torch.autograd.backward((torch.autograd.graph.get_gradient_edge(s.requires_grad_() * v),), v) or s.grad
        torch.autograd.backward(torch.autograd.graph.GradientEdge((v.requires_grad_() * 2).grad_fn, 1), v)
        torch.autograd.gradcheck(0, v, check_batched_grad=v, check_backward_ad=False)
        torch.autograd.gradgradcheck(0, v, check_batched_grad=v, check_rev_over_rev=False)
        torch.autograd.gradcheck(lambda x: x.add_(1), s.double().requires_grad_().clone())
        torch.autograd.gradcheck(lambda x: x.add_(1), v.double().requires_grad_())
        torch.autograd.grad([v.requires_grad_() * 2, v * 3], v, [torch.ones(3)])
        torch.autograd.grad(v.requires_grad_().sum(), s, retain_graph=256, allow_unused="x")
        torch.autograd.grad(v.requires_grad_().sum(), s, create_graph=256, retain_graph="x")
        torch.autograd.gradcheck(torch.sin, v, raise_exception=v)
        torch.autograd.gradcheck(torch.sin, v.double().requires_grad_(), raise_exception=v)
    """,
    "numbers for tensors": """
        v.to(False)
        v.to(1.5)
        v.to(1j)
        v.to(True, True, copy=True)
        v.to(-1)
        torch.lerp(v, v + 1, torch.tensor(2))
        torch.lerp(v, v + 1, torch.tensor(2.5, dtype=torch.float64, requires_grad=True))
        torch.lerp(v, v + 1, torch.tensor([2]))
        torch.lerp(v, v.double(), s)
        v.clone().lerp_(v + 1, torch.tensor(2))
        torch.tensor(True).sum_to_size(())
        torch.tensor(2, dtype=torch.int32).sum_to_size(())
        torch.ones(3, dtype=torch.int32).sum_to_size(3)
        v.allclose(v, torch.tensor([1.0, 2.0]))
        v.allclose(v, torch.tensor([1.0]))
        v.allclose(v, torch.tensor(1.0, requires_grad=True))
        v.allclose(v, torch.tensor(1))
        v.__rpow__(1, b"x")
        torch.linspace(2, -2**63, 0, dtype=torch.float16)
        torch.linspace(2, -2**63, 1, dtype=torch.float16)
        torch.linspace(2, -2**63, 2, dtype=torch.float16)
        torch.linspace(1e300, 2, 1)
        v.__array__(0, {})
        v.requires_grad_().__array__(0, {})
        v.__array__(copy=np.ones(3))
        torch.mul(1e-300, 0.5)
        torch.add(1.0, 2.5, alpha=2)
        torch.ops.aten.sub.Tensor(1.0, 0.5)
        torch.mul(2, 3)
        torch.mul(2, 0.5)
        torch.mul(s.double(), 0.5)
        torch.ops.aten.div.Scalar(2**63, True)
        torch.ops.aten.div.Scalar(2**63, 1.5)
        m / 2**63
        m / 2
        i / 2**63
        i / True
        torch.pow(2**63 - 1, i)
        torch.pow(2**62 + 1, i)
        torch.pow(2**63 - 1, i.to(torch.uint8))
        torch.pow(2**63 + 1, m)
        torch.pow(300, i.to(torch.uint8))
        torch.pow(1e300, v)
        torch.pow(True, m)
        i.pow(-1)
        m.pow(-1)
        m.pow(-1.0)
        v.pow(-1)
    """,
    "dropout and losses": """
        torch.nn.functional.dropout(e.requires_grad_(), 0.5, True, True)
        torch.nn.functional.dropout(v.requires_grad_(), 0.5, False, True)
        torch.nn.functional.dropout(v.requires_grad_(), 0.5, True, True)
        torch.nn.functional.dropout(v.requires_grad_(), 0.0, True, b"x")
        torch.nn.functional.dropout(v, 1.0, True, True)
        torch.nn.functional.dropout(i, 0.5, True, True)
        torch.nn.functional.cross_entropy(v, torch.tensor([1]), label_smoothing=0.5)
        torch.nn.functional.cross_entropy(v, torch.tensor([1]), label_smoothing=0.5, reduction="none")
        torch.nn.functional.cross_entropy(v, torch.tensor(1), label_smoothing=0.5)
        torch.nn.functional.cross_entropy(a, torch.tensor([1, -100]), label_smoothing=0.5)
        torch.nn.functional.cross_entropy(a, torch.tensor([1, 0]), v, label_smoothing=0.5)
    """,
    "indices": """
        torch.Size([Indexed()])
        torch.Size([BadIndex()])
        a.index_select(1, torch.tensor([-2, 3]))
        a.index_select(1, torch.tensor([3]))
        a.t().index_select(-1, torch.tensor([2]))
        a.index_select(0, torch.tensor([3, -2]))
        v.index_select(0, torch.tensor([-1]))
        s.index_select(0, torch.tensor([1]))
        v.to("meta").index_select(1, torch.empty(3, device="meta"))
        torch.log_softmax(m.to("meta"), 0)
        torch.log_softmax(m, 0)
        torch.ops.aten.copy.default(s, torch.empty((2**20, 2**20, 2**20), device="meta"))
        iter(torch.tensor(3).expand(2**62))
        torch.library.get_kernel("cpu", "CPU")
        torch.library.get_kernel("a::b::c", "CPU")
        torch.library.get_kernel("", "CPU")
    """,
    "parts": """
        torch.split(v, np.int64(2))
        v.split(np.int64(2))
        v.split(torch.tensor(2))
        torch.split(v, torch.tensor(1.5))
        v.split(torch.tensor([1, 2]))
        v.split([np.int64(1), torch.tensor(2)])
        v.split(True)
        v.split(1.5)
        torch.split(a, 2, 1)
        torch.split(tensor=a, split_size_or_sections=[1, 2], dim=-1)
        a.split(split_size=1)
        torch.broadcast_tensors(torch.Tensor)
        torch.broadcast_tensors(v, int)
        torch.broadcast_tensors(v, [v])
        torch.broadcast_tensors(v, s)
        v.norm(dim=np.int64(0))
        v.norm(dim=(np.int64(0),))
        v.norm(dim=torch.tensor(0))
        v.copy_(np.float32(1.5))
        v.copy_(np.bool_(True))
        v.copy_(np.ones(3))
    """,
    "memory formats": """
        v.resize_as_(v, memory_format=0)
        v.resize_as_(v, memory_format=None)
        v.resize_([2], memory_format=0)
        v.contiguous(None)
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
            "BadIndex": BadIndex,
            "Indexed": Indexed,
            "v": torch.arange(3.0),
            "a": torch.arange(6.0).reshape(2, 3),
            "s": torch.tensor(2.5),
            "i": torch.arange(3),
            "m": torch.tensor([True, False, True]),
            "e": torch.zeros(0),
        }
        result = eval(call, names)
        return names["v"].requires_grad if result is None else result

    agree_or_raise(case)
