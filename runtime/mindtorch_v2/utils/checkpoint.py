"""Checkpoints: what a part of a model computes is not kept for backward, but computed again there.

Two ways: without reentry, by hooks on saved tensors, each of which stands for a value until backward asks for the first
of them, and everything is computed again; or with reentry, by a `Function` that runs a backward pass of its own.
Source: Chen et al., "Training deep nets with sublinear memory cost", 2016.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary, ref

from .._core import Tensor, current_pass, device
from .._creation import empty
from .._generators import generator_of
from ..amp import autocast, get_autocast_dtype, is_autocast_available, is_autocast_cache_enabled, is_autocast_enabled
from ..autograd import Function, backward, enable_grad, is_grad_enabled, no_grad
from ..autograd.engine import gives_to_chosen_inputs
from ..autograd.graph import saved_tensors_hooks
from ..nn import Sequential
from ..overrides import TorchDispatchMode
from ..random import fork_rng, get_rng_state, set_rng_state
from ._pytree import tree_leaves
from ._selective_checkpoint import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)
from ._selective_checkpoint import _CachedTorchDispatchMode as _CachedTorchDispatchMode
from ._selective_checkpoint import _CachingTorchDispatchMode as _CachingTorchDispatchMode

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "SelectiveCheckpointContext",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]

Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]


class CheckpointError(RuntimeError):
    """What was computed again is not what was computed first."""


class _Settings:
    """What `set_checkpoint_early_stop` and `set_checkpoint_debug_enabled` say; None: each call decides."""

    early_stop: bool | None = None
    debug: bool | None = None


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Inside, whether computing again ends as soon as all that was saved is there; over what a call says."""
    before, _Settings.early_stop = _Settings.early_stop, enable
    try:
        yield
    finally:
        _Settings.early_stop = before


@contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Inside, whether errors list the operators of both runs; over what a call says, unless None."""
    before, _Settings.debug = _Settings.debug, enabled
    try:
        yield
    finally:
        _Settings.debug = before


# ---------------------------------------------------------------- random numbers and autocast, as they were
def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """The devices, beside the CPU, that tensors among these are on, by index, and their generators' states."""
    places = _places(args)
    return [place.index for place in places], [generator_of(place).get_state() for place in places]


def set_device_states(devices: Iterable[int], states: Iterable[Tensor], *, device_type: str | None = None) -> None:
    """Puts states of `get_device_states` back, for devices of a type, by default NPUs."""
    for index, state in zip(devices, states, strict=False):
        generator_of(device(device_type or "npu", index)).set_state(state)


def _places(values: Any) -> list[Any]:
    found = [leaf.device for leaf in tree_leaves(values) if isinstance(leaf, Tensor)]
    return list(dict.fromkeys(where for where in found if where.type not in ("cpu", "meta")))


class _Surroundings:
    """Random numbers and autocast of a moment, which `restored` brings back for a while."""

    def __init__(self, args: tuple[Any, ...], preserve_rng_state: bool) -> None:
        places = _places(args)
        self._preserve = preserve_rng_state
        if preserve_rng_state:
            self._state = get_rng_state()
            self._states = [(place, generator_of(place).get_state()) for place in places]
        types = [name for name in dict.fromkeys(("cpu", *(p.type for p in places))) if is_autocast_available(name)]
        self._autocast = [
            {
                "device_type": name,
                "enabled": is_autocast_enabled(name),
                "dtype": get_autocast_dtype(name),
                "cache_enabled": is_autocast_cache_enabled(),
            }
            for name in types
        ]

    @contextmanager
    def restored(self) -> Iterator[None]:
        with ExitStack() as stack:
            if self._preserve:
                kinds = dict.fromkeys(place.type for place, _ in self._states)
                for kind in kinds or ("cpu",):
                    places = [place for place, _ in self._states if place.type == kind]
                    stack.enter_context(fork_rng(places, device_type=kind))
                set_rng_state(self._state)
                for place, state in self._states:
                    generator_of(place).set_state(state)
            for options in self._autocast:
                stack.enter_context(autocast(**options))
            yield


# ---------------------------------------------------------------- with reentry
def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tensors among these as leaves that require grad as they do; all else as it is."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(
        each.detach().requires_grad_(each.requires_grad) if isinstance(each, Tensor) else each for each in inputs
    )


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warns where no tensor among these requires grad."""
    if not any(each.requires_grad for each in inputs if isinstance(each, Tensor)):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


class CheckpointFunction(Function):
    """The checkpoint with reentry: ``apply(function, preserve_rng_state, *args)``."""

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        """Computes without recording."""
        check_backward_validity(args)
        ctx.run_function, ctx.surroundings = run_function, _Surroundings(args, preserve_rng_state)
        ctx.places = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]
        ctx.others = [None if isinstance(arg, Tensor) else arg for arg in args]
        ctx.save_for_backward(*[args[i] for i in ctx.places])
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *args: Any) -> Any:
        """Computes again, recording, and runs that backward."""
        if gives_to_chosen_inputs():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(). To resolve this error, you can either set use_reentrant=False, or call "
                ".backward() without passing the `inputs` argument."
            )
        inputs = list(ctx.others)
        for i, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
            inputs[i] = tensor
        detached = detach_variable(tuple(inputs))
        with ctx.surroundings.restored(), enable_grad():
            outputs = ctx.run_function(*detached)
        if isinstance(outputs, Tensor):
            outputs = (outputs,)
        wanted = [(o, g) for o, g in zip(outputs, args, strict=False) if isinstance(o, Tensor) and o.requires_grad]
        if not wanted:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([output for output, _ in wanted], [grad for _, grad in wanted])
        return (None, None, *(each.grad if isinstance(each, Tensor) else None for each in detached))


# ---------------------------------------------------------------- without
class _KeptInputs(Function):
    """Keeps the tensors that a part is computed of as saved tensors: hooks outside, of other checkpoints, see them."""

    @staticmethod
    def forward(ctx: Any, _: Tensor, *tensors: Tensor) -> Tensor:
        ctx.save_for_backward(*tensors)
        return empty(0)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise AssertionError("_KeptInputs is in no graph")


class _Inputs:
    """The arguments of a part, of which the graph alone keeps tensors."""

    def __init__(self, args: tuple[Any, ...]) -> None:
        self._places = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]
        self._others = [None if isinstance(arg, Tensor) else arg for arg in args]
        self._kept = _KeptInputs.apply(empty(0, requires_grad=True), *[args[i] for i in self._places])

    def get(self) -> list[Any]:
        """The arguments. Raises RuntimeError where one was changed in place since."""
        found = list(self._others)
        for i, tensor in zip(self._places, self._kept.grad_fn.saved_tensors, strict=True):
            found[i] = tensor
        return found


class _Holder:
    """Stands for a saved tensor until it is computed again."""


class _Stop(Exception):  # noqa: N818  (no error)
    """All that was saved is there again."""


@dataclass
class _Again:
    """What one backward pass has computed again: by the holders that are left, and how much it was."""

    values: WeakKeyDictionary[_Holder, Any] = field(default_factory=WeakKeyDictionary)
    count: int = 0
    done: bool = False


def _metadata(tensor: Tensor) -> dict[str, Any]:
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


# How what was computed again is compared with what was computed first.
_CHECKS: dict[str, Callable[[Tensor], Any]] = {"default": _metadata, "none": lambda tensor: None}


class _Frame:
    """One checkpoint: what was saved in it, and how it is computed again."""

    def __init__(self, describe: Callable[[Tensor], Any], early_stop: bool) -> None:
        self.describe, self.early_stop = describe, early_stop
        self.recompute: Callable[[], None] = lambda: None
        self.explain: Callable[[str], str] = lambda text: text
        self.holders: list[ref[_Holder]] = []
        self.descriptions: list[Any] = []
        self.whole = False  # whether forward came to its end
        self._by_pass: WeakKeyDictionary[Any, _Again] = WeakKeyDictionary()

    def hooks(self) -> saved_tensors_hooks:
        return saved_tensors_hooks(self._pack, self._unpack)

    def _pack(self, tensor: Tensor) -> _Holder:
        holder = _Holder()
        self.holders.append(ref(holder))
        with no_grad():
            self.descriptions.append(self.describe(tensor))
        return holder

    def _unpack(self, holder: Any) -> Tensor:
        this = current_pass()
        again = _Again() if this is None else self._by_pass.setdefault(this, _Again())
        if not again.done:
            hooks = saved_tensors_hooks(lambda tensor: self._packed_again(again, tensor), lambda tensor: tensor)
            with contextlib.suppress(_Stop), hooks, enable_grad():
                self.recompute()
            again.done = True
            self._compare(again)
        if holder not in again.values:
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. "
                "If you are "
                "calling ctx.saved_tensors in backward, make sure to do so only once. Otherwise please open an "
                "issue with "
                "details on your use case."
            )
        found: Tensor = again.values.pop(holder)
        return found

    def _packed_again(self, again: _Again, tensor: Tensor) -> Tensor:
        value = tensor.detach() if tensor.requires_grad else tensor
        at, again.count = again.count, again.count + 1
        if at >= len(self.holders):
            if self.whole:
                raise CheckpointError(
                    self.explain(
                        "torch.utils.checkpoint: trying to save more tensors during recomputation than during "
                        "the original "
                        "forward pass."
                    )
                )
            return value  # backward runs within forward, of what there is so far
        holder = self.holders[at]()
        if holder is not None:
            again.values[holder] = value
        if self.early_stop and again.count == len(self.holders):
            raise _Stop
        return value

    def _compare(self, again: _Again) -> None:
        if again.count != len(self.holders) and self.whole:
            raise CheckpointError(
                self.explain(
                    "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                    f"recomputation.\nNumber of tensors saved during forward: {len(self.holders)}\nNumber of "
                    "tensors saved "
                    f"during recomputation: {again.count}."
                )
            )
        faults = []
        for at, (holder, before) in enumerate(zip(self.holders, self.descriptions, strict=True)):
            there = holder()
            value = None if there is None else again.values.get(there)
            if value is not None and self.describe(value) != before:
                faults.append(
                    f"tensor at position {at}:\nsaved metadata: {before}\nrecomputed metadata: {self.describe(value)}\n"
                )
        if faults:
            raise CheckpointError(
                self.explain(
                    "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than "
                    "during the forward pass.\n" + "".join(faults)
                )
            )


class _Listing(TorchDispatchMode):
    """Notes the operators that run."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def _explained(first: _Listing, again: _Listing) -> Callable[[str], str]:
    def explain(text: str) -> str:
        runs = ("forward", first.names), ("recomputation", again.names)
        listed = "\n".join(f"Operators of the {name}:\n" + "\n".join(f"  {op}" for op in ops) for name, ops in runs)
        return f"You are seeing this error because you passed `debug=True` to checkpoint.\n{text}\n{listed}"

    return explain


def noop_context_fn() -> Contexts:
    """Contexts that do nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], Contexts] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """``function(*args, **kwargs)``, of which nothing is kept for backward: it is computed again there.

    Random numbers are those of the first time, unless ``preserve_rng_state=False``. With ``use_reentrant=True`` the
    first arguments must be the tensors that get gradients, without keywords, and ``torch.autograd.grad`` is refused;
    the other way, ``use_reentrant=False``, has no such limits. There ``context_fn`` gives contexts for the two runs,
    ``determinism_check`` compares what was saved ("default": shapes, dtypes, devices; or "none"; a difference is a
    CheckpointError), ``debug`` lists the operators of both in that error, and ``early_stop`` ends the second run as
    soon as what is needed is there.
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. use_reentrant=False is "
            "recommended, but if you need to preserve the current default behavior, you can pass use_reentrant=True.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve, *args)
    debug = debug if _Settings.debug is None else _Settings.debug
    if debug and context_fn is not noop_context_fn:
        raise ValueError("debug=True is incompatible with non-default context_fn")
    if determinism_check not in _CHECKS:
        raise ValueError(f"determinism_check should be one of {list(_CHECKS)}, but got {determinism_check}")
    early_stop = early_stop if _Settings.early_stop is None else _Settings.early_stop
    frame = _Frame(_CHECKS[determinism_check], early_stop)
    if debug:
        first, again = _Listing(), _Listing()
        contexts: Contexts = first, again
        frame.explain = _explained(first, again)
    else:
        contexts = context_fn()
    if not is_grad_enabled():
        with contexts[0]:
            return function(*args, **kwargs)
    surroundings, inputs = _Surroundings((args, kwargs), preserve), _Inputs(args)

    def recompute() -> None:
        with surroundings.restored(), contexts[1]:
            function(*inputs.get(), **kwargs)

    frame.recompute = recompute
    with frame.hooks(), contexts[0]:
        result = function(*args, **kwargs)
    frame.whole = True
    return result


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """A `Sequential`, or functions one after the other, in ``segments`` of which all but the last are checkpoints."""
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. "
            "use_reentrant=False is recommended, but if you need to preserve the current default behavior, you "
            "can pass "
            "use_reentrant=True.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    steps = list(functions.children()) if isinstance(functions, Sequential) else list(functions)
    size = len(steps) // segments

    def along(part: list[Any]) -> Callable[[Any], Any]:
        def run(value: Any) -> Any:
            for step in part:
                value = step(value)
            return value

        return run

    for at in range(0, size * (segments - 1), size or 1):
        part = along(steps[at : at + size])
        input = checkpoint(part, input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return along(steps[size * (segments - 1) :])(input)
