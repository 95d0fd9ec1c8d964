"""``DistributedDataParallel``: processes train copies of a module, whose gradients are averaged during backward."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..._core import Tensor
from ..._ops import ops
from ...autograd import is_grad_enabled, no_grad
from ...distributed._collectives import broadcast
from ...distributed._groups import ProcessGroup, member_of, world
from ...distributed._objects import all_gather_object
from ...utils._pytree import tree_leaves
from ..module import Module
from ._buckets import Reducer

__all__ = ["DistributedDataParallel"]

_MEBI = 2**20


def _as_first(tensors: Sequence[Tensor], group: ProcessGroup) -> None:
    """Gives tensors the values that they have in the group's first process, all of a dtype and device at once."""
    alike: dict[Any, list[Tensor]] = {}
    for one in tensors:
        alike.setdefault((one.dtype, one.device), []).append(one.detach())
    for some in alike.values():
        whole = ops.aten.cat([one.reshape(-1) for one in some])
        broadcast(whole, group=group, group_src=0)
        if group.rank() != 0:
            for one, part in zip(some, whole.split([one.numel() for one in some]), strict=True):
                one.copy_(part.view(one.shape))


class DistributedDataParallel(Module):
    """``module``, in each process of a group: the first one's parameters at first, the mean of gradients in all later.

    Gradients go in buckets of about ``bucket_cap_mb`` MiB (25), each sent as soon as backward has filled it. With
    ``broadcast_buffers`` each forward in training begins with the first process's buffers. With
    ``find_unused_parameters`` (or ``static_graph``) backward may leave out parameters; those that no process used keep
    their gradients. ``gradient_as_bucket_view`` saves a copy of the gradients: they are the buckets' memory. Parameters
    and buffers whose names are in the module's ``_ddp_params_and_buffers_to_ignore`` are left alone.

    Raises RuntimeError for a module without parameters that require a gradient, and where processes have different
    modules; ValueError without a group (`init_process_group`), or for several devices; NotImplementedError for
    PyTorch's device meshes, hooks that reduce in backward and mixed precision.
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
    ) -> None:
        super().__init__()
        for name, given in (
            ("delay_all_reduce_named_params", delay_all_reduce_named_params),
            ("param_to_hook_all_reduce", param_to_hook_all_reduce),
            ("mixed_precision", mixed_precision),
            ("device_mesh", device_mesh),
        ):
            if given is not None:
                raise NotImplementedError(f"DistributedDataParallel: {name} is not supported; leave it out")
        group = member_of(process_group)
        if group is None:
            raise ValueError("DistributedDataParallel: this process is not in process_group")
        left_out = {*getattr(module, "_ddp_params_and_buffers_to_ignore", ())}
        params = {n: p for n, p in module.named_parameters() if p.requires_grad and n not in left_out}
        if not params:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a "
                "gradient."
            )
        devices = {param.device for param in params.values()}
        if device_ids and (len(device_ids) > 1 or len(devices) > 1 or {one.type for one in devices} == {"cpu"}):
            raise ValueError(
                "DistributedDataParallel device_ids and output_device arguments only work with single-device/multiple-"
                f"device GPU modules or CPU modules, but got device_ids {[*device_ids]}, output_device "
                f"{output_device}, "
                f"and module parameters {devices}."
            )
        self.module, self.process_group = module, group
        self.device_ids, self.output_device, self.dim = device_ids, output_device, dim
        self.broadcast_buffers = broadcast_buffers is None or broadcast_buffers
        self.find_unused_parameters, self.static_graph = find_unused_parameters, static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self.parameters_to_ignore = left_out
        if init_sync:
            _check_alike({n: p for n, p in module.named_parameters() if n not in left_out}, group)
            _as_first([t for n, t in module.state_dict(keep_vars=True).items() if n not in left_out], group)
        self.bucket_bytes_cap = int((25 if bucket_cap_mb is None or bucket_cap_mb < 0 else bucket_cap_mb) * _MEBI)
        self.reducer = Reducer(params, group, self.bucket_bytes_cap, gradient_as_bucket_view)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the module makes of this process's part of the batch."""
        averaged = is_grad_enabled() and self.require_backward_grad_sync
        if averaged:
            self.reducer.check_finished()
        if self.require_forward_param_sync and self.broadcast_buffers and self.training:
            buffers = [one for name, one in self.module.named_buffers() if name not in self.parameters_to_ignore]
            with no_grad():
                _as_first(buffers, self.process_group)
        output = self.module(*inputs, **kwargs)
        self.require_forward_param_sync = self.require_backward_grad_sync
        if not averaged:
            self.reducer.expect_none()
            return output
        search = self.find_unused_parameters or self.static_graph
        self.reducer.expect([one for one in _leaves(output) if isinstance(one, Tensor)] if search else None)
        return output

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Backward of what is computed inside adds to this process's gradients alone; the next one averages the
        sums.
        """
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def train(self, mode: bool = True) -> DistributedDataParallel:
        """Sets training mode, of the module, too."""
        super().train(mode)
        return self

    def register_comm_hook(self, state: Any, hook: Any) -> None:
        """Raises NotImplementedError: gradients are averaged in one way."""
        raise NotImplementedError(
            "DistributedDataParallel.register_comm_hook: gradients are averaged by all_reduce alone"
        )

    def join(self, *args: Any, **kwargs: Any) -> Any:
        """Raises NotImplementedError: processes have as many batches, as of `DistributedSampler`."""
        raise NotImplementedError(
            "DistributedDataParallel.join: processes have to have as many batches, as utils.data.DistributedSampler "
            "gives"
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("process_group", "reducer")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Comes back in the group of all processes."""
        self.__dict__.update(state)
        params = {
            n: p for n, p in self.module.named_parameters() if p.requires_grad and n not in self.parameters_to_ignore
        }
        self.process_group = world()
        self.reducer = Reducer(params, self.process_group, self.bucket_bytes_cap, self.gradient_as_bucket_view)


def _leaves(output: Any) -> list[Any]:
    """The tensors of an output; of an object with fields, such as a model's named results, theirs."""
    found = []
    for leaf in tree_leaves(output):
        fields = getattr(leaf, "__dict__", None)
        found += [leaf] if isinstance(leaf, Tensor) or not fields else tree_leaves(dict(fields))
    return found


def _check_alike(params: dict[str, Tensor], group: ProcessGroup) -> None:
    """Raises RuntimeError, in every process, where processes have other parameters than the first one."""
    mine = {name: [*param.shape] for name, param in params.items()}
    all_of_them: list[Any] = [None] * group.size()
    all_gather_object(all_of_them, mine, group)
    for rank, theirs in zip(group.ranks, all_of_them, strict=True):
        first = all_of_them[0]
        if len(theirs) != len(first):
            raise RuntimeError(
                f"DDP expects same model across all ranks, but Rank {group.ranks[0]} has {len(first)} params, while "
                "rank "
                f"{rank} has inconsistent {len(theirs)} params."
            )
        for (name, size), (other, other_size) in zip(theirs.items(), first.items(), strict=True):
            if (name, size) != (other, other_size):
                raise RuntimeError(
                    f"DDP expects same model across all ranks, but the parameter {name} of rank {rank} has sizes "
                    f"{size}, "
                    f"which appears not to match {other} of rank {group.ranks[0]} with sizes {other_size}"
                )
