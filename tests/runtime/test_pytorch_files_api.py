"""What PyTorch's own test files found: subclasses as parameters, checkpoints, libraries, warnings, small functions."""

from __future__ import annotations

import collections
import copy
import functools
import importlib
import io
import os
import pickle
import warnings
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")

import mindtorch_v2
from mindtorch_v2.utils.weak import WeakIdKeyDictionary
from tests.runtime.both import fresh_namespace, outcome
from tests.runtime.semantics import Entry, check

Pair = collections.namedtuple("Pair", ["x", "y"])


def plain_class(t: Any) -> Any:
    class LongNamedTensor(t.Tensor):  # type: ignore[misc]
        pass

    return LongNamedTensor


def of_class(t: Any, *size: int) -> Any:
    return t.zeros(size).as_subclass(plain_class(t))


def with_arguments(t: Any) -> Any:
    """A parameter's class with arguments of its own, as quantised weights of libraries have."""

    class Loaded(t.nn.Parameter):  # type: ignore[misc]
        def __new__(cls, data: Any, **options: Any) -> Any:
            return super().__new__(cls, data, requires_grad=False)

        def __init__(self, data: Any, loader: Any = None) -> None:
            self.loader = loader

    made = Loaded(t.ones(2), loader="mine")
    module = t.nn.Linear(2, 2)
    module.bias = made
    return made.loader, type(made).__name__, made.requires_grad, [type(p).__name__ for p in module.parameters()]


def made_by_new(t: Any) -> Any:
    class Kept(t.nn.Parameter):  # type: ignore[misc]
        def __new__(cls, data: Any = None, requires_grad: bool = True, extra: Any = None) -> Any:
            made = t.Tensor._make_subclass(cls, data, requires_grad)
            made.extra = extra
            return made

    made = Kept(t.ones(2), extra=3)
    return made.extra, type(made).__name__, isinstance(made, t.nn.Parameter), type(made + 1) is t.Tensor


def rewrapped(t: Any) -> Any:
    class Unwrapping(t.Tensor):  # type: ignore[misc]
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = super().__torch_function__(func, types, args, kwargs)
            return result.as_subclass(t.Tensor) if isinstance(result, cls) else result

    return t.nn.Parameter(t.ones(2).as_subclass(Unwrapping))


def of_module(t: Any) -> Any:
    module = t.nn.Linear(2, 2)
    module.weight = t.nn.Parameter(of_class(t, 2, 2))
    kinds = (
        [type(p).__name__ for p in module.parameters()],
        [isinstance(p, t.nn.Parameter) for p in module.parameters()],
    )
    return kinds, [type(p).__name__ for p in module.double().parameters()]


PARAMETERS: dict[str, Entry] = {
    "a subclass prints its name": lambda t: repr(of_class(t, 2, 3)),
    "also over many lines": lambda t: repr(of_class(t, 30, 3)),
    "also with a dtype": lambda t: repr(of_class(t, 3, 3).to(t.float64)),
    "empty": lambda t: repr(of_class(t, 0)),
    "meta": lambda t: repr(of_class(t, 2).to("meta")),
    "with a history": lambda t: repr(t.ones(2, requires_grad=True).as_subclass(plain_class(t))),
    "a parameter stays of the class": lambda t: repr(t.nn.Parameter(of_class(t, 2, 2))),
    "and is one": lambda t: isinstance(t.nn.Parameter(of_class(t, 2)), t.nn.Parameter),
    "without a gradient": lambda t: repr(t.nn.Parameter(of_class(t, 2), False)),
    "of a module": of_module,
    "what is computed is none": lambda t: isinstance(t.nn.Parameter(of_class(t, 2)) + 1, t.nn.Parameter),
    "plain": lambda t: repr(t.nn.Parameter(t.zeros(2))),
    "a class of parameters": lambda t: repr(type("Own", (t.nn.Parameter,), {})(t.zeros(2))),
    "with arguments": with_arguments,
    "by __new__": made_by_new,
    "by __new__ of another": lambda t: (
        t.nn.Parameter.__new__(type("Own", (t.nn.Parameter,), {}), t.ones(2)).requires_grad
    ),
    "a buffer's class": lambda t: isinstance(t.nn.Buffer.__new__(t.nn.Buffer, t.ones(2)), t.nn.Buffer),
    "of what detach does not give": (rewrapped, "requires that detach() returns an instance of the same type"),
}


@pytest.mark.parametrize("statement", PARAMETERS)
def test_parameters_of_subclasses(statement: str) -> None:
    check(PARAMETERS[statement])


def printed(**options: Any) -> Callable[[Any], Any]:
    def case(t: Any) -> Any:
        t.set_printoptions(**options)
        try:
            shown = repr(t.arange(40)), repr(t.arange(2000).reshape(2, 1000) / 3)
            t.set_printoptions(precision=4)
            return *shown, repr(t.tensor([1e-9, 1.0]))
        finally:
            t.set_printoptions(profile="default")

    return case


@pytest.mark.parametrize(
    "options",
    [
        {"linewidth": 40},
        {"profile": "short"},
        {"profile": "full"},
        {"sci_mode": True},
        {"profile": "short", "precision": 6},
        {"linewidth": 200, "edgeitems": 5},
    ],
)
def test_how_tensors_print(options: dict[str, Any]) -> None:
    check(printed(**options))


# ---------------------------------------------------------------- checkpoints
def saved(t: Any, value: Any, **options: Any) -> Any:
    f = io.BytesIO()
    t.save(value, f, **options)
    f.seek(0)
    return f


class Slow:
    """A file that reads, seeks and tells, and nothing else."""

    def __init__(self, f: Any) -> None:
        self.read, self.seek, self.tell, self.readline = f.read, f.seek, f.tell, f.readline


def storages(t: Any, old: bool) -> Any:
    x = t.arange(4.0)
    s = x.storage()
    several = [x, s, s, x.double().storage(), *(() if old else (t.ones(1).untyped_storage(),))]
    found = t.load(saved(t, several, _use_new_zipfile_serialization=not old))
    same = found[1] is found[2], found[0].storage().data_ptr() == found[1].data_ptr()
    return [type(v).__name__ for v in found], found[1].tolist(), same, str(found[3].dtype)


def one_after_the_other(t: Any) -> Any:
    f = io.BytesIO()
    for value in (t.arange(3), {"a": t.ones(2)}):
        pickle.dump("before", f)
        t.save(value, f, _use_new_zipfile_serialization=False)
    f.seek(0)
    return [(pickle.load(f), t.load(f)) for _ in range(2)]


def text(word: str) -> bytes:
    return b"X" + len(word).to_bytes(4, "little") + word.encode()


def part(key: str, offset: int) -> bytes:
    """The pickle of one of two numbers of a storage, named by a view of it."""
    view = text(key) + bytes((75, offset, 75, 1)) + b"\x87"
    return b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text("7") + text("cpu") + b"K\x02" + view + b"tQ"


def of_slices(t: Any) -> Any:
    """Two parts of a storage, as PyTorch 0.3 wrote them."""
    system = {"type_sizes": {"int": 4, "short": 2, "long": 4}, "protocol_version": 1001, "little_endian": True}
    head = b"".join(pickle.dumps(one, 2) for one in (0x1950A86A20F9469CFC6C, 1001, system))
    numbers = pickle.dumps(["7"], 2) + (2).to_bytes(8, "little") + b"\0\0\x80?\0\0\0@"
    first, second = t.load(io.BytesIO(head + b"\x80\x02" + part("8", 0) + part("9", 1) + b"\x86." + numbers))
    return first.tolist(), second.tolist(), second.data_ptr() - first.data_ptr()


def of_python_2() -> Any:
    """One number of a tensor; words are bytes where they are not decoded."""
    system = {"type_sizes": {"int": 4, "short": 2, "long": 4}, "protocol_version": 1001, "little_endian": True}
    head = b"".join(pickle.dumps(one, 2) for one in (0x1950A86A20F9469CFC6C, 1001, system))
    words = b"(" + text("storage") + b"ctorch\nFloatStorage\nU\x017U\x03cpuK\x01NtQ"
    tensor = b"ctorch._utils\n_rebuild_tensor\n(" + words + b"K\x00K\x01\x85K\x01\x85tR."
    return io.BytesIO(head + b"\x80\x02" + tensor + b"\x80\x02]U\x017a." + (1).to_bytes(8, "little") + b"\0\0\x80?")


class WithState:
    """What a class of tensors may say of its own state."""

    def __getstate__(self) -> Any:
        return {"word": self.word, "written": True}  # type: ignore[attr-defined]

    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(state, read=True)


def own_state(t: Any) -> Any:
    kind = type("Stateful", (WithState, t.Tensor), {"__module__": __name__})
    globals()["Stateful"] = kind
    x = t.ones(2).as_subclass(kind)
    x.word = "a"
    with t.serialization.safe_globals([kind]):
        loaded = t.load(saved(t, x))
    return type(loaded).__name__, sorted(vars(loaded).items()), loaded.tolist()


def copied(t: Any) -> Any:
    class OnMeta(t.Tensor):  # type: ignore[misc]
        def __new__(cls, inner: Any) -> Any:
            made = t.Tensor._make_subclass(cls, inner.to("meta"))
            made.inner = inner
            return made

        def clone(self) -> Any:
            return type(self)(self.inner.clone())

    x = OnMeta(t.ones(2))
    other = copy.deepcopy(x)
    return type(other).__name__, other.inner.tolist(), other.inner is x.inner


def blocked(t: Any) -> Any:
    f = saved(t, os.execv)
    with t.serialization.safe_globals([os.execv]):
        return t.load(f)


def without_checksums(t: Any) -> Any:
    import torch

    torch.serialization.set_crc32_options(False)
    try:
        f = saved(torch, {"a": torch.arange(5)})
    finally:
        torch.serialization.set_crc32_options(True)
    assert not any(info.CRC for info in zipfile.ZipFile(f).infolist())
    f.seek(0)
    return t.load(f)


def forced(name: str, **options: Any) -> Callable[[Any], Any]:
    def case(t: Any) -> Any:
        f = saved(t, t.nn.Linear(1, 1).eval())
        os.environ[name] = "1"
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                return t.load(f, **options).training, [str(w.message)[:60] for w in caught]
        finally:
            del os.environ[name]

    return case


CHECKPOINTS: dict[str, Entry] = {
    "storages": lambda t: storages(t, old=False),
    "storages in the old form": lambda t: storages(t, old=True),
    "of a file that only reads": lambda t: t.load(Slow(saved(t, {"a": t.arange(5)}))),
    "one after the other": one_after_the_other,
    "parts of a storage": of_slices,
    "a class's own state": own_state,
    "a copy of what has its memory elsewhere": copied,
    "blocked, whatever is allowed": (blocked, "whose module posix is blocked"),
    "written without checksums": without_checksums,
    "all by the environment": (forced("TORCH_FORCE_WEIGHTS_ONLY_LOAD", weights_only=False), "Weights only load failed"),
    "not, by the environment": forced("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"),
    "but as the call says": (forced("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", weights_only=True), "Weights only load failed"),
    "written by Python 2, read as bytes": lambda t: t.load(of_python_2(), encoding="bytes", weights_only=False),
    "which form it is": lambda t: t.serialization._is_zipfile(saved(t, 1)),
}


@pytest.mark.parametrize("statement", CHECKPOINTS)
def test_checkpoints(statement: str) -> None:
    check(CHECKPOINTS[statement])


def test_a_damaged_record_is_told() -> None:
    data = bytearray(saved(mindtorch_v2, mindtorch_v2.arange(1000)).getvalue())
    at = data.index(bytes(mindtorch_v2.arange(3).numpy().tobytes()[8:]))
    data[at + 8] ^= 1
    with pytest.raises(RuntimeError, match="Bad CRC-32"):
        mindtorch_v2.load(io.BytesIO(bytes(data)))


# ---------------------------------------------------------------- libraries, and operators without a gradient
def defined_twice(t: Any, end: Callable[[Any], None]) -> Any:
    lib = t.library.Library(fresh_namespace(), "FRAGMENT")
    lib.define("f(Tensor x) -> Tensor")
    end(lib)
    other = t.library.Library(lib.ns, "FRAGMENT")
    return other.define("f(Tensor x) -> Tensor")


def deleted(t: Any) -> bool:
    """What a library holds may be deleted, and it stays."""
    lib = t.library.Library(fresh_namespace(), "FRAGMENT")
    lib.define("f(Tensor x) -> Tensor")
    del lib.m
    return hasattr(getattr(t.ops, lib.ns), "f")


def written(t: Any, mode: str) -> Any:
    """An operator without a gradient changes what requires none, by what does."""
    before = t._C._get_autograd_fallback_mode()
    t._C._set_autograd_fallback_mode(mode)
    lib = t.library.Library(fresh_namespace(), "FRAGMENT")
    try:
        lib.define("f(Tensor(a!) x, Tensor y) -> Tensor(a!)")
        lib.impl("f", lambda x, y: x.detach().add_(y.detach()) is None or x, "CPU")
        y = t.ones(2, requires_grad=True)
        x = getattr(t.ops, lib.ns).f(t.ones(2), y)
        return x.requires_grad, x.tolist()
    finally:
        t._C._set_autograd_fallback_mode(before)
        lib._destroy()


def names(t: Any) -> Any:
    _reduction = importlib.import_module(f"{t.__name__}.nn._reduction")
    return [_reduction.get_enum(word) for word in ("none", "mean", "sum")], _reduction.legacy_get_string(
        None, False, False
    )


def entered(t: Any) -> Any:
    """The modules that run, in both passes."""
    tracker_class = importlib.import_module(f"{t.__name__}.utils.module_tracker").ModuleTracker
    seen = []

    class Looking(t.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = t.nn.Linear(2, 2), t.nn.Sequential(t.nn.Linear(2, 2))

        def forward(self, x: Any) -> Any:
            seen.append((sorted(tracker.parents), tracker.is_bw))
            y = self.first(x)
            y.register_hook(lambda grad: seen.append((sorted(tracker.parents), tracker.is_bw)))
            return self.second(y)

    module = Looking()
    with tracker_class() as tracker:
        module(t.ones(1, 2, requires_grad=True)).sum().backward()
        seen.append((sorted(tracker.parents), tracker.is_bw))
    return seen


def collated(t: Any) -> Any:
    return t.utils.data._utils.collate.default_collate([t.ones(2), t.zeros(2)])


def of_a_named_tuple(t: Any) -> Any:
    pytree = t.utils._pytree
    spec = pytree.tree_structure(Pair(1, 2))
    made = pytree.TreeSpec(collections.namedtuple, Pair, [pytree.tree_structure(0)] * 2)
    return spec == made, spec.type is collections.namedtuple, pytree.tree_unflatten([3, 4], made)


def named_device(t: Any, word: str) -> Any:
    return t.device(word)


def longer_than_told(t: Any, workers: int) -> Any:
    class Numbers(t.utils.data.IterableDataset):  # type: ignore[misc]
        def __iter__(self) -> Any:
            return iter(range(4))

        def __len__(self) -> int:
            return 3

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loader = t.utils.data.DataLoader(Numbers(), batch_size=None, num_workers=workers)
        assert len(loader) == 3
        found = [int(x) for x in loader]
    said = [str(w.message) for w in caught if "samples have been fetched" in str(w.message)]
    return found, loader._auto_collation, len(said), "multiprocessing data-loading" in said[0]


OTHERS: dict[str, Entry] = {
    "longer than told": lambda t: longer_than_told(t, 0),
    "longer than told, by workers": lambda t: longer_than_told(t, 1),
    "the spec of a named tuple": of_a_named_tuple,
    "a library without what it holds": deleted,
    "a library ends by a reset": lambda t: defined_twice(t, lambda lib: lib.m.reset()),
    "written with warnings": lambda t: written(t, "warn"),
    "written without": lambda t: written(t, "nothing"),
    "an assertion": (lambda t: t._assert(t.zeros(1).sum() > 0, "too few"), "too few"),
    "an assertion that holds": lambda t: t._assert(True, "too few"),
    "reductions": names,
    "modules that run": entered,
    "collate": collated,
    "a packet's function": lambda t: (str(t.ops.aten.add.op.__module__), float(t.ops.aten.add.op(t.ones(()), 2))),
    **{
        f"device {word!r}": (functools.partial(named_device, word=word), f"Invalid device string: '{word}'")
        for word in ("not a device", "cuda0", " cpu", "cpu ", ":1", "cpu:")
    },
}


@pytest.mark.parametrize("statement", OTHERS)
def test_others(statement: str) -> None:
    check(OTHERS[statement])


def test_a_dictionary_is_updated_once_all_is_read() -> None:
    class Failing:
        def keys(self) -> Any:
            yield "a"
            raise KeyError("b")

        def __getitem__(self, key: str) -> str:
            return key

    found = WeakIdKeyDictionary()
    with pytest.raises(KeyError):
        found.update(Failing())
    key = Failing()
    found.update([(key, 1)])
    found.update({key: 2})
    assert found[key] == 2
    assert outcome(mindtorch_v2, lambda _: found.update(42)).error is not None
