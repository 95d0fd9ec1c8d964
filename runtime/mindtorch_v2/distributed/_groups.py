"""Groups of processes: what begins and ends them, and who is in which."""

from __future__ import annotations

import datetime
import itertools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import _hccl, _mpi
from ._engine import Engine

__all__ = [
    "Backend",
    "GroupMember",
    "ProcessGroup",
    "default_pg_timeout",
    "destroy_process_group",
    "get_backend",
    "get_global_rank",
    "get_group_rank",
    "get_node_local_rank",
    "get_pg_count",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "init_process_group",
    "is_available",
    "is_backend_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
    "new_group",
]

default_pg_timeout = datetime.timedelta(minutes=30)


class Backend(str):
    """An engine's name, in small letters."""

    __slots__ = ()
    UNDEFINED, MPI, HCCL, GLOO, NCCL, UCC, XCCL = "undefined", "mpi", "hccl", "gloo", "nccl", "ucc", "xccl"

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError(f"Backend constructor parameter must be string-ish, but got {name!r}")
        return super().__new__(cls, name.lower())


@dataclass(frozen=True)
class _Choice:
    """An engine: whether it is there, and what starts it."""

    is_there: Callable[[], bool]
    start: Callable[[], Engine]


_ENGINES = {Backend.MPI: _Choice(_mpi.is_there, _mpi.Mpi), Backend.HCCL: _Choice(_hccl.is_there, _hccl.Hccl)}


@dataclass(eq=False)
class ProcessGroup:
    """Processes that communicate, by their numbers among all (``ranks``); this process is one of them."""

    engine: Engine
    native: Any  # the engine's own object
    ranks: tuple[int, ...]
    timeout: datetime.timedelta
    group_name: str
    group_desc: str = "undefined"
    pending: set[Any] = field(default_factory=set, repr=False)  # works whose tensors may still be in use

    def rank(self) -> int:
        """This process's number in the group."""
        return self.ranks.index(_state.rank)

    def size(self) -> int:
        """How many processes there are."""
        return len(self.ranks)

    def name(self) -> str:
        """The engine's name."""
        return self.engine.name


class GroupMember:
    """Stands for groups: that of all processes, and one that this process is not in."""

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = -100


class _Group:
    @property
    def WORLD(self) -> ProcessGroup | None:  # noqa: N802  (PyTorch's name)
        """The group of all processes; None before there is one."""
        return _state.world


group = _Group()


@dataclass
class _State:
    world: ProcessGroup | None = None
    rank: int = 0
    groups: list[ProcessGroup] = field(default_factory=list)
    names: Any = field(default_factory=itertools.count)


_state = _State()
_engines: dict[str, Engine] = {}  # that were started: MPI starts once in a process


def is_available() -> bool:
    """Whether processes can work together: an engine is installed. None is started by the question."""
    return any(choice.is_there() for choice in _ENGINES.values())


def is_mpi_available() -> bool:
    """Whether mpi4py is installed."""
    return _mpi.is_there()


def is_gloo_available() -> bool:
    """Whether Gloo is there: no."""
    return False


def is_nccl_available() -> bool:
    """Whether NCCL is there: no."""
    return False


def is_ucc_available() -> bool:
    """Whether UCC is there: no."""
    return False


def is_xccl_available() -> bool:
    """Whether XCCL is there: no."""
    return False


def is_backend_available(backend: str) -> bool:
    """Whether an engine of that name is installed."""
    choice = _ENGINES.get(backend.lower())
    return choice is not None and choice.is_there()


def is_initialized() -> bool:
    """Whether there is a group of all processes."""
    return _state.world is not None


def is_torchelastic_launched() -> bool:
    """Whether PyTorch's elastic launcher started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """This process's number on its machine, as ``LOCAL_RANK`` or MPI says. Raises RuntimeError where none does."""
    for name in ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"):
        if name in os.environ:
            return int(os.environ[name])
    if fallback_rank is None:
        raise RuntimeError(
            "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow "
            "`get_node_local_rank` to work, assuming you are not running in a multi-device context."
        )
    return int(fallback_rank)


def _engine(backend: str | None) -> Engine:
    if backend is None:
        backend = Backend.HCCL if _hccl.has_devices() else Backend.MPI
    name = Backend(backend.partition(":")[2] if backend.startswith("cpu:") and "," not in backend else backend)
    if name in (Backend.GLOO, Backend.NCCL, Backend.UCC, Backend.XCCL):
        raise RuntimeError(
            f"Distributed package doesn't have {name.upper()} built in: engines are 'mpi' (mpi4py, for the CPU and "
            "copies "
            "of other devices' tensors) and 'hccl' (MindSpore's, on Ascend)"
        )
    if name not in _ENGINES:
        raise ValueError(f"Unknown backend type {name}: expected one of {', '.join(_ENGINES)}")
    if name not in _engines:
        _engines[name] = _ENGINES[name].start()
    return _engines[name]


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: datetime.timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Makes the group of all processes, which ``mpirun``, MindSpore's ``msrun`` or `mindtorch_v2.distributed.run`
    started.

    The engine knows who there is: ``rank``, ``world_size`` and the variables RANK and WORLD_SIZE are compared with it.
    Calls wait ``timeout`` for other processes, half an hour unless it is given.

    Raises ValueError for a second group of all, and where numbers differ; RuntimeError for an engine that is not here;
    ImportError where a library is missing.
    """
    if _state.world is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if timeout is not None and not isinstance(timeout, datetime.timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout}")
    if store is not None or init_method not in (None, "env://"):
        raise ValueError(
            "init_process_group: the engine finds the processes by itself; expected init_method 'env://' and no "
            "store, "
            f"got {init_method!r} and {store!r}: start the script with mpirun or python -m mindtorch_v2.distributed.run"
        )
    engine = _engine(backend)
    native = engine.world()
    mine, size = engine.place(native)
    environment = os.environ if size > 1 or init_method is not None else {}
    for name, given, true in (
        ("rank", rank, mine),
        ("world_size", world_size, size),
        ("RANK", int(environment.get("RANK", -1)), mine),
        ("WORLD_SIZE", int(environment.get("WORLD_SIZE", -1)), size),
    ):
        if given not in (-1, true):
            raise ValueError(
                f"init_process_group: {name} is {given}, but for {engine.name} it is {true}: {size} processes were "
                "started; "
                f"start the script with mpirun -n {max(given, 2)} or python -m mindtorch_v2.distributed.run"
            )
    ranks = tuple(range(size))
    made = ProcessGroup(engine, native, ranks, timeout or default_pg_timeout, group_name or "0", "default_pg")
    _state.rank, _state.world, _state.groups = mine, made, [made]
    GroupMember.WORLD = made


def world() -> ProcessGroup:
    """The group of all processes. Raises ValueError where there is none."""
    if _state.world is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    return _state.world


def member_of(group: Any) -> ProcessGroup | None:
    """A group that was given, None standing for all processes; None for one that this process is not in."""
    everyone = world()
    if group is None:
        return everyone
    if group is GroupMember.NON_GROUP_MEMBER or group == GroupMember.NON_GROUP_MEMBER:
        return None
    if not isinstance(group, ProcessGroup):
        raise TypeError(f"expected group to be a ProcessGroup, as of new_group, got {group!r}")
    if group not in _state.groups:
        raise ValueError("Group is not registered, please create group with torch.distributed.new_group API")
    return group


def get_rank(group: Any = None) -> int:
    """This process's number in a group; -1 where it is in none of that kind."""
    found = member_of(group)
    return -1 if found is None else found.rank()


def get_world_size(group: Any = None) -> int:
    """How many processes a group has; -1 where this process is not in it."""
    found = member_of(group)
    return -1 if found is None else found.size()


def get_backend(group: Any = None) -> Backend:
    """The name of a group's engine. Raises ValueError for a group that this process is not in."""
    found = member_of(group)
    if found is None:
        raise ValueError("Invalid process group specified")
    return Backend(found.name())


def get_pg_count() -> int:
    """How many groups this process is in."""
    return len(_state.groups)


def get_process_group_ranks(group: Any) -> list[int]:
    """The numbers among all processes of those in a group."""
    found = member_of(group)
    return [] if found is None else [*found.ranks]


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """A process's number among all, by that in a group. Raises ValueError where there is none."""
    found = member_of(group)
    if found is None or not 0 <= group_rank < found.size():
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return found.ranks[group_rank]


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """A process's number in a group, by that among all. Raises ValueError where it is not in it."""
    found = member_of(group)
    if found is None or global_rank not in found.ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return found.ranks.index(global_rank)


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: datetime.timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
    sort_ranks: bool = True,
) -> Any:
    """A group of some processes; in those that are not in it, ``GroupMember.NON_GROUP_MEMBER``.

    All processes call it, in the same order; with ``use_local_synchronization`` only those in it. Raises ValueError for
    numbers that there are not, or that come twice.
    """
    everyone = world()
    if backend is not None and Backend(backend) != everyone.name():
        raise ValueError(
            f"new_group: groups have the engine {everyone.name()} of all processes, got backend {backend!r}"
        )
    chosen = [*everyone.ranks] if ranks is None else [*ranks]
    if not chosen:
        raise ValueError("new_group: expected the ranks of one process or more, got none")
    if len({*chosen}) != len(chosen):
        raise ValueError(f"ranks list must not contain duplicate entries, got {chosen}")
    for one in chosen:
        if not 0 <= one < everyone.size():
            last = everyone.size() - 1
            raise ValueError(f"Rank {one} is out of range. Valid ranks are 0 to {last} (world_size={last + 1})")
    if sort_ranks:
        chosen.sort()
    number = next(_state.names) + 1
    native = everyone.engine.part(chosen, not use_local_synchronization)
    if native is None:
        return GroupMember.NON_GROUP_MEMBER
    made = ProcessGroup(
        everyone.engine, native, tuple(chosen), timeout or everyone.timeout, str(number), group_desc or "undefined"
    )
    _state.groups.append(made)
    return made


def destroy_process_group(group: Any = None) -> None:
    """Ends a group; that of all processes ends all others. Raises ValueError where there is none."""
    found = member_of(group)
    if found is None:
        return
    ending = [*_state.groups] if found is _state.world else [found]
    for one in ending:
        for work in [*one.pending]:
            work.wait()
        one.engine.free(one.native)
        _state.groups.remove(one)
    if found is _state.world:
        _state.world = GroupMember.WORLD = None
