"""MindSpore as a kernel backend: it computes large products on our memory, and its traps are fenced off."""

from __future__ import annotations

import importlib
import subprocess
import sys

import numpy as np
import pytest

import mindtorch_v2 as torch

pytest.importorskip("mindtorch_v2.kernels.mindspore")
from mindtorch_v2._mindspore import available
from mindtorch_v2.kernels import mindspore as backend

pytestmark = [
    pytest.mark.mindspore,
    pytest.mark.skipif(not available(), reason="mindspore is not installed"),
    pytest.mark.filterwarnings("ignore"),  # importing mindspore warns
]
rng = np.random.default_rng(2)


def matrices(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    return [rng.standard_normal(shape).astype("f4") for shape in shapes]


@pytest.fixture(autouse=True, scope="module")
def _in_use() -> None:
    """Products are MindSpore's where the program has imported it."""
    importlib.import_module("mindspore")


@pytest.mark.parametrize("size", [64, 300])
def test_work_never_imports_it(child_env: dict[str, str], size: int) -> None:
    code = (
        "import sys, mindtorch_v2 as torch\n"
        f"x = torch.randn({size}, {size}, requires_grad=True)\n"
        "(x @ x).sum().backward()\n"
        "assert 'mindspore' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], env=child_env, check=True)


@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True), (True, True)])
def test_it_computes_large_products(transposed: tuple[bool, bool]) -> None:
    a, b = matrices((300, 260), (260, 280))
    left = torch.from_numpy(np.ascontiguousarray(a.T)).t() if transposed[0] else torch.from_numpy(a)
    right = torch.from_numpy(np.ascontiguousarray(b.T)).t() if transposed[1] else torch.from_numpy(b)
    before = backend.calls.get("MatMul", 0)
    product = left @ right
    assert backend.calls["MatMul"] == before + 1
    assert "mindspore" in sys.modules
    np.testing.assert_allclose(product.numpy(), a @ b, rtol=1e-4, atol=1e-4)


def test_batches_and_bias() -> None:
    a, b, bias = matrices((6, 160, 150), (6, 150, 140), (280,))
    before = backend.calls.get("BatchMatMul", 0)
    np.testing.assert_allclose(torch.from_numpy(a).bmm(torch.from_numpy(b)).numpy(), a @ b, rtol=1e-4, atol=1e-4)
    assert backend.calls["BatchMatMul"] == before + 1
    x, y = matrices((300, 260), (260, 280))
    result = torch.addmm(*map(torch.from_numpy, (bias, x, y)), beta=2, alpha=0.5)
    np.testing.assert_allclose(result.numpy(), 2 * bias + 0.5 * (x @ y), rtol=1e-4, atol=1e-4)


def test_threads_compute_large_products_at_once(child_env: dict[str, str]) -> None:
    """One after another inside of MindSpore, where two at a time end the process; the first call is a thread's, too."""
    code = (
        "import threading, mindspore, mindtorch_v2 as torch\n"
        "x, sums = torch.ones(256, 256), []\n"
        "def work():\n"
        "    sums.extend((x @ x).sum().item() for _ in range(100))\n"
        "threads = [threading.Thread(target=work) for _ in range(2)]\n"
        "[thread.start() for thread in threads]\n"
        "[thread.join() for thread in threads]\n"
        "assert sums == [256.0**3] * 200\n"
    )
    done = subprocess.run([sys.executable, "-c", code], env=child_env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_gradients_pass_through_it() -> None:
    a, b = matrices((300, 260), (260, 280))
    x = torch.from_numpy(a).requires_grad_()
    y = torch.from_numpy(b).requires_grad_()
    (x @ y).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.ones((300, 280), "f4") @ b.T, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(y.grad.numpy(), a.T @ np.ones((300, 280), "f4"), rtol=1e-4, atol=1e-3)


def test_memory_is_shared_and_outlives_mindspores_tensor() -> None:
    exp = backend.primitive("Exp")
    x = torch.ones(4)
    result = exp(x)
    x.mul_(0)  # blocking mode: the result is there already
    np.testing.assert_allclose(result.numpy(), np.exp(np.ones(4, "f4")), rtol=1e-5)
    result.add_(1)
    np.testing.assert_allclose(result.numpy(), np.exp(np.ones(4, "f4")) + 1, rtol=1e-5)


def test_what_it_gets_wrong_is_refused() -> None:
    with pytest.raises(
        RuntimeError, match=r"MindSpore's Exp: a tensor without elements, of shape \[0\], gives no result"
    ):
        backend.primitive("Exp")(torch.empty(0))
    with pytest.raises(TypeError, match=r"MindSpore's Exp: memory of dtype torch.bfloat16 cannot be shared"):
        backend.primitive("Exp")(torch.ones(2).bfloat16())
    with pytest.raises(AttributeError, match=r"mindspore\.ops has no primitive 'NoSuch'"):
        backend.primitive("NoSuch")
    empty = torch.zeros(0, 5000) @ torch.zeros(5000, 5000)
    assert tuple(empty.shape) == (0, 5000)
    assert (torch.zeros(5000, 0) @ torch.zeros(0, 4)).sum().item() == 0
