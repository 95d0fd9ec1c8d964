"""What PyTorch's own test files of modules, optimisers and pooling asked for: the same code under both libraries."""

from __future__ import annotations

import copy
import gc
import importlib
import weakref
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from tests.runtime.both import agree

Cases = dict[str, Callable[[Any], Any]]


def table(t: Any) -> Any:
    return t.arange(30.0).reshape(10, 3).sin()


def numbers(t: Any) -> Any:
    return t.arange(12).reshape(3, 4)


def assigned(t: Any, index: Any, value: Callable[[Any], Any]) -> list[Any]:
    x = numbers(t)
    x[index] = value(x)
    found: list[Any] = x.tolist()
    return found


# ---------------------------------------------------------------- a part of a tensor assigned to the tensor itself
PARTS: Cases = {
    "a row from one of its elements": lambda t: assigned(t, 1, lambda x: x[1, 2]),
    "rows from one of them": lambda t: assigned(t, slice(0, 2), lambda x: x[1]),
    "all from a column": lambda t: assigned(t, ..., lambda x: x[:, 1:2]),
    "by a mask in a tuple": lambda t: assigned(t, (numbers(t) > 3,), lambda x: x[1, 0]),
    "masked_fill_": lambda t: (lambda x: x.masked_fill_(x > 3, x[0, 1]).tolist())(numbers(t)),
    "index_fill_": lambda t: (lambda x: x.index_fill_(0, t.tensor([0, 1]), x[0, 1]).tolist())(numbers(t)),
    "gradients": lambda t: (lambda w, x: (x.__setitem__(1, w * 2), t.autograd.grad((x * 3).sum(), w)[0].tolist())[1])(
        t.ones(1, requires_grad=True), t.zeros(3, 4)
    ),
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_of_what_is_written_to(name: str) -> None:
    agree(PARTS[name])


def test_what_partly_overlaps_is_refused() -> None:
    agree(lambda t: assigned(t, slice(0, 2), lambda x: x[1:3]), "single memory location")
    agree(lambda t: (lambda x: x.masked_fill_(x[:, 1:] > 3, 1))(numbers(t) > 2), "")


# ---------------------------------------------------------------- PyTorch's files of modules
@pytest.mark.parametrize("name", ["batchnorm._BatchNorm", "conv._ConvNd", "lazy.LazyModuleMixin", "linear.Linear"])
def test_files_of_modules(name: str) -> None:
    def case(t: Any) -> Any:
        file, _, kind = name.partition(".")
        imported = importlib.import_module(f"{t.__name__}.nn.modules.{file}")
        return getattr(imported, kind) is getattr(getattr(t.nn.modules, file), kind)

    agree(case)


def test_gradients_of_convolutions_as_functions() -> None:
    agree(
        lambda t: t.nn.functional.grad.conv1d_input((1, 1, 3), t.ones(1, 1, 2), t.ones(1, 1, 2)).tolist(),
    )


def test_hooks_are_what_was_registered() -> None:
    def case(t: Any) -> Any:
        module = t.nn.Linear(1, 1)
        log: list[str] = []

        def before(*args: Any) -> None:
            log.append(f"before {len(args)}")

        def after(*args: Any) -> None:
            log.append(f"after {len(args)}")

        module.register_forward_pre_hook(before)
        handle = module.register_forward_pre_hook(before, with_kwargs=True)
        module.register_forward_hook(after, with_kwargs=True)
        module(t.ones(1))
        found = [hook is before for hook in module._forward_pre_hooks.values()]
        found += [hook is after for hook in module._forward_hooks.values()]
        counts = [len(module._forward_pre_hooks_with_kwargs), len(module._forward_hooks_with_kwargs)]
        handle.remove()
        module(t.ones(1))
        return found, counts, len(module._forward_pre_hooks_with_kwargs), log

    agree(case)


def test_pruning_that_fails_leaves_a_module_as_it_was() -> None:
    def case(t: Any) -> Any:
        prune = importlib.import_module(f"{t.__name__}.nn.utils.prune")

        class Fails(prune.BasePruningMethod):  # type: ignore[misc,name-defined]
            def compute_mask(self, t: Any, default_mask: Any) -> Any:
                raise LookupError("no mask")

        module = t.nn.Linear(2, 2)
        with pytest.raises(LookupError):
            Fails.apply(module, "weight")
        counts = [prune._compute_nparams_toprune(amount, 15) for amount in (0, 10, 1, 1.0, 0.4)]
        return [name for name, _ in module.named_parameters()], [name for name, _ in module.named_buffers()], counts

    agree(case)


# ---------------------------------------------------------------- modules as functions of their parameters
class Tied:
    """A module with a buffer of two names, which it replaces by another in each forward."""

    @staticmethod
    def of(t: Any) -> Any:
        class Module(t.nn.Module):  # type: ignore[misc]
            mean: Any

            def __init__(self) -> None:
                super().__init__()
                self.register_buffer("mean", t.tensor([1.0]))
                self.register_buffer("tied", self.mean)
                self.plain = t.tensor([7.0])

            def forward(self, x: Any) -> Any:
                self.mean = self.mean + 1
                return x + self.mean + 10 * self.tied + 100 * self.plain

        return Module()


def called(t: Any, given: dict[str, Any], **options: Any) -> Any:
    module = Tied.of(t)
    given = {name: t.tensor([value]) for name, value in given.items()}
    found = t.func.functional_call(module, given, t.zeros(1), **options)
    return found.tolist(), {name: value.tolist() for name, value in given.items()}, module.mean.tolist()


CALLED: Cases = {
    "what a module replaces is in the dict": lambda t: called(t, {"mean": 3.0}),
    "tied ones count as given": lambda t: called(t, {"mean": 3.0}, strict=True),
    "attributes": lambda t: called(t, {"plain": 3.0}),
    "what there is nothing of": lambda t: called(t, {"other": 3.0}),
}


@pytest.mark.parametrize("name", CALLED)
def test_functional_call(name: str) -> None:
    agree(CALLED[name])


def test_functional_call_of_modules_within_themselves() -> None:
    def case(t: Any) -> Any:
        module = t.nn.Sequential(t.nn.Linear(1, 1))
        module[0].above = module
        given = {"0.above.0.weight": t.tensor([[2.0]]), "0.bias": t.tensor([3.0])}
        return t.func.functional_call(module, given, t.ones(1), tie_weights=False).tolist()

    agree(case)


def test_functional_call_refuses() -> None:
    agree(lambda t: called(t, {"mean": 1.0, "tied": 2.0}), "multiple values for keys ['mean', 'tied']")
    agree(lambda t: called(t, {"other": 1.0}, strict=True), "Unexpected key(s): 'other'.")
    agree(lambda t: t.func.functional_call(Tied.of(t), {"mean": 5}, t.zeros(1)), "5 is not an instance of torch.Tensor")


# ---------------------------------------------------------------- states that are loaded
@pytest.mark.parametrize("assign", [False, True])
def test_a_class_of_what_is_loaded_says_what_a_module_keeps(assign: bool) -> None:
    def case(t: Any) -> Any:
        class Loaded(t.Tensor):  # type: ignore[misc]
            asked: ClassVar[list[Any]] = []

            @classmethod
            def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                if func is t.Tensor.module_load:
                    cls.asked.append(kwargs)
                return super().__torch_function__(func, types, args, kwargs or {})

        made = t.zeros(2).module_load(t.ones(2).as_subclass(Loaded), assign=assign)
        return type(made).__name__, Loaded.asked, made.tolist()

    agree(case)


def test_loading_into_meta_parameters_warns_where_they_are_swapped() -> None:
    import torch

    import mindtorch_v2

    for t in (torch, mindtorch_v2):
        module = t.nn.Linear(1, 1, device="meta")
        t.__future__.set_swap_module_params_on_conversion(True)
        try:
            with pytest.warns(UserWarning, match="copying from a non-meta parameter"):
                module.load_state_dict(t.nn.Linear(1, 1).state_dict())
        finally:
            t.__future__.set_swap_module_params_on_conversion(False)


# ---------------------------------------------------------------- schedules
def schedule(t: Any) -> Any:
    return t.optim.SGD([t.nn.Parameter(t.zeros(1))], lr=1.0)


@pytest.mark.parametrize("begins", [False, True])
def test_schedules_of_schedules_begin_again(begins: bool) -> None:
    def case(t: Any) -> Any:
        optimizer, s = schedule(t), t.optim.lr_scheduler
        inner = s.ChainedScheduler([s.LinearLR(optimizer, 0.1, total_iters=5), s.ConstantLR(optimizer, 0.1)])
        nested = s.SequentialLR(optimizer, [s.ConstantLR(optimizer, 0.5), s.ExponentialLR(optimizer, 0.9)], [2])
        found = []
        outer = s.SequentialLR(optimizer, [nested if begins else inner, s.ConstantLR(optimizer, 0.5)], [3])
        for _ in range(5):
            found.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            outer.step()
        return found

    agree(case)


def test_a_schedule_does_not_keep_its_optimizer() -> None:
    def case(t: Any) -> Any:
        gc.disable()
        try:
            optimizer = schedule(t)
            scheduler = t.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1.0)
            copied = copy.deepcopy(optimizer)
            copied.step()
            copied.param_groups[0]["params"][0].grad = t.ones(1)
            copied.step()
            reference = weakref.ref(optimizer)
            del scheduler, optimizer
            return reference() is None, copied.param_groups[0]["params"][0].tolist()
        finally:
            gc.enable()

    agree(case)


def test_states_of_one_cycle_from_before_their_function_had_a_name() -> None:
    def case(t: Any) -> Any:
        kind = t.optim.lr_scheduler.OneCycleLR
        scheduler = kind(schedule(t), max_lr=5.0, total_steps=6, cycle_momentum=False)
        del scheduler._anneal_func_type
        scheduler.load_state_dict({**scheduler.state_dict(), "anneal_func": kind._annealing_linear})
        scheduler.optimizer.step()
        scheduler.step()
        return scheduler.get_last_lr()

    agree(case)


# ---------------------------------------------------------------- bags
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding", [None, 2, -1])
def test_where_the_last_bag_ends(dtype: str, mode: str, padding: int | None) -> None:
    def case(t: Any) -> Any:
        weight, indices = table(t).to(getattr(t, dtype)), t.tensor([0, 1, 2, 3, 5, 2])
        return [
            t.nn.functional.embedding_bag(
                indices, weight, t.tensor(offsets), mode=mode, include_last_offset=True, padding_idx=padding
            ).tolist()
            for offsets in ([0, 3, 3], [0, 3, 6])
        ]

    agree(case)


def test_gradients_of_indices_behind_the_last_bag() -> None:
    import mindtorch_v2 as t

    weight, factors = table(t).requires_grad_(), t.ones(4, requires_grad=True)
    indices, offsets = t.tensor([0, 1, 2, 3]), t.tensor([0, 1, 2])
    found = t._embedding_bag(weight, indices, offsets, False, 0, False, factors, True)[0]
    of_weight, of_factors = t.autograd.grad(found.sum(), (weight, factors))
    assert of_weight.sum(1).tolist() == [3, 3, *[0] * 8]
    assert [bool(each) for each in of_factors] == [True, True, False, False]


REFUSED_BAGS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "an index": (lambda t: t._embedding_bag(table(t), t.tensor([3, 10]), t.tensor([0])), "not in the valid range"),
    "an index of large numbers": (
        lambda t: t._embedding_bag(table(t).double(), t.tensor([-1, 3]), t.tensor([0])),
        "Expected idx >= 0 && idx < num_embeddings but found idx to be -1",
    ),
    "dimensions of indices": (
        lambda t: t.embedding_bag(table(t), t.zeros(1, 1, 1, dtype=t.int64), t.tensor([0])),
        "input has to be a 1D or 2D Tensor",
    ),
    "dimensions of a table": (lambda t: t._embedding_bag(t.ones(2), t.tensor([0]), t.tensor([0])), "weight has to be"),
    "factors of another dtype": (
        lambda t: t._embedding_bag(
            table(t), t.tensor([0]), t.tensor([0]), per_sample_weights=t.ones(1, dtype=t.float64)
        ),
        "to have the same type as tensor",
    ),
}


@pytest.mark.parametrize("name", REFUSED_BAGS)
def test_refused_bags(name: str) -> None:
    agree(*REFUSED_BAGS[name])


def test_bags_of_indices_in_rows() -> None:
    agree(lambda t: t._embedding_bag(table(t), t.tensor([[1, 2], [3, 4]]), t.tensor([0, 2]))[0].tolist())


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_rows_are_scaled_below_the_largest_norm(dtype: str) -> None:
    def case(t: Any) -> Any:
        weight = (table(t) * 3).to(getattr(t, dtype))
        t.embedding_renorm_(weight, t.tensor([1, 4, 4, 7]), 1.0, 2.0)
        return weight.double().tolist()

    agree(case)


# ---------------------------------------------------------------- pooling
POOLED: Cases = {
    "lines in the padding": lambda t: t.nn.functional.max_pool1d(t.ones(2, 1), 2, None, 1, 2).tolist(),
    "images in the padding": lambda t: [
        each.tolist() for each in t.nn.functional.max_pool2d(t.ones(1, 1, 1, 3), 2, None, 1, 2, return_indices=True)
    ],
    "volumes in the padding": lambda t: [
        each.tolist()
        for each in t.nn.functional.max_pool3d(
            t.ones(1, 1, 1, 1, 2, dtype=t.bfloat16), 2, None, 1, 2, return_indices=True
        )
    ],
    "whole numbers, with their places": lambda t: [
        each.tolist() for each in t.nn.functional.max_pool1d(numbers(t), 2, return_indices=True)
    ],
    "adaptive, of images of channels last": lambda t: t.nn.functional.adaptive_avg_pool2d(
        t.ones(2, 4, 6, 6).to(memory_format=t.channels_last), 1
    ).stride(),
    "back to where they were, of channels last": lambda t: (
        lambda x: t.nn.functional.max_unpool2d(*t.nn.functional.max_pool2d(x, 2, return_indices=True), 2).stride()
    )(t.ones(2, 4, 6, 6).to(memory_format=t.channels_last)),
}


@pytest.mark.parametrize("name", POOLED)
def test_pooling(name: str) -> None:
    agree(POOLED[name])


GRADIENTS: Cases = {
    "max_pool2d": lambda t: lambda x: t.nn.functional.max_pool2d(x, 2),
    "avg_pool2d": lambda t: lambda x: t.nn.functional.avg_pool2d(x, 2),
    "adaptive_avg_pool2d": lambda t: lambda x: t.nn.functional.adaptive_avg_pool2d(x, 2),
    "adaptive_max_pool2d": lambda t: lambda x: t.nn.functional.adaptive_max_pool2d(x, 2),
    "reflection": lambda t: lambda x: t.nn.functional.pad(x, (1, 1, 1, 1), mode="reflect"),
    "bilinear": lambda t: lambda x: t.nn.functional.interpolate(x, scale_factor=2, mode="bilinear"),
    "group_norm": lambda t: lambda x: t.nn.functional.group_norm(x, 2),
    "conv2d": lambda t: lambda x: t.nn.functional.conv2d(x, t.ones(4, 4, 2, 2)),
}


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_lie_as_what_they_are_of(name: str, channels_last: bool) -> None:
    def case(t: Any) -> Any:
        x = t.arange(288.0).reshape(2, 4, 6, 6).sin()
        x = (x.to(memory_format=t.channels_last) if channels_last else x).requires_grad_()
        found = GRADIENTS[name](t)(x)
        (gradient,) = t.autograd.grad(found, x, t.ones_like(found))
        return gradient.stride()

    agree(case)


F = Callable[[Any], Any]
REFUSED_POOLS: dict[str, tuple[F, str]] = {
    "a gradient of nothing": (
        lambda t: t.nn.functional.adaptive_max_pool2d(t.ones(1, 2, 3, 3, requires_grad=True), 0).sum().backward(),
        "Expected grad_output to have non-zero size for non-batch dimensions",
    ),
    "more places than there is memory": (
        lambda t: t.nn.functional.adaptive_max_pool1d(t.ones(2, 2, 2), 0x3FFFFFFFFFFFFFFF),
        "Storage size calculation overflowed",
    ),
    "no channels": (
        lambda t: t.nn.FractionalMaxPool2d(3, output_size=2)(t.ones(1, 0, 9, 9)),
        "Expected input to have non-zero size for non-batch dimensions",
    ),
    "one number in a tuple": (
        lambda t: t.nn.functional.fractional_max_pool2d(t.ones(1, 7, 7), (1,), (3, 3)),
        "kernel_size must either be a single Int or tuple of Ints",
    ),
    "too many places": (
        lambda t: t.nn.functional.fractional_max_pool3d(t.ones(1, 7, 7, 7), 2, (3, 9, 3)),
        "pool height 2 too large relative to input height 7",
    ),
    "a share of too few dimensions": (
        lambda t: t.nn.functional.fractional_max_pool2d(t.ones(7), 2, output_ratio=(0.5, 0.5)),
        "Dimension out of range",
    ),
}


@pytest.mark.parametrize("name", REFUSED_POOLS)
def test_refused_pools(name: str) -> None:
    agree(*REFUSED_POOLS[name])
