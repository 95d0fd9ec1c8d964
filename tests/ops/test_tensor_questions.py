"""What tensors say of themselves is what PyTorch's say."""

from __future__ import annotations

import pytest

import mindtorch_v2 as torch

pytorch = pytest.importorskip("torch")

QUESTIONS = [
    lambda t, x: x.is_nonzero(),
    lambda t, x: t.ones(0).is_nonzero(),
    lambda t, x: t.tensor([5.0]).is_nonzero(),
    lambda t, x: t.is_nonzero(t.tensor(0)),
    lambda t, x: t.is_nonzero(1),
    lambda t, x: x.is_same_size(t.ones(3, 2)),
    lambda t, x: t.is_same_size(x, t.zeros(2, 3, dtype=t.int8)),
    lambda t, x: t.is_same_size(x, 1),
    lambda t, x: x.is_set_to(x),
    lambda t, x: x.is_set_to(x.view(2, 3)),
    lambda t, x: x.is_set_to(x[:1]),
    lambda t, x: x.is_set_to(x.t()),
    lambda t, x: x.is_set_to(x.clone()),
    lambda t, x: x.is_set_to(1),
    lambda t, x: [
        t.ones(1, dtype=getattr(t, name)).is_signed() for name in ("uint8", "bool", "int8", "float16", "cfloat")
    ],
    lambda t, x: t.is_signed(x),
    lambda t, x: t.is_signed(1),
    lambda t, x: x.ndimension(),
    lambda t, x: x.is_distributed(),
    lambda t, x: t.is_distributed(x),
    lambda t, x: x.const_data_ptr() == x.data_ptr(),
    lambda t, x: t.is_inference(x),
    lambda t, x: t.get_device(x),
    lambda t, x: [t.is_storage(value) for value in (x.untyped_storage(), x, 1)],
    *(
        lambda t, x, name=name: getattr(x, name)
        for name in (
            *("is_sparse", "is_sparse_csr", "is_quantized", "is_nested", "is_mkldnn", "is_mps", "is_xla", "is_xpu"),
            *("is_ipu", "is_mtia", "is_maia", "is_vulkan"),
        )
    ),
]


def answer(module, question):
    try:
        return question(module, module.ones(2, 3))
    except (RuntimeError, TypeError) as error:
        return type(error), str(error).splitlines()[0]


@pytest.mark.parametrize("question", QUESTIONS)
def test_answers(question):
    assert answer(torch, question) == answer(pytorch, question)


def test_a_subclass_hears_the_questions():
    asked = []

    class Listening(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.ones(2).as_subclass(Listening)
    assert not x.is_sparse
    assert x.ndimension() == 1
    assert len(asked) == 2
