"""What is done on the device of brick.py, each in a process of its own: ``python -m tests.runtime.on_brick CASE``."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import sys
import threading
import warnings

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.backends import FallbackWarning, cpu_fallback
from mindtorch_v2.library import Library, operator_status
from tests.runtime import brick

MINIMAL = """
    empty.memory_format empty_strided as_strided view _reshape_alias resize_ _copy_from _copy_from_and_resize
    _local_scalar_dense set_.source_Tensor set_.source_Storage set_.source_Storage_storage_offset
"""


def minimal() -> None:
    """What the backend says is enough for the minimal set, and no more; what the device brings itself comes first."""
    native = [name for name, state in torch.library.status_table("brick").items() if state == "native"]
    assert sorted(native) == sorted(f"aten::{name}" for name in MINIMAL.split())
    lib, calls = Library("aten", "IMPL", "PrivateUse2"), []
    lib.impl("_local_scalar_dense", lambda self: calls.append(self) or 7.0)
    assert (torch.ones(1, device="brick").item(), len(calls)) == (7.0, 1)
    lib._destroy()
    assert torch.ones(1, device="brick").item() == 1.0


def memory() -> None:
    """Views, changes in place, geometry, dtypes, storages and limits."""
    x = torch.arange(6.0).reshape(2, 3).to("brick")
    x[:, 1] += 10
    x.t()[2].mul_(2)
    assert (x.tolist(), x._version) == ([[0, 11, 4], [3, 14, 10]], 3)
    assert (x.t().to("brick:1").device, x.t().to("npu").to("brick:1").tolist()) == (
        torch.device("brick:1"),
        [[0, 3], [11, 14], [4, 10]],
    )
    assert torch.arange(24.0).reshape(2, 3, 4).to("brick").permute(2, 0, 1)[1:, :, ::2].cpu()[0].tolist() == [
        [1, 9],
        [13, 21],
    ]
    empty, scalar = torch.empty(0, 3, device="brick"), torch.tensor(3.0, device="brick")
    assert (empty.sum().item(), (empty + 1).shape, torch.cat([empty, x]).tolist()) == (0, (0, 3), x.tolist())
    assert (scalar.item(), bool(scalar), (scalar + x[0]).tolist()) == (3, True, [3, 14, 7])
    for dtype in (torch.float16, torch.bfloat16, torch.bool, torch.complex64, torch.uint8):
        assert torch.tensor([1, 0]).to("brick", dtype, non_blocking=True).tolist() == [1, 0]
    y = torch.tensor([1.0, 2.0], device="brick")
    assert y.resize_(3)[:2].tolist() == [1, 2]
    part = torch.empty(0, device="brick").set_(y.untyped_storage(), 1, (1,), (1,)).fill_(9)
    assert (part.tolist(), y[:2].tolist()) == ([9], [1, 9])
    for refused, error, words in (
        (lambda: x + torch.ones(3), RuntimeError, "at least two devices, brick:0 and cpu"),
        (lambda: x + torch.ones(3, device="brick:1"), RuntimeError, "at least two devices, brick:0 and brick:1"),
        (lambda: torch.ones(1, device="brick:2"), RuntimeError, "there are 2 brick devices"),
        (lambda: torch.ones(1, device="brick").expand(3).add_(1), RuntimeError, "single memory location"),
        (lambda: y[1:].copy_(y[:-1]), RuntimeError, "single memory location"),
        (lambda: torch.empty(0, device="brick").set_(torch.ones(1).untyped_storage()), RuntimeError, "different dev"),
        (lambda: torch.empty(1 << 40, device="brick"), MemoryError, "brick:0 has no"),
        (lambda: x.numpy(), TypeError, "can't convert brick:0 device type tensor to numpy"),
        (lambda: x.pin_memory(), RuntimeError, "only dense CPU tensors can be pinned"),
        (lambda: torch.ones(1).pin_memory("brick"), RuntimeError, "no pinned memory allocator is available for brick"),
    ):
        with pytest.raises(error, match=words):
            refused()


def gradients() -> None:
    """Autograd, transforms and traces."""
    x = torch.arange(4.0, device="brick", requires_grad=True)
    h = x.reshape(2, 2) * 2
    h[1:] *= 3
    (h * h).sum().backward()
    assert (x.grad.tolist(), x.grad.device.type) == ([0, 8, 144, 216], "brick")
    there = torch.ones(3, requires_grad=True)
    (there.to("brick") * 2).to("npu").to("brick:1").cpu().sum().backward()
    assert there.grad.tolist() == [2, 2, 2]
    z = torch.tensor([2.0], device="brick", requires_grad=True)
    (first,) = torch.autograd.grad((z**3).sum(), z, create_graph=True)
    first.sum().backward()
    assert z.grad.tolist() == [12]
    with pytest.raises(RuntimeError, match="expected brick:0, got cpu"):
        z.grad = torch.ones(1)
    for size, stride, expected in (((2, 3), (0, 1), [0, 4, 8]), ((2, 2), (1, 1), [0, 4, 4])):
        for device in ("cpu", "brick"):
            leaf = torch.arange(3.0).to(device).requires_grad_()
            (torch.as_strided(leaf.expand(2, 3), size, stride).square().sum()).backward()
            assert (leaf.grad.tolist(), leaf.grad.device.type) == (expected, device)
    square, v = lambda t: (t * t).sum(), torch.tensor([1.0, 2.0], device="brick")
    assert torch.func.grad(square)(v).tolist() == [2, 4]
    assert torch.func.jvp(square, (v,), (v,))[1].item() == 10
    assert torch.func.vmap(square)(v[:, None]).tolist() == [1, 4]
    assert torch.func.hessian(square)(v).tolist() == [[2, 0], [0, 2]]
    assert torch.jit.trace(lambda t: t * 2 + 1, (v,))(v).tolist() == [3, 5]


def training() -> None:
    """A model learns as on the CPU, by batches that are copied there, with autocast and scaled gradients too."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    losses = []
    for device, network in (("cpu", model), ("brick", copy.deepcopy(model).to("brick"))):
        optimizer = torch.optim.Adam(network.parameters(), lr=0.05)
        data = torch.arange(40.0).reshape(10, 4) / 40
        for start in (0, 5) * 10:
            batch = torch.stack(list(data[start : start + 5])).to(device, non_blocking=True)
            optimizer.zero_grad()
            loss = ((network(batch) - batch.sum(1, True)) ** 2).mean()
            loss.backward()
            optimizer.step()
        losses.append(loss.item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    there = torch.nn.Linear(4, 1).to("brick")
    optimizer, scaler = torch.optim.SGD(there.parameters(), lr=0.1), torch.amp.GradScaler("brick")
    with torch.autocast("brick"):
        out = there(torch.ones(2, 4, device="brick"))
    before = there.bias.tolist()
    scaler.scale(out.float().sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert (out.dtype, there.bias.grad.device.type) == (torch.bfloat16, "brick")
    assert there.bias.tolist() != before
    back = torch.nn.Linear(4, 1)
    back.load_state_dict(there.state_dict())
    assert back.weight.tolist() == there.weight.tolist()


def objects() -> None:
    """Pickles, copies, threads and forked processes; nothing is left in memory."""
    x = torch.arange(4.0, device="brick:1")
    again, parameter = pickle.loads(pickle.dumps((x, torch.nn.Parameter(x))))
    assert (again.tolist(), again.device) == ([0, 1, 2, 3], x.device)
    assert (type(parameter), parameter.requires_grad, parameter.device) == (torch.nn.Parameter, True, x.device)
    assert copy.deepcopy(x).fill_(1).device == x.device
    for storage in (pickle.loads(pickle.dumps(x.untyped_storage())), copy.deepcopy(x.untyped_storage())):
        assert storage.device == x.device
        assert torch.empty(0, device="brick:1").set_(storage).tolist() == [0, 1, 2, 3]
        del storage
    assert x.tolist() == [0, 1, 2, 3]
    wrong = []

    def work(i: int) -> None:
        for _ in range(20):
            t = torch.full((50,), float(i), device=f"brick:{i % 2}", requires_grad=True)
            (t * t).sum().backward()
            if t.grad.tolist() != [2.0 * i] * 50:
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    child = os.fork()
    if child == 0:
        os._exit(0 if (x * 2).tolist() == [0, 2, 4, 6] else 1)
    assert os.waitpid(child, 0)[1] == 0
    del x, again, parameter
    gc.collect()
    assert brick.blocks == {}


def random_numbers() -> None:
    """As the CPU's, whose generator is the device's."""
    drawn = []
    for device in ("cpu", "brick"):
        torch.manual_seed(3)
        drawn.append((torch.randn(4, device=device).tolist(), torch.randperm(5, device=device).tolist()))
    assert drawn[0] == drawn[1]


def stub() -> None:
    """A loop of the device's own, which goes again."""
    lib, lengths = Library("aten", "IMPL", "PrivateUse2"), []

    def abs_stub(out: torch.Tensor, x: torch.Tensor) -> None:
        lengths.append(x.numel())
        floats = brick.ctypes.c_float * x.numel()
        given, made = (floats.from_address(brick.reachable(t.data_ptr())) for t in (x, out))
        made[:] = [abs(value) for value in given]

    lib.impl_stub("abs_stub", abs_stub)
    x = torch.tensor([[1.0, -2.0], [-3.0, 4.0]], device="brick")
    assert (x.t().abs().tolist(), x[:0].abs().shape, x.abs_()[1].tolist()) == ([[1, 3], [2, 4]], (0, 2), [3, 4])
    assert (sum(lengths), operator_status("aten::abs", "brick")) == (8, "native")
    lib._destroy()
    assert operator_status("aten::abs", "brick") == "fallback"


def fallback() -> None:
    """Of every operator but those that are excluded; one of streams is never run on copies."""
    x = torch.ones(2, device="brick")
    every = Library("_", "IMPL")
    every.fallback(cpu_fallback, "PrivateUse2", exclude=["aten::sin"])
    assert (x.cos().device, operator_status("aten::sin", "brick")) == (x.device, "absent")
    with pytest.raises(NotImplementedError, match="Could not run 'aten::sin'"):
        x.sin()
    every._destroy()
    assert x.sin().device == x.device
    assert torch.brick.fallback_report() == {"aten::cos": 1, "aten::fill_.Scalar": 1, "aten::sin": 1}
    before, barrier = torch.brick.fallback_report()["aten::cos"], threading.Barrier(4)

    def count() -> None:
        barrier.wait()
        for _ in range(50):
            x.cos(), x.tan()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FallbackWarning)
        threads = [threading.Thread(target=count) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    report = torch.brick.fallback_report()
    told = [str(item.message).partition(" ")[0] for item in caught]
    assert (report["aten::cos"] - before, report["aten::tan"], told) == (200, 200, ["aten::tan"])
    with pytest.raises(NotImplementedError, match="record_stream has no kernel for this device"):
        x.record_stream(None)


if __name__ == "__main__":
    warnings.simplefilter("ignore", FallbackWarning)
    globals()[sys.argv[1]]()
    print("done")
