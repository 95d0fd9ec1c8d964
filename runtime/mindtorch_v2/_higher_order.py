"""Operators whose arguments may be anything, functions too, with rules in Python: ``torch._ops.HigherOrderOperator``.

A call goes to the innermost transform's rule, which calls the operator again outside of it; with no transform left, to
that of a dispatch mode, then to what is registered at the highest key of the tensors among the arguments.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

from . import _core
from ._core import Tensor
from ._dispatch_keys import DispatchKey, _mask
from ._hooks import hooks
from ._modes import stacks, without_innermost
from ._ops import ops
from .overrides import handle_torch_function, has_torch_function
from .utils._pytree import tree_leaves

__all__ = ["HigherOrderOperator"]

_Rule = TypeVar("_Rule", bound=Callable[..., Any])
_NAMESPACE = "higher_order"
# What a call passes by where nothing is registered: keys that add to a call, and those of modes, asked apart.
_PASSED_BY = _core.key_mask("ADInplaceOrView", "BackendSelect", "FuncTorchVmapMode", "Python", "Tracing")
_AUTOGRAD, _BACKENDS = _core.key_mask("Autograd"), _core.key_mask("CompositeExplicitAutograd")


class HigherOrderOperator(ABC):
    """An operator by rules: subclasses define ``__call__(self, ...)``, which hands the arguments to this one's.

    It is found as ``torch.ops.higher_order.<name>``. A transform that it has no rule for, and arguments whose highest
    key has none, are a NotImplementedError.
    """

    def __init__(self, name: str, *, cacheable: bool = False) -> None:
        self._name = self.__name__ = name
        self.__module__ = f"torch.ops.{_NAMESPACE}"
        self._ns = self.namespace = _NAMESPACE
        self._cacheable = cacheable
        self._rules: dict[Any, Callable[..., Any]] = {}  # by transform, class of a mode or of tensors, or key's name
        self._passed_by = _PASSED_BY
        setattr(getattr(ops, _NAMESPACE), name, self)

    def name(self) -> str:
        """The operator's name."""
        return self._name

    def cacheable(self) -> bool:
        """Whether what is computed once for a call may be used for another one."""
        return self._cacheable

    def __str__(self) -> str:
        return self._name

    def py_impl(self, k: Any) -> Callable[[_Rule], _Rule]:
        """A decorator: the function is the rule for ``k``.

        For a transform it is called with its `Interpreter`, for the class of a dispatch mode with the mode, and for
        a dispatch key, or a class of tensors, with the operator's arguments alone; in front of these where there is
        something. Raises RuntimeError where there is such a rule already.
        """
        what = self._key(k)

        def register(rule: _Rule) -> _Rule:
            if what in self._rules:
                raise RuntimeError(f"Trying to override a python impl for {k} on operator {self._name}")
            self._rules[what] = rule
            return rule

        return register

    def fallthrough(self, dispatch_key: str) -> None:
        """Lets calls pass a dispatch key by."""
        self._passed_by |= _mask(dispatch_key)

    def has_kernel_for_dispatch_key(self, k: Any) -> bool:
        """Whether there is a rule for exactly this."""
        return self._key(k) in self._rules

    @abstractmethod
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the rule that the transforms that run, the modes and the arguments ask for."""
        values = tree_leaves([args, kwargs])
        if has_torch_function(values):
            return handle_torch_function(self, values, *args, **kwargs)
        interpreter = None if hooks.innermost_transform is None else hooks.innermost_transform()
        if interpreter is not None:
            return self._rule_of(interpreter.key(), "transform")(interpreter, *args, **kwargs)
        tensors = [value for value in values if isinstance(value, Tensor)]
        if stacks.dispatch:
            rule = self._rule_of(type(stacks.dispatch[-1]), "mode")
            with without_innermost(stacks.dispatch) as mode:
                return rule(mode, *args, **kwargs)
        for tensor in tensors:
            if type(tensor) in self._rules:
                return self._rules[type(tensor)](*args, **kwargs)
        return self._at_key(tensors)(*args, **kwargs)

    def _at_key(self, tensors: list[Tensor]) -> Callable[..., Any]:
        included, excluded = _core.thread_keys()
        keys = included & ~excluded
        for tensor in tensors:
            keys |= _core.tensor_keys(tensor) & ~excluded
        names = _core.key_names(keys & ~self._passed_by)
        name = names[0] if names else "Undefined"
        bit, choices = _mask(name), [name]
        if bit & (_AUTOGRAD | _BACKENDS):
            choices += ["CompositeExplicitAutograd"] if bit & _BACKENDS else []
            choices += ["CompositeImplicitAutograd"] + (["Autograd"] if bit & _AUTOGRAD else [])
        found = next((self._rules[choice] for choice in choices if choice in self._rules), None)
        return self._rule_of(name, "dispatch key") if found is None else found

    def _rule_of(self, what: Any, kind: str) -> Callable[..., Any]:
        rule = self._rules.get(what)
        if rule is None:
            shown = getattr(what, "__name__", what)
            raise NotImplementedError(
                f"could not find kernel for HigherOrderOperator {self._name} at {kind} {shown}: register one with "
                "`py_impl`"
            )
        return rule

    @staticmethod
    def _key(k: Any) -> Any:
        """Under what a rule is kept."""
        return _core.key_name(str(k)) if isinstance(k, (str, DispatchKey)) else k
