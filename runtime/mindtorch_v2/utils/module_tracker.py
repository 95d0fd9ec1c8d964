"""Which modules are running, forward or backward: ``torch.utils.module_tracker``."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable
from typing import Any

from .. import _C
from .._core import Tensor
from ..autograd.graph import register_multi_grad_hook
from ..autograd.variable import Variable
from ..nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from ._pytree import tree_leaves

__all__ = ["ModuleTracker"]

_logger = logging.getLogger(__name__)
_EVERYTHING = "Global"


class ModuleTracker:
    """``with ModuleTracker() as tracker:`` keeps ``parents``, the full names of the modules that are running.

    ``"Global"`` is always among them. In the backward pass they are the modules whose gradients are computed, and
    ``is_bw`` is true. A module's name is its class's, or the one that it has in a module which ran before.
    """

    def __init__(self) -> None:
        self.parents: set[str] = {_EVERYTHING}
        self._names: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._named_below: weakref.WeakSet[Any] = weakref.WeakSet()
        self._will_be_reset = False
        self._handles: list[Any] = []

    @property
    def is_bw(self) -> bool:
        """Whether this is in the backward pass."""
        return bool(_C._current_graph_task_id() != -1)  # type: ignore[attr-defined]

    def __enter__(self) -> ModuleTracker:
        self._handles = [
            register_module_forward_pre_hook(self._before),
            register_module_forward_hook(self._after),
        ]
        return self

    def __exit__(self, *exc: object) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _name_of(self, module: Any) -> str:
        name = self._names.setdefault(module, type(module).__name__)
        if module not in self._named_below:
            self._named_below.add(module)
            for own, child in module.named_children():
                self._names[child] = f"{name}.{own}"
                self._name_of(child)
        return name

    def _before(self, module: Any, inputs: Any) -> None:
        name = self._name_of(module)
        self._enter(name, "forward")
        self._watch(inputs, lambda *grads: self._leave(name, "backward"))

    def _after(self, module: Any, inputs: Any, output: Any) -> None:
        name = self._name_of(module)
        self._leave(name, "forward")
        self._watch(output, lambda *grads: self._enter_backward(name))

    def _watch(self, tree: Any, hook: Callable[..., None]) -> None:
        """Calls a hook once the gradients of some tensors are there."""
        tensors = [t for t in tree_leaves(tree) if isinstance(t, Tensor) and t.requires_grad]
        if tensors:
            self._handles.append(register_multi_grad_hook(tensors, hook))

    def _enter_backward(self, name: str) -> None:
        if not self._will_be_reset:  # inputs without a gradient do not say when a module is done
            self._will_be_reset = True
            Variable._execution_engine.queue_callback(self._reset)
        self._enter(name, "backward")

    def _reset(self) -> None:
        self.parents, self._will_be_reset = {_EVERYTHING}, False

    def _enter(self, name: str, where: str) -> None:
        if name in self.parents:
            _logger.info(
                "The module hierarchy tracking seems to be broken as this Module was already entered. %s during %s",
                name,
                where,
            )
        self.parents.add(name)

    def _leave(self, name: str, where: str) -> None:
        if name not in self.parents:
            _logger.info(
                "The Module hierarchy tracking is confused as we're exiting a Module that was never entered. "
                "%s during %s",
                name,
                where,
            )
        self.parents.discard(name)
