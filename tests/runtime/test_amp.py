"""Autocast's state and weight cache, its policies, and `GradScaler`: beside PyTorch's."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import mindtorch_v2
from mindtorch_v2.optim import SGD
from tests.runtime.both import agree, fresh_namespace


def dtype(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")


# ---------------------------------------------------------------- state


def nested(t: Any) -> Any:
    def now() -> Any:
        kept = t.is_autocast_enabled("cpu"), str(t.get_autocast_dtype("cpu")), t.is_autocast_cache_enabled()
        return *kept, dtype(t.mm(t.ones(1, 1), t.ones(1, 1)))

    seen = [now()]
    with t.autocast("cpu"):
        seen.append(now())
        with t.autocast("cpu", dtype=t.float16, cache_enabled=False):
            seen.append(now())
            with t.autocast("cpu", enabled=False):
                seen.append(now())
                with t.autocast("cpu"):
                    seen.append(now())
            seen.append(now())
        seen.append(now())
        with pytest.raises(ValueError, match="no"), t.autocast("cpu", dtype=t.float16):
            raise ValueError("no")
        seen.append(now())
    seen.append(now())
    return seen


def one_object_entered_twice(t: Any) -> Any:
    region = t.autocast("cpu", dtype=t.float16)
    with region:
        first = dtype(t.mm(t.ones(1, 1), t.ones(1, 1)))
    with region:
        second = dtype(t.mm(t.ones(1, 1), t.ones(1, 1)))
    return first, second, t.is_autocast_enabled("cpu")


def set_by_hand(t: Any) -> Any:
    a = t.ones(1, 1)
    before = t.get_autocast_dtype("cpu")
    t.set_autocast_enabled("cpu", True)
    t.set_autocast_dtype("cpu", t.float16)
    inside = dtype(t.mm(a, a)), t.is_autocast_enabled("cpu")
    t.set_autocast_enabled("cpu", False)
    t.set_autocast_dtype("cpu", before)
    t.clear_autocast_cache()
    return inside, dtype(t.mm(a, a)), t.autocast_increment_nesting(), t.autocast_decrement_nesting()


def availability(t: Any) -> Any:
    return [t.amp.is_autocast_available(kind) for kind in ("cpu", "cuda", "meta")]


def an_unsupported_dtype(t: Any) -> Any:
    with pytest.warns(UserWarning, match="In CPU autocast, but the target dtype is not supported. Disabling autocast."):
        region = t.autocast("cpu", dtype=t.float64)
    with region:
        return t.is_autocast_enabled("cpu"), dtype(t.mm(t.ones(1, 1), t.ones(1, 1)))


def another_thread_starts_without(t: Any) -> Any:
    seen = []
    with t.autocast("cpu"):
        thread = threading.Thread(target=lambda: seen.append(t.is_autocast_enabled("cpu")))
        thread.start()
        thread.join()
    return seen


def inference_tensors_are_cast(t: Any) -> Any:
    with t.inference_mode(), t.autocast("cpu"):
        return dtype(t.mm(t.ones(1, 1), t.ones(1, 1)))


# ---------------------------------------------------------------- weight cache


def casts(t: Any, calls: Callable[[Any, Any], None], **options: Any) -> int:
    """How often a weight is lowered."""
    names: list[str] = []
    mode = __import__(f"{t.__name__}.utils._python_dispatch", fromlist=["TorchDispatchMode"]).TorchDispatchMode

    class Log(mode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            names.append(str(func))
            return func(*args, **(kwargs or {}))

    weight, x = t.ones(2, 2, requires_grad=True), t.ones(2, 2, dtype=t.bfloat16)
    with Log(), t.autocast("cpu", **options):
        calls(weight, x)
    return names.count("aten._to_copy.default")


def cached(t: Any) -> Any:
    def twice(w: Any, x: Any) -> None:
        t.mm(x, w)
        t.mm(x, w)

    def with_inner_region(w: Any, x: Any) -> None:
        t.mm(x, w)
        with t.autocast("cpu"):
            t.mm(x, w)
        t.mm(x, w)

    def cleared(w: Any, x: Any) -> None:
        t.mm(x, w)
        t.clear_autocast_cache()
        t.mm(x, w)

    def views(w: Any, x: Any) -> None:
        for _ in range(2):
            t.mm(x, w.view(2, 2))

    def frozen(w: Any, x: Any) -> None:
        for _ in range(2):
            t.mm(x, w.detach())

    def regions(w: Any, x: Any) -> None:
        t.mm(x, w)
        with t.autocast("cpu", cache_enabled=False):
            t.mm(x, w)
            t.mm(x, w)

    return [casts(t, f) for f in (twice, with_inner_region, cleared, views, frozen, regions)], (
        casts(t, twice, cache_enabled=False)
    )  # fmt: skip


def gradients_through_the_cache(t: Any) -> Any:
    w = t.full((2, 2), 0.5, requires_grad=True)
    x = t.ones(2, 2)
    with t.autocast("cpu"):
        y = t.mm(x, w) + t.mm(x, w)
    y.sum().backward()
    return dtype(y), w.grad


def a_changed_weight_is_lowered_again_outside(t: Any) -> Any:
    w, x = t.ones(1, 1, requires_grad=True), t.ones(1, 1)
    results = []
    for _ in range(2):
        with t.autocast("cpu"):
            results.append(t.mm(x, w).item())
        with t.no_grad():
            w.mul_(3)
    return results


def test_a_weight_that_was_lowered_without_recording_keeps_its_gradient() -> None:
    """PyTorch keeps the first cast, which has no history, and silently loses the gradient."""
    w, x = mindtorch_v2.ones(1, 1, requires_grad=True), mindtorch_v2.ones(1, 1)
    with mindtorch_v2.autocast("cpu"):
        with mindtorch_v2.no_grad():
            mindtorch_v2.mm(x, w)
        mindtorch_v2.mm(x, w).sum().backward()
    assert w.grad.tolist() == [[1.0]]


# ---------------------------------------------------------------- policies


def policies(t: Any) -> Any:
    f, h = t.ones(2, 2), t.ones(2, 2, dtype=t.bfloat16)
    target, functional = t.tensor([0, 1]), t.nn.functional
    calls = {
        "mm": lambda: t.mm(f, f), "bmm": lambda: t.bmm(f[None], f[None]), "addmm": lambda: t.addmm(f, f, f),
        "baddbmm": lambda: t.baddbmm(f[None], f[None], f[None]), "matmul": lambda: f @ f,
        "linear": lambda: functional.linear(f, f), "mv": lambda: t.mv(f, f[0]),
        "double": lambda: t.mm(f.double(), f.double()), "dot": lambda: t.dot(f[0], f[0]),
        "mse_loss": lambda: functional.mse_loss(h, h), "prod": lambda: t.prod(h),
        "nll_loss": lambda: functional.nll_loss(h, target), "prod.dim": lambda: t.prod(h, 0),
        "cat": lambda: t.cat([h, f]), "stack": lambda: t.stack([h, f]), "cat of halves": lambda: t.cat([h, h]),
        "add": lambda: h + f, "sum": lambda: h.sum(), "softmax": lambda: t.softmax(h, 0), "exp": lambda: t.exp(h),
        "integers": lambda: t.stack([target, target]),
    }  # fmt: skip
    with t.autocast("cpu"):
        return {name: dtype(call()) for name, call in calls.items()}


def test_the_lists_are_pytorchs() -> None:
    """Every operator of ours at whose Autocast key PyTorch registers something has something there too."""
    ours = vars(mindtorch_v2.ops.aten)
    for key, kind in (("AutocastCPU", "cpu"), ("AutocastCUDA", "npu")):
        with mindtorch_v2.autocast(kind):
            pass
        theirs = {
            name.removeprefix("aten::").partition(".")[0]
            for name in torch._C._dispatch_get_registrations_for_dispatch_key(key)
            if name.startswith("aten::")
        }
        ours_key = key.replace("CUDA", "NPU")
        registered = {
            name.removeprefix("aten::").partition(".")[0]
            for name in mindtorch_v2._C._dispatch_get_registrations_for_dispatch_key(ours_key)
            if name.startswith("aten::")
        }
        as_given = {"dot", "mv"} if kind == "cpu" else set()  # made of operators that are on the lists
        assert registered - as_given == {name for name in theirs if name in ours}, kind


@pytest.mark.parametrize("target", ["classes", "probabilities"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_cross_entropy_is_computed_in_float32_from_its_scores_on(target: str, dtype: str) -> None:
    def case(t: Any) -> Any:
        t.manual_seed(0)
        scores = t.randn(4, 5).to(getattr(t, dtype)).requires_grad_()
        goal = t.tensor([0, 1, 2, 3]) if target == "classes" else t.softmax(t.randn(4, 5), 1)
        with t.autocast("cpu"):
            loss = t.nn.functional.cross_entropy(scores, goal, label_smoothing=0.1)
        loss.backward()
        return loss, scores.grad

    agree(case)


def test_cross_entropy_of_probabilities_is_refused_on_accelerators() -> None:
    t = mindtorch_v2
    x = t.full((2,), 0.5).npu()
    with t.autocast("npu"):
        with pytest.raises(RuntimeError, match="unsafe to autocast"):
            t.nn.functional.binary_cross_entropy(x, x)
        assert t.nn.functional.binary_cross_entropy_with_logits(x.half(), x).dtype is t.float32


def custom_policy(t: Any) -> Any:
    lib = t.library.Library(fresh_namespace(), "FRAGMENT")
    lib.define("op(Tensor x, Tensor? y, Tensor[] zs, int k) -> Tensor")
    seen: list[str] = []

    def kernel(x: Any, y: Any, zs: Any, k: int) -> Any:
        seen.extend([dtype(x), "None" if y is None else dtype(y), *map(dtype, zs), str(t.is_autocast_enabled("cpu"))])
        return x.clone()

    lib.impl("op", kernel, "CPU")
    t.library.register_autocast(f"{lib.ns}::op", "cpu", t.float16, lib=lib)
    op = getattr(t.ops, lib.ns).op
    f, d = t.ones(1), t.ones(1, dtype=t.float64)
    with t.autocast("cpu", dtype=t.bfloat16):
        results = op(f, None, [f, d], 1), op(d, f.bfloat16(), [t.tensor([1])], 1)
    results += (op(f, f, [], 1),)
    return [dtype(r) for r in results], seen


# ---------------------------------------------------------------- GradScaler


def scaled(t: Any) -> Any:
    scaler = t.amp.GradScaler("cpu", init_scale=4.0)
    x = t.ones(2)
    return scaler.get_scale(), scaler.scale(x), scaler.scale([x, (x, x)]), list(scaler.scale(iter([x]))), (
        t.amp.GradScaler("cpu", enabled=False).scale(x), scaler.is_enabled()
    )  # fmt: skip


def train(t: Any, poisoned: list[bool], **options: Any) -> Any:
    """Steps, some with a gradient that is inf; the weight, the scale and the state after each."""
    w = t.ones(2, requires_grad=True)
    optimizer = t.optim.SGD([w], lr=0.5)
    scaler = t.amp.GradScaler("cpu", init_scale=8.0, **options)
    history = []
    for poison in poisoned:
        optimizer.zero_grad()
        loss = (w * (math.inf if poison else 0.25)).sum()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        history.append((w.detach().clone(), scaler.get_scale(), scaler.state_dict()))
    return history


@settings(max_examples=25)
@given(st.lists(st.booleans(), max_size=8), st.integers(1, 3), st.booleans())
def test_training_with_overflows(poisoned: list[bool], interval: int, enabled: bool) -> None:
    agree(lambda t: train(t, poisoned, growth_interval=interval, enabled=enabled))


def unscaled_for_clipping(t: Any) -> Any:
    w = t.ones(2, requires_grad=True)
    optimizer = t.optim.SGD([w], lr=1.0)
    scaler = t.amp.GradScaler("cpu", init_scale=16.0)
    scaler.scale((w * 3).sum()).backward()
    before = w.grad.clone()
    scaler.unscale_(optimizer)
    inside = w.grad.clone()
    returned = scaler.step(optimizer)
    scaler.update(2.0)
    return before, inside, returned, w.detach(), scaler.get_scale()


def two_optimisers(t: Any) -> Any:
    a, b = t.ones(1, requires_grad=True), t.ones(1, requires_grad=True)
    first, second = t.optim.SGD([a], lr=1.0), t.optim.SGD([b], lr=1.0)
    scaler = t.amp.GradScaler("cpu", init_scale=4.0)
    scaler.scale([(a * 0.5).sum(), (b * math.nan).sum()])[0].backward()
    scaler.scale((b * math.nan).sum()).backward()
    scaler.step(first)
    scaler.step(second)
    scaler.update()
    return a.detach(), b.detach(), scaler.get_scale()


def saved_and_loaded(t: Any) -> Any:
    scaler = t.amp.GradScaler("cpu", init_scale=4.0, growth_interval=5)
    scaler.scale(t.ones(1))
    other = t.amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    scaler.load_state_dict({**scaler.state_dict(), "scale": 2.0, "_growth_tracker": 3})
    copy = pickle.loads(pickle.dumps(scaler))
    scaler.set_growth_factor(3.0)
    scaler.set_backoff_factor(0.25)
    scaler.set_growth_interval(7)
    return other.state_dict(), scaler.state_dict(), copy.state_dict(), copy.scale(t.ones(1)), (
        scaler.get_growth_factor(), scaler.get_backoff_factor(), scaler.get_growth_interval(),
        t.amp.GradScaler("cpu", enabled=False).state_dict(), t.amp.GradScaler("cpu", enabled=False).get_scale(),
    )  # fmt: skip


AGREE = (
    nested, one_object_entered_twice, set_by_hand, availability, an_unsupported_dtype, another_thread_starts_without,
    inference_tensors_are_cast, cached, gradients_through_the_cache, a_changed_weight_is_lowered_again_outside,
    policies, custom_policy, scaled, unscaled_for_clipping, two_optimisers, saved_and_loaded,
)  # fmt: skip


@pytest.mark.parametrize("case", AGREE, ids=lambda case: case.__name__)
def test_amp(case: Callable[[Any], Any]) -> None:
    agree(case)


def scaler_after(t: Any, *methods: str, half: bool = False) -> Any:
    """A scaler and an optimiser after these calls."""
    w = t.ones(1, requires_grad=True, dtype=t.float16 if half else t.float32)
    optimizer = t.optim.SGD([w], lr=1.0)
    scaler = t.amp.GradScaler("cpu")
    for method in methods:
        if method == "scale":
            scaler.scale(w.sum()).backward()
        elif method == "update":
            scaler.update()
        else:
            getattr(scaler, method)(optimizer)
    return scaler


@pytest.mark.parametrize(
    ("case", "quoted"),
    [
        (lambda t: scaler_after(t, "step"), "Attempted step but _scale is None.  This may indicate your script"),
        (lambda t: scaler_after(t, "update"), "Attempted update but _scale is None."),
        (lambda t: scaler_after(t, "scale", "update"), "No inf checks were recorded prior to update."),
        (lambda t: scaler_after(t, "scale", "unscale_", "unscale_"), "unscale_() has already been called on this"),
        (lambda t: scaler_after(t, "scale", "step", "unscale_"), "unscale_() is being called after step()."),
        (lambda t: scaler_after(t, "scale", "step", "step"), "step() has already been called since the last update()."),
        (lambda t: scaler_after(t, "scale", "unscale_", half=True), "Attempting to unscale FP16 gradients."),
        (
            lambda t: scaler_after(t, "scale").step(t.optim.SGD([t.ones(1)], lr=1.0), closure=lambda: 1),
            "Closure use is not currently supported if GradScaler is enabled.",
        ),
        (
            lambda t: scaler_after(t, "scale").step(t.optim.SGD([t.ones(1)], lr=1.0)),
            "No inf checks were recorded for this optimizer.",
        ),
        (lambda t: t.amp.GradScaler("cpu").scale(3), "outputs must be a Tensor or an iterable of Tensors"),
        (lambda t: t.amp.GradScaler("cpu", growth_factor=1.0), "The growth factor must be > 1.0."),
        (lambda t: t.amp.GradScaler("cpu", backoff_factor=1.0), "The backoff factor must be < 1.0."),
        (lambda t: t.amp.GradScaler("cpu").load_state_dict({}), "The source state dict is empty"),
        (lambda t: pickle.dumps(scaler_after(t, "scale", "step")), "may only be pickled at the beginning of an"),
        (lambda t: t.autocast("meta", dtype=t.float16), "User specified an unsupported autocast device_type 'meta'"),
        (lambda t: t.autocast("cpu")(3), "autocast()(func) requires a callable, but got int"),
        (lambda t: t.amp.custom_fwd(device_type=3), "Expected `device_type` of type `str`"),
        (lambda t: t.amp.custom_bwd(device_type=3), "Expected `device_type` of type `str`"),
    ],
)  # fmt: skip
def test_mistakes(case: Callable[[Any], Any], quoted: str) -> None:
    agree(case, quoted)


def test_training_on_the_npu() -> None:
    w = mindtorch_v2.ones(2, device="npu", requires_grad=True)
    optimizer = SGD([w], lr=0.5)
    scaler = mindtorch_v2.amp.GradScaler(init_scale=8.0)
    for value, expected in ((1.0, [0.5, 0.5]), (math.inf, [0.5, 0.5])):
        optimizer.zero_grad()
        scaler.scale((w * value).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        assert w.tolist() == expected
    assert scaler.get_scale() == 4.0
    assert scaler._scale.device.type == "npu"


# ---------------------------------------------------------------- what others registered first
REGISTERED_FIRST = """
import importlib, sys, warnings

warnings.simplefilter("ignore")
torch = importlib.import_module(sys.argv[1])
library = torch.library.Library("aten", "IMPL")
ours = torch.library.fallthrough_kernel if sys.argv[2] == "fallthrough" else lambda x, y: x - y
library.impl("mm", ours, "AutocastCPU")

def product():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        result = torch.mm(torch.ones(2, 2), torch.ones(2, 2))
    return str(result.dtype), result.tolist()

print(product(), product())
library._destroy()
print(product())
"""


@pytest.mark.parametrize("kernel", ["fallthrough", "function"])
def test_a_kernel_registered_before_autocast_was_ever_on(kernel: str, child_env: dict[str, str]) -> None:
    """It stays what runs; the runtime's own come when autocast is first turned on, in a process of its own."""
    said = []
    for name in ("torch", "mindtorch_v2"):
        command = [sys.executable, "-c", REGISTERED_FIRST, name, kernel]
        said.append(subprocess.run(command, env=child_env, capture_output=True, text=True, check=True).stdout)
    assert said[1] == said[0]


# ---------------------------------------------------------------- what the scaler is made of
@pytest.mark.parametrize("bad", [None, math.inf, math.nan])
def test_gradients_without_their_scale(bad: float | None) -> None:
    def unscaled(t: Any) -> Any:
        grads = [t.full((2, 3), 4.0), t.full((3, 4), 4.0)[:, :2], t.full((2,), 3.0, dtype=t.bfloat16)]
        if bad is not None:
            grads[1][0, 0] = bad
        found = t.zeros(1)
        t._amp_foreach_non_finite_check_and_unscale_(grads, found, t.full((1,), 0.25))
        return found, *([g.float() for g in grads] if bad is None else ())

    agree(unscaled)


@pytest.mark.parametrize("found", [0.0, 1.0, -1.0, math.nan])
@pytest.mark.parametrize("scale", [4.0, 3e38])
def test_the_scale_after_steps(found: float, scale: float) -> None:
    def updated(t: Any) -> Any:
        given = t.full((1,), scale), t.zeros(1, dtype=t.int32)
        seen = []
        for _ in range(3):
            assert t._amp_update_scale_(*given, t.full((1,), found), 2.0, 0.25, 2) is given[0]
            seen += [x.clone() for x in given]
        return seen

    agree(updated)


def test_what_they_refuse() -> None:
    def unscale(t: Any, grad: Any, found: Any, inverse: Any) -> Any:
        return t._amp_foreach_non_finite_check_and_unscale_([grad], found, inverse)

    one = "must be a 1-element tensor."
    agree(lambda t: unscale(t, t.ones(2), t.zeros(2), t.ones(1)), quoted=f"found_inf {one}")
    agree(lambda t: unscale(t, t.ones(2), t.zeros(1), t.ones(2)), quoted=f"inv_scale {one}")
    agree(lambda t: unscale(t, t.ones(2), t.zeros(1).double(), t.ones(1)), quoted="found_inf must be a float tensor.")
    agree(lambda t: unscale(t, t.ones(2).int(), t.zeros(1), t.ones(1)), quoted="not implemented for 'Int'")
    update = lambda t, scale, count: t._amp_update_scale_(scale, count, t.zeros(1), 2.0, 0.5, 1)  # noqa: E731
    agree(lambda t: update(t, t.ones(2), t.zeros(1).int()), quoted=f"current_scale {one}")
    agree(lambda t: update(t, t.ones(1), t.zeros(1)), quoted="growth_tracker must be an int tensor.")


def scaling_optimizer(t: Any, seen: list[Any], takes_scaler: bool) -> Any:
    class Optimizer(t.optim.Optimizer):  # type: ignore[misc]
        _step_supports_amp_scaling = True

        def __init__(self, params: Any) -> None:
            super().__init__(params, {})

        def step(self, closure: Any = None) -> None:
            seen.append((self.grad_scale if self.grad_scale is None else self.grad_scale.item(), self.found_inf.item()))

    class Told(Optimizer):  # type: ignore[misc, valid-type]
        def step(self, closure: Any = None, *, grad_scaler: Any = None) -> None:
            seen.append((isinstance(grad_scaler, t.amp.GradScaler), hasattr(self, "grad_scale")))

    return Told if takes_scaler else Optimizer


@pytest.mark.parametrize("t", [mindtorch_v2, torch], ids=["ours", "pytorch"])
def test_optimizers_that_scale_for_themselves(t: Any) -> None:
    seen: list[Any] = []
    x = t.ones(2, requires_grad=True)
    plain, told = (scaling_optimizer(t, seen, takes)([x]) for takes in (False, True))
    scaler = t.amp.GradScaler("cpu", init_scale=2.0)
    scaler.scale((x * 3).sum()).backward()
    scaler.step(plain)
    with pytest.warns(FutureWarning, match="GradScaler is going to stop passing itself"):
        scaler.step(told)
    scaler.update()
    x.grad[0] = math.inf
    scaler.unscale_(plain)
    scaler.step(plain)
    assert seen == [(2.0, 0.0), (True, False), (None, 1.0)]
    assert not hasattr(plain, "grad_scale")


@pytest.mark.parametrize("t", [mindtorch_v2, torch], ids=["ours", "pytorch"])
def test_the_older_names_of_the_cpu(t: Any) -> None:
    with pytest.warns(FutureWarning, match=r"`torch.cpu.amp.GradScaler\(args...\)` is deprecated"):
        assert isinstance(t.cpu.amp.GradScaler(init_scale=2.0), t.amp.GradScaler)
    with pytest.warns(FutureWarning, match=r"`torch.cpu.amp.autocast\(args...\)` is deprecated"):
        cast = t.cpu.amp.autocast()
    with cast:
        assert dtype(t.mm(t.ones(1, 1), t.ones(1, 1))) == "bfloat16"


def test_a_scaler_with_states_of_optimizers_is_as_new_when_it_is_copied() -> None:
    copied = pickle.loads(pickle.dumps(mindtorch_v2.amp.GradScaler("cpu")))
    assert copied._per_optimizer_states["new"] == mindtorch_v2.amp.grad_scaler._refresh_per_optimizer_state()
