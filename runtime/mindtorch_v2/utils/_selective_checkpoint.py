"""Selective checkpoints: of a part that is computed again for backward, what some operators gave is kept.

Two modes share the results by operator: one runs with forward and keeps them, the other with the second run, which
takes them in their order instead of computing them.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .._core import OpOverload, OpOverloadPacket, Tensor
from ..overrides import TorchDispatchMode
from ._pytree import tree_map

__all__ = ["CheckpointPolicy", "SelectiveCheckpointContext", "create_selective_checkpoint_contexts"]


class CheckpointPolicy(enum.Enum):
    """What becomes of an operator's result; eagerly "prefer" is as "must"."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3


class SelectiveCheckpointContext:
    """What a policy is told: whether this is the second run, and in the first what the operator gave."""

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute, self.op_output = is_recompute, op_output


Policy = Callable[..., CheckpointPolicy | bool]

_KEPT = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)
# What asks for a tensor's form alone, or is done by the machinery itself: never kept.
_IGNORED = ("aten::detach", "aten::sym_size", "aten::sym_stride", "aten::sym_storage_offset", "prim::device")


@dataclass(frozen=True)
class _Kept:
    """A value that was kept, and the version it had."""

    val: Any
    version: int | None

    @staticmethod
    def of(value: Any) -> _Kept:
        if not isinstance(value, Tensor):
            return _Kept(value, None)
        alone: Tensor = value.detach()  # else the graph would hold the result, and what holds that, itself
        return _Kept(alone, alone._version)

    def get(self, may_change: bool) -> Any:
        if self.version is not None and self.val._version != self.version and not may_change:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        return self.val


class _PolicyMode(TorchDispatchMode):
    """Asks the policy of every operator."""

    def __init__(self, policy: Policy, storage: dict[Any, list[Any]], may_change: bool) -> None:
        super().__init__()
        self.policy, self.storage, self.may_change = policy, storage, may_change

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Runs the operator, or takes what it gave."""
        kwargs = kwargs or {}
        if func.name().partition(".")[0] in _IGNORED:
            return func(*args, **kwargs)
        return self.run(func, args, kwargs)

    def keeps(self, context: SelectiveCheckpointContext, func: Any, args: Any, kwargs: Any) -> bool:
        """What the policy says."""
        said = self.policy(context, func, *args, **kwargs)
        return said is True or said in _KEPT

    def run(self, func: Any, args: Any, kwargs: Any) -> Any:
        """The result of an operator."""
        raise NotImplementedError


class _CachingTorchDispatchMode(_PolicyMode):
    """The mode of the first run, which keeps results."""

    def run(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Computes the result, and may keep it."""
        result = func(*args, **kwargs)
        if self.keeps(SelectiveCheckpointContext(is_recompute=False, op_output=result), func, args, kwargs):
            self.storage.setdefault(func, []).append(tree_map(_Kept.of, result))
        return result


class _CachedTorchDispatchMode(_PolicyMode):
    """The mode of the second run, which takes them."""

    def run(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Of what was kept the first that is left. Raises RuntimeError where it is none, or was changed in place."""
        if not self.keeps(SelectiveCheckpointContext(is_recompute=True), func, args, kwargs):
            return func(*args, **kwargs)
        if func not in self.storage:
            raise RuntimeError(f"{func} encountered during backward, but not found in storage")
        if not self.storage[func]:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under "
                "selective activation checkpoint."
            )
        return tree_map(lambda kept: kept.get(self.may_change), self.storage[func].pop(0))


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Policy | Sequence[OpOverload], allow_cache_entry_mutation: bool = False
) -> tuple[TorchDispatchMode, TorchDispatchMode]:
    """Contexts for `checkpoint`'s ``context_fn``, with which the results of some operators are kept.

    These are a list, or those of which ``policy(ctx, op, *args, **kwargs)`` is a `CheckpointPolicy` that keeps, or
    True. What was kept must not be changed in place before backward, unless ``allow_cache_entry_mutation``. Raises
    ValueError where the list has something else than overloads, TypeError for what is neither.
    """
    if isinstance(policy_fn_or_list, (list, tuple)):
        for op in policy_fn_or_list:
            if not isinstance(op, OpOverload):
                hint = ""
                if isinstance(op, OpOverloadPacket):
                    hint = " Please update the OpOverloadPacket to a specific OpOverload, e.g. packet.default."
                raise ValueError(f"Expected op in `op_list` to be an OpOverload but got: {op} of {type(op)}.{hint}")
        chosen = list(policy_fn_or_list)

        def policy(ctx: SelectiveCheckpointContext, op: Any, *args: Any, **kwargs: Any) -> bool:
            return op in chosen

    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list  # type: ignore[assignment]
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    storage: dict[Any, list[Any]] = {}
    return (
        _CachingTorchDispatchMode(policy, storage, allow_cache_entry_mutation),
        _CachedTorchDispatchMode(policy, storage, allow_cache_entry_mutation),
    )
