"""Plans: what is found ahead of time is what runs; tables, files; the first difference of a run is named."""

from __future__ import annotations

import gc
import json

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn, npu
from mindtorch_v2.npu import ExecutionPlan, Operation, PlanError
from tests.npu import scheduled  # noqa: F401 - which defines the operators

OPS = torch.ops.scheduled_tests


class Mixed(nn.Module):
    """Parameters, views, a factory, an in-place change, both devices, and operators that fall back to the CPU."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 4)
        self.register_buffer("offset", torch.ones(4))

    def forward(self, x):
        y = self.linear(x).t().contiguous() + torch.zeros(4, x.shape[0], device=x.device)
        y.add_(1.0)
        y = torch.softmax(y.t() + self.offset, -1)
        host = y.cpu()
        return torch.stack([host, host * 2]).sum(0).to(x.device).reshape(-1)


def followed(module, *inputs, log=None):
    """What a module gives under its own plan."""
    with torch.no_grad(), torch.npu.plan(module, *inputs).follow(log):
        return module(*inputs)


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_a_run_follows_its_own_plan(device):
    module = Mixed().to(device)
    x = torch.randn(3, 8).to(device)
    with torch.no_grad():
        expected = module(x)
    result = followed(module, x)
    np.testing.assert_array_equal(result.cpu().numpy(), expected.cpu().numpy())
    plan = torch.npu.plan(module, x)
    names = [operation.operator for operation in plan.operations]
    assert "aten::softmax.int" not in names  # composed: its parts are there
    assert "aten::t" not in names  # a view runs nothing
    assert {operation.device for operation in plan.operations} == ({"cpu"} if device == "cpu" else {"cpu", "npu:0"})


def test_a_model_with_layers_of_every_kind():
    module = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Tanh(), nn.Softmax(-1), nn.Linear(8, 2)).eval()
    x = torch.randn(2, 6)
    with torch.no_grad():
        expected = module(x)
    np.testing.assert_array_equal(followed(module, x).numpy(), expected.numpy())


def test_nothing_is_computed_and_nothing_changes():
    module = Mixed().to("npu")
    before = {name: value.cpu().numpy().copy() for name, value in module.state_dict().items()}
    x = torch.randn(3, 8).npu()
    gc.collect()
    allocated = npu.memory_allocated()
    plan = torch.npu.plan(module, x)
    assert npu.memory_allocated() == allocated
    assert plan.operations[0].inputs[-1] == (3, 8) or (3, 8) in plan.operations[0].inputs
    assert type(module.linear.weight) is nn.Parameter
    for name, value in module.state_dict().items():
        np.testing.assert_array_equal(value.cpu().numpy(), before[name])


def chain(x):
    return (OPS.softshrink(x).cpu() + 1).npu()


def test_a_table():
    text = str(torch.npu.plan(chain, torch.ones(4, 2, device="npu")))
    rows = [line.split() for line in text.splitlines()]
    assert rows[0] == ["operator", "device", "kind", "inputs", "outputs"]
    assert rows[1] == ["0", "scheduled_tests::softshrink", "npu:0", "kernel", "[4,", "2]", "[4,", "2]"]
    assert [row[2] for row in rows[1:]] == ["npu:0", "cpu", "cpu", "npu:0"]


def test_saved_and_loaded(tmp_path):
    x = torch.ones(4, 2, device="npu")
    plan = torch.npu.plan(chain, x)
    plan.save(tmp_path / "plan.json")
    loaded = ExecutionPlan.load(tmp_path / "plan.json")
    assert loaded == plan
    assert json.loads((tmp_path / "plan.json").read_text())["format"] == 1
    with loaded.follow():
        chain(x)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "is a JSON text"),
        ("[]", '"format": 1'),
        ('{"format": 2, "operations": []}', '"format": 1'),
        ('{"format": 1, "operations": [3]}', "operation 0: expected an object"),
        (
            '{"format": 1, "operations": [{"operator": 1, "device": "cpu", "is_delegate": false, "inputs": [], '
            '"outputs": []}]}',
            "operation 0: 'operator' must be of type str, got 1",
        ),
        (
            '{"format": 1, "operations": [{"operator": "a", "device": "cpu", "is_delegate": false, "inputs": [[-1]], '
            '"outputs": []}]}',
            "operation 0: 'inputs' must be a list of shapes",
        ),
    ],
)
def test_a_file_that_is_no_plan(tmp_path, text, problem):
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(ValueError, match=r"plan\.json") as caught:
        ExecutionPlan.load(tmp_path / "plan.json")
    assert problem in str(caught.value)


# ---------------------------------------------------------------- departures
def departure(plan, run):
    with pytest.raises(PlanError) as caught, plan.follow():
        run()
    return caught.value


def test_the_first_difference_is_named():
    x = torch.ones(4, 2, device="npu")

    def two(x):
        return OPS.softshrink(OPS.softshrink(x))

    plan = torch.npu.plan(two, x)
    error = departure(plan, lambda: OPS.tell(OPS.softshrink(x)))
    assert error.position == 1
    assert (
        "another operator at operation 1: planned was scheduled_tests::softshrink on npu:0 with shapes [4, 2], got "
        "scheduled_tests::tell on npu:0 with shapes [4, 2]" in str(error)
    )
    assert "torch.npu.plan(module, *inputs)" in str(error)
    wide = torch.ones(4, 3, device="npu")
    error = departure(plan, lambda: two(wide))
    assert (error.position, "other shapes at operation 0" in str(error)) == (0, True)
    error = departure(plan, lambda: two(two(x)))
    assert (error.position, "the plan has 2 operations" in str(error)) == (2, True)
    error = departure(plan, lambda: OPS.softshrink(x))
    assert (error.position, "it ended before operation 1 of 2" in str(error)) == (1, True)
    error = departure(torch.npu.plan(lambda x: x + 1, x), lambda: x.cpu() + 1)
    assert "operator at operation 0" in str(error)


def test_another_device_is_a_difference():
    x = torch.ones(4)
    error = departure(torch.npu.plan(lambda x: x + 1, x), lambda: x.npu())
    assert error.position == 0
    error = departure(torch.npu.plan(lambda x: x + 1, x.npu()), lambda: x + 1)
    assert "another device at operation 0: planned was aten::add.Scalar on npu:0" in str(error)


def test_lists_of_tensors_are_compared():
    x, y = torch.ones(2), torch.ones(3)
    plan = torch.npu.plan(lambda x, y: torch.cat([x, y]), x, y)
    with plan.follow():
        torch.cat([x, y])
    assert departure(plan, lambda: torch.cat([y, x])).position == 0
    assert departure(plan, lambda: torch.cat([x, y, x])).position == 0


def test_after_a_departure_all_is_as_before():
    x, log = torch.ones(4, device="npu"), []
    plan = torch.npu.plan(lambda x: OPS.softshrink(x), x)
    results = []

    def run():
        with plan.follow(log):
            results.extend(OPS.softshrink(x) for _ in range(2))

    with pytest.raises(PlanError):
        run()
    assert log == [("encode", "npu:0", "scheduled_tests::softshrink"), ("commit", "npu:0", ""), ("wait", "npu:0", "")]
    assert results[0].cpu().tolist() == [0.5] * 4
    assert OPS.softshrink(x).cpu().tolist() == [0.5] * 4
    with plan.follow():
        OPS.softshrink(x)


def test_what_a_block_raises_is_not_hidden_by_its_plan():
    plan = torch.npu.plan(lambda x: x + 1, torch.ones(2))
    with pytest.raises(KeyError, match="mine"), plan.follow():
        raise KeyError("mine")


def test_a_plan_of_an_operator_that_is_gone():
    plan = ExecutionPlan((Operation("nowhere::none", "cpu", False, ((2,),), ((2,),)),))
    assert "planned was nowhere::none" in str(departure(plan, lambda: torch.ones(2) + 1))


def test_an_operator_without_a_shape_ahead_of_time():
    with pytest.raises(
        PlanError, match=r"operation 1, aten::nonzero of shapes \[\[4\]\], gives no shape ahead of time"
    ):
        torch.npu.plan(lambda x: (x + 1).nonzero(), torch.ones(4))
    with pytest.raises((PlanError, RuntimeError)):
        torch.npu.plan(lambda x: x if x.sum() > 0 else -x, torch.ones(4))


def test_a_tensor_of_a_plan_is_of_no_use_outside():
    kept = []
    torch.npu.plan(lambda x: kept.append(x + 1), torch.ones(4))
    with pytest.raises(PlanError, match=r"aten::add\.Scalar was called on a tensor of a plan"):
        kept[0] + 1


# ---------------------------------------------------------------- devices as data
def test_an_operator_knows_the_devices_of_its_kernels():
    assert OPS.tell.default.devices == ("npu", "cpu")
    assert OPS.softshrink.default.devices == ("npu",)
    assert torch.ops.aten.add.Tensor.devices[0] == "cpu" or "cpu" in torch.ops.aten.add.Tensor.devices

    library = torch.library.Library("devices_tests", "FRAGMENT")
    library.define("plain(Tensor x) -> Tensor")
    op = torch.ops.devices_tests.plain.default
    assert op.devices == ()
    library.impl("plain", lambda x: x.clone(), "CPU")
    assert op.devices == ("cpu",)
