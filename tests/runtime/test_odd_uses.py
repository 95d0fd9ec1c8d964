"""What a tensor is asked for beside operators, and modes, oddly: PyTorch's value, or its class of error."""

from __future__ import annotations

import pytest

from tests.runtime.odd_calls import calls, judge

# By what judges them: a call a line.
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
    "memory formats": """
        v.resize_as_(v, memory_format=0)
        v.resize_as_(v, memory_format=None)
        v.resize_([2], memory_format=0)
        v.contiguous(None)
    """,
}


@pytest.mark.parametrize("call", calls(CALLS))
def test_a_call(call: str) -> None:
    judge(call)
