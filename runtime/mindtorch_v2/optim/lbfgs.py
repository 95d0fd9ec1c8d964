"""L-BFGS: quasi-Newton steps from the last few changes of the gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .._core import Tensor
from .._ops import ops
from ..autograd import enable_grad, no_grad
from ._checks import check_rate
from ._line_search import Point, strong_wolfe
from .optimizer import Group, Optimizer, ParamsT

__all__ = ["LBFGS"]


def _real(tensor: Tensor) -> Any:
    return ops.aten.view_as_real(tensor) if tensor.is_complex() else tensor


class LBFGS(Optimizer):
    """Steps along a direction that ``history_size`` earlier steps give, of all parameters as one vector.

    `step` takes a closure and makes up to ``max_iter`` of them, with up to ``max_eval`` evaluations (5/4 of
    ``max_iter`` by default), until no gradient is above ``tolerance_grad`` or changes are below ``tolerance_change``.
    ``line_search_fn``: None, or ``"strong_wolfe"``. Source: Nocedal, Updating Quasi-Newton Matrices with Limited
    Storage, 1980. Raises ValueError for a rate below 0 and for several groups of parameters.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_rate(lr)
        counts = {"max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval}
        tolerances = {"tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change}
        own = {"history_size": history_size, "line_search_fn": line_search_fn}
        super().__init__(params, {"lr": lr, **counts, **tolerances, **own})
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Up to ``max_iter`` steps; ``closure`` clears the gradients, computes the loss and them anew, and returns it.

        Returns the first loss. Raises RuntimeError for a line search of another name.
        """
        with no_grad():
            (group,) = self.param_groups
            state: dict[str, Any] = self.state[group["params"][0]]
            state.setdefault("func_evals", 0)
            state.setdefault("n_iter", 0)
            evaluations = state["func_evals"]
            first = self._loss(closure)
            here = Point(0, float(first), self._gradient(), None)
            if bool(here.grad.abs().max() <= group["tolerance_grad"]):
                return first
            run = _Directions(state, group["history_size"])
            for iteration in range(1, group["max_iter"] + 1):
                run.turn(here.grad)
                run.before = here
                run.t = group["lr"].squeeze() if isinstance(group["lr"], Tensor) else group["lr"]
                if state["n_iter"] == 1:
                    run.t = min(1.0, 1.0 / here.grad.abs().sum()) * run.t
                slope = here.grad.dot(run.direction)
                if slope > -group["tolerance_change"]:
                    break
                left = group["max_eval"] - (state["func_evals"] - evaluations)
                last = iteration == group["max_iter"]
                here = self._go(closure, group, run, Point(0, here.loss, here.grad, slope), left, last)
                if last or state["func_evals"] - evaluations >= group["max_eval"] or _near(group, run, here):
                    break
            run.save()
            return first

    def _loss(self, closure: Callable[[], Any]) -> Any:
        (group,) = self.param_groups
        self.state[group["params"][0]]["func_evals"] += 1
        with enable_grad():
            return closure()

    def _go(
        self, closure: Callable[[], Any], group: Group, run: _Directions, start: Point, left: int, last: bool
    ) -> Point:
        """Goes along the direction, and says what is there: after the last step nobody asks."""
        if group["line_search_fn"] is None:
            self._move(run.t, run.direction)
            if last:
                return start
            return Point(run.t, float(self._loss(closure)), self._gradient(), None)
        if group["line_search_fn"] != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        params = [param.clone() for param in group["params"]]

        def evaluate(t: Any) -> Point:
            self._move(t, run.direction)
            loss, grad = float(self._loss(closure)), self._gradient()
            for param, value in zip(group["params"], params, strict=True):
                param.copy_(value)
            return Point(t, loss, grad, grad.dot(run.direction))

        found, _ = strong_wolfe(evaluate, start, run.t, run.direction.abs().max(), left)
        run.t = found.t
        self._move(run.t, run.direction)
        return found

    def _gradient(self) -> Any:
        """All gradients as one vector of real numbers; 0 where there is none."""
        flat = []
        for param in self._parameters():
            grad = ops.aten.zeros_like(param) if param.grad is None else param.grad
            flat.append(_real(grad).reshape(-1))
        return ops.aten.cat(flat, 0)

    def _move(self, t: Any, direction: Any) -> None:
        for param, part in self._parts(direction):
            param.add_(part, alpha=t)

    def _parts(self, vector: Any) -> Iterator[tuple[Any, Any]]:
        """Each parameter with its part of a vector."""
        start = 0
        for param in map(_real, self._parameters()):
            yield param, vector[start : start + param.numel()].view(param.shape)
            start += param.numel()


def _near(group: Group, run: _Directions, here: Point) -> bool:
    """Whether there is hardly any gradient, step or change of the loss left."""
    if bool(here.grad.abs().max() <= group["tolerance_grad"]):
        return True
    if bool(run.direction.mul(run.t).abs().max() <= group["tolerance_change"]):
        return True
    return abs(here.loss - run.before.loss) < float(group["tolerance_change"])


class _Directions:
    """Where to go next: minus the gradient times an inverse of the second derivatives that earlier steps suggest."""

    direction: Any
    t: Any
    turns: Any
    steps: Any
    weights: Any

    def __init__(self, state: dict[str, Any], most: int) -> None:
        self.state, self.most = state, most
        self.direction, self.t = state.get("d"), state.get("t")
        self.turns, self.steps, self.weights = state.get("old_dirs"), state.get("old_stps"), state.get("ro")
        self.scale = state.get("H_diag")
        self.before = Point(0, state.get("prev_loss", 0.0), state.get("prev_flat_grad"), None)  # type: ignore[arg-type]

    def turn(self, grad: Any) -> None:
        """Takes a new gradient, and sets the direction: by two loops over the history."""
        self.state["n_iter"] += 1
        if self.state["n_iter"] == 1:
            self.direction = grad.neg()
            self.turns, self.steps, self.weights, self.scale = [], [], [], 1
            return
        self._learn(grad)
        shares: list[Any] = self.state.setdefault("al", [None] * self.most)
        vector = grad.neg()
        for i in reversed(range(len(self.turns))):
            shares[i] = self.steps[i].dot(vector) * self.weights[i]
            vector.add_(self.turns[i], alpha=-shares[i])
        vector = vector.mul(self.scale)
        for i in range(len(self.turns)):
            vector.add_(self.steps[i], alpha=shares[i] - self.turns[i].dot(vector) * self.weights[i])
        self.direction = vector

    def _learn(self, grad: Any) -> None:
        turn, step = grad.sub(self.before.grad), self.direction.mul(self.t)
        curvature = turn.dot(step)
        if curvature > 1e-10:
            if len(self.turns) == self.most:
                for history in (self.turns, self.steps, self.weights):
                    history.pop(0)
            self.turns.append(turn)
            self.steps.append(step)
            self.weights.append(1.0 / curvature)
            self.scale = curvature / turn.dot(turn)

    def save(self) -> None:
        """Keeps it in the state for the next call."""
        self.state |= {"d": self.direction, "t": self.t, "old_dirs": self.turns, "old_stps": self.steps}
        self.state |= {"ro": self.weights, "H_diag": self.scale}
        self.state |= {"prev_flat_grad": self.before.grad, "prev_loss": self.before.loss}
