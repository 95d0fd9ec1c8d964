"""Functions whose forward returns an input of a subclass: another tensor of the same class, as in PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

from tests.runtime.both import agree


def functions(torch: Any) -> dict[str, Any]:
    class Same(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    class NewStyle(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(x: Any) -> Any:
            return x

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 3

    class Several(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x, x * 1, x

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return sum(grads)

    return {"same": Same, "new style": NewStyle, "several": Several}


@pytest.mark.parametrize("kind", ["leaf", "result", "no grad"])
@pytest.mark.parametrize("name", ["same", "new style", "several"])
def test_an_input_as_an_output(name: str, kind: str) -> None:
    def case(torch: Any) -> Any:
        class Named(torch.Tensor):  # type: ignore[misc,name-defined]
            pass

        leaf = torch.ones(2).as_subclass(Named).requires_grad_(kind != "no grad")
        x = leaf * 1 if kind == "result" else leaf
        x.label = "a"
        outputs = functions(torch)[name].apply(x)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        seen = [(type(y).__name__, y is x, y.requires_grad, y.grad_fn is None, hasattr(y, "label")) for y in outputs]
        if kind != "no grad":
            sum(y.sum() for y in outputs).backward()
            seen.append(leaf.grad.tolist())
        return seen, x.requires_grad

    agree(case)


def test_a_parameter_as_an_output_is_a_tensor() -> None:
    def case(torch: Any) -> Any:
        x = torch.nn.Parameter(torch.ones(2))
        y = functions(torch)["same"].apply(x)
        return type(y).__name__, y.requires_grad, y is x

    agree(case)


def test_a_subclass_that_answers_with_something_else() -> None:
    """Its handler decides the class; the input itself, or no tensor at all, cannot be the output."""

    def case(torch: Any, answer: Any) -> Any:
        class Answers(torch.Tensor):  # type: ignore[misc,name-defined]
            @classmethod
            def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                if func.__name__ == "view_as":
                    return answer(args[0])
                return super().__torch_function__(func, types, args, kwargs)

        x = torch.ones(2).as_subclass(Answers).requires_grad_()
        y = functions(torch)["same"].apply(x)
        y.sum().backward()
        return x.is_leaf, x.grad.tolist()

    import mindtorch_v2

    for answer in (lambda x: x, lambda x: None):
        assert case(mindtorch_v2, answer) == (True, [2.0, 2.0])
