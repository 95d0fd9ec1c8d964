"""Checkpoints: PyTorch reads what is written here, and the other way round; what is damaged or malicious is refused."""

from __future__ import annotations

import collections
import contextlib
import io
import os
import pickle
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch as pytorch
from hypothesis import given, settings
from hypothesis import strategies as st

import mindtorch_v2 as ours
from mindtorch_v2.serialization import _archive
from tests.runtime.both import agree

pytestmark = pytest.mark.filterwarnings("ignore:Detected pickle protocol")
DTYPES = (
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
    "complex128",
    "uint16", "uint32", "uint64",
)  # fmt: skip
DAMAGED = (RuntimeError, EOFError, pickle.UnpicklingError)


def told(value: Any) -> Any:
    """Everything that two libraries' objects can be compared by."""
    if hasattr(value, "requires_grad") and hasattr(value, "tolist"):
        if value.device.type == "meta":
            return str(value.dtype), tuple(value.shape), tuple(value.stride()), "meta"
        bits = value.detach().contiguous()
        if str(bits.dtype) in ("torch.bfloat16",):
            bits = bits.float()
        flags = value.requires_grad, type(value).__name__, value.storage_offset()
        return str(value.dtype), tuple(value.shape), tuple(value.stride()), bits.numpy().tobytes(), flags
    if isinstance(value, dict):
        return type(value).__name__, {key: told(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [told(item) for item in value]
    return repr(value)


def saved(library: Any, value: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    library.save(value, file, **options)
    return file.getvalue()


def loaded(library: Any, data: bytes, **options: Any) -> Any:
    return library.load(io.BytesIO(data), **options)


def many_things(t: Any) -> dict[str, Any]:
    x = t.arange(6.0).reshape(2, 3)
    return {
        "x": x, "row": x[1], "turned": x.t(), "parameter": t.nn.Parameter(t.ones(2)), "number": t.tensor(3.5),
        "nothing": t.zeros(0, 3), "int": 3, "large": 2**70, "negative": -5, "float": 1.5, "tuple": (1, 2, 3, 4),
        "list": [1, "a", None, True], "dtype": t.float32, "size": t.Size([1, 2]), "device": t.device("cpu"),
        "ordered": collections.OrderedDict(a=1), "set": {1, 2}, "bytes": b"abc", "grad": t.ones(2, requires_grad=True),
        "complex": 1 + 2j, 3: [x[0], {"again": x}], "strided": t.arange(20.0)[3:17:4],
        **{name: t.tensor([0, 1, 1]).to(getattr(t, name)) for name in DTYPES[:12]},
    }  # fmt: skip


WAYS = {"PyTorch reads": (ours, pytorch), "PyTorch wrote": (pytorch, ours), "both": (ours, ours)}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_what_is_saved_is_loaded(way: str, weights_only: bool, zipped: bool, protocol: int) -> None:
    writer, reader = WAYS[way]
    if reader is pytorch and weights_only and protocol > 2:
        pytest.skip("PyTorch does not read its own either")
    value = many_things(writer)
    data = saved(writer, value, pickle_protocol=protocol, _use_new_zipfile_serialization=zipped)
    result = loaded(reader, data, weights_only=weights_only)
    assert told(result) == told(many_things(reader))
    result["x"][1, 0] = 77.0
    assert result["row"][0].item() == result["turned"][0, 1].item() == result[3][1]["again"][1, 0].item() == 77.0


@pytest.mark.parametrize("way", WAYS)
def test_unsigned_integers_and_meta(way: str) -> None:
    writer, reader = WAYS[way]
    value = {name: writer.tensor([0, 1, 250]).to(getattr(writer, name)) for name in DTYPES[12:]}
    value["meta"] = writer.empty(3, 4, device="meta")
    value["parameter of meta"] = writer.nn.Parameter(writer.empty(3, device="meta"))
    assert told(loaded(reader, saved(writer, value))) == told(value)


@st.composite
def tensors(draw: Any) -> Callable[[Any], Any]:
    """A tensor, or several over one memory, as functions of the library."""
    dtype, count = draw(st.sampled_from(DTYPES[:12])), draw(st.integers(0, 40))
    slices = draw(st.lists(st.tuples(st.integers(0, count), st.integers(1, 4)), min_size=1, max_size=4))
    whole = draw(st.booleans())

    def make(t: Any) -> Any:
        base = (t.arange(count) % 2).to(getattr(t, dtype)) if count else t.zeros(0, dtype=getattr(t, dtype))
        return [*([base] if whole else []), *(base[start::step] for start, step in slices)]

    return make


def trees(leaf: Any) -> Any:
    names = st.text(max_size=5) | st.integers(-(2**70), 2**70)
    plain = st.none() | st.booleans() | names | st.floats(allow_nan=False) | st.binary(min_size=1, max_size=300)
    constants = plain.map(lambda value: lambda t: value)
    return st.recursive(
        leaf | constants,
        lambda inner: (
            st.lists(inner, max_size=4).map(lambda fs: lambda t: [f(t) for f in fs])
            | st.lists(inner, max_size=4).map(lambda fs: lambda t: tuple(f(t) for f in fs))
            | st.dictionaries(names, inner, max_size=4).map(lambda d: lambda t: {k: f(t) for k, f in d.items()})
        ),
        max_leaves=8,
    )


@settings(max_examples=150, deadline=None)
@given(trees(tensors()), st.booleans(), st.sampled_from(sorted(WAYS)))
def test_any_tree(make: Callable[[Any], Any], zipped: bool, way: str) -> None:
    writer, reader = WAYS[way]
    data = saved(writer, make(writer), _use_new_zipfile_serialization=zipped)
    assert told(loaded(reader, data)) == told(make(reader))


def test_a_models_state_goes_both_ways(tmp_path: Path) -> None:
    for writer, reader in ((ours, pytorch), (pytorch, ours)):
        model = writer.nn.Sequential(writer.nn.Linear(3, 4), writer.nn.ReLU(), writer.nn.Linear(4, 2))
        optimiser = writer.optim.Adam(model.parameters(), lr=0.1)
        model(writer.ones(5, 3)).sum().backward()
        optimiser.step()
        path = tmp_path / "model.pt"
        writer.save({"model": model.state_dict(), "optimiser": optimiser.state_dict()}, path)
        other = reader.nn.Sequential(reader.nn.Linear(3, 4), reader.nn.ReLU(), reader.nn.Linear(4, 2))
        found = reader.load(path)
        other.load_state_dict(found["model"])
        there = reader.optim.Adam(other.parameters(), lr=0.3)
        there.load_state_dict(found["optimiser"])
        assert [p.tolist() for p in other.parameters()] == [p.tolist() for p in model.parameters()]
        assert there.state_dict()["param_groups"][0]["lr"] == 0.1
        assert (
            there.state_dict()["state"][0]["exp_avg"].tolist() == optimiser.state_dict()["state"][0]["exp_avg"].tolist()
        )


# ---------------------------------------------------------------- files
@pytest.mark.parametrize("form", ["str", "path", "file", "buffer", "write only"])
def test_what_is_written_to(form: str, tmp_path: Path) -> None:
    path = tmp_path / "some.name.pt"
    value = {"x": ours.arange(5.0)}
    if form == "str":
        ours.save(value, str(path))
    elif form == "path":
        ours.save(value, path)
    elif form == "file":
        with path.open("wb") as file:
            ours.save(value, file)
    else:
        buffer = io.BytesIO()
        target = buffer if form == "buffer" else type("Sink", (), {"write": lambda _, data: buffer.write(data)})()
        ours.save(value, target)
        path.write_bytes(buffer.getvalue())
    assert pytorch.load(path)["x"].tolist() == [0, 1, 2, 3, 4]
    folder = "some.name" if form in ("str", "path") else "archive"
    assert all(name.startswith(folder + "/") for name in zipfile.ZipFile(path).namelist())
    for source in (str(path), path, io.BytesIO(path.read_bytes())):
        assert ours.load(source)["x"].tolist() == [0, 1, 2, 3, 4]
    with path.open("rb") as file:
        assert ours.load(file)["x"].tolist() == [0, 1, 2, 3, 4]


def test_records_lie_at_multiples_of_64_bytes(tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    ours.save([ours.ones(n) for n in range(1, 9)], path)
    with path.open("rb") as file:
        archive = _archive.ArchiveReader(file)
        assert [archive.place(f"data/{i}")[0] % 64 for i in range(8)] == [0] * 8


def test_a_file_that_fails_to_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    ours.save(1, path)
    path.chmod(0o640)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        ours.save([ours.ones(3), lambda: None], path)
    assert ours.load(path) == 1
    assert os.listdir(tmp_path) == ["x.pt"]  # noqa: PTH208
    ours.save(2, path)
    assert path.stat().st_mode & 0o777 == 0o640
    link = tmp_path / "link.pt"
    link.symlink_to(path)
    ours.save(3, link)
    assert link.is_symlink()
    assert ours.load(path) == 3


def test_a_process_killed_while_it_saves_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    ours.save("old", path)
    code = f"""
import os, signal
import mindtorch_v2 as torch
from mindtorch_v2.serialization import _archive
write = _archive.ArchiveWriter.write
def killed(self, name, data):
    if name == "data/1":
        os.kill(os.getpid(), signal.SIGKILL)
    write(self, name, data)
_archive.ArchiveWriter.write = killed
torch.save([torch.ones(1000), torch.ones(1000)], {str(path)!r})
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    assert ours.load(path) == "old"


ERRORS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "no such folder": ("Parent directory /nonexistent does not exist", lambda t: t.save(1, "/nonexistent/x")),
    "no such file": ("No such file", lambda t: t.load("/nonexistent/x")),
    "nothing to write to": ("expected 'f' to be string, path, or a file-like object", lambda t: t.save(1, 3)),
    "nothing to read from": ("You can only torch.load from a file that is seekable", lambda t: t.load(3)),
    "an empty file": ("", lambda t: t.load(io.BytesIO(b""))),
    "another pickle": ("Invalid magic number; corrupt file?", lambda t: t.load(io.BytesIO(pickle.dumps(3, 2)))),
    "half of a file": ("failed finding central directory", lambda t: t.load(io.BytesIO(saved(t, t.ones(9))[:300]))),
    "a buffer to map": ("f must be a file path", lambda t: t.load(io.BytesIO(saved(t, 1)), mmap=True)),
    "a module of one's own": (
        "Can not safely load weights", lambda t: t.load(io.BytesIO(), weights_only=True, pickle_module=pickle)),
    "one memory as two types": ("view the same data as different types", lambda t: saved(t, of_two_types(t))),
    "what is not allowed": ("Weights only load failed", lambda t: loaded(t, saved(t, Path("x")))),
}  # fmt: skip


def of_two_types(torch: Any) -> Any:
    x = torch.ones(4)
    return [x, torch.zeros(0, dtype=torch.int32).set_(x.untyped_storage(), 0, (4,), (1,))]


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    quoted, case = ERRORS[name]
    agree(case, quoted)


def small_file(zipped: bool = True) -> bytes:
    return saved(ours, {"a": ours.arange(4.0), "b": [ours.ones(2), "text", 5]}, _use_new_zipfile_serialization=zipped)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_a_file_that_is_cut_off_is_damaged(at: int, zipped: bool) -> None:
    data = small_file(zipped)
    with pytest.raises(DAMAGED):
        loaded(ours, data[: at % len(data)])


@settings(max_examples=500, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 255), st.booleans())
def test_a_file_with_another_byte_is_damaged_or_loaded(at: int, byte: int, zipped: bool) -> None:
    data = bytearray(small_file(zipped))
    data[at % len(data)] = byte
    with contextlib.suppress(*DAMAGED, ValueError):  # ValueError: an order of bytes that there is not, as in PyTorch
        loaded(ours, bytes(data))


def test_a_flipped_number_is_noticed_by_its_checksum() -> None:
    data = bytearray(saved(ours, ours.full((50,), 2.0)))
    data[data.index(b"\x00\x00\x00@" * 20) + 8] ^= 1
    with pytest.raises(RuntimeError, match="failed reading file data/0"):
        loaded(ours, bytes(data))


# ---------------------------------------------------------------- what a file may call
class Malicious:
    """Pickles as a call of anything."""

    def __init__(self, function: Any, *args: Any) -> None:
        self.function, self.args = function, args

    def __reduce__(self) -> Any:
        return self.function, self.args


CALLS: dict[str, Any] = {
    "the shell": (os.system, "touch {path}"),
    "eval": (eval, "open({path!r}, 'w')"),
    "exec": (exec, "open({path!r}, 'w')"),
    "a file": (open, "{path}", "w"),
    "an attribute": (getattr, "text", "upper"),
    "a module": (__import__, "antigravity"),
    "a class": (Path, "{path}"),
    "a process": (subprocess.call, ["touch", "{path}"]),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("zipped", [True, False])
def test_calls_are_refused(name: str, zipped: bool, tmp_path: Path) -> None:
    made = str(tmp_path / "made")
    function, *args = CALLS[name]
    given_args = [a.format(path=made) if isinstance(a, str) else a for a in args]
    data = saved(pytorch, Malicious(function, *given_args), _use_new_zipfile_serialization=zipped)
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        loaded(ours, data)
    assert not Path(made).exists()


def with_pickle(text: bytes, storage: bytes = b"") -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", text)
        archive.writestr("archive/byteorder", "little")
        archive.writestr("archive/data/0", storage)
        archive.writestr("archive/version", "3\n")
    return file.getvalue()


def tensor_of(offset: int, size: tuple[int, ...], stride: tuple[int, ...], count: int = 2) -> bytes:
    class Writer(pickle._Pickler):  # type: ignore[misc, name-defined]
        def persistent_id(self, obj: Any) -> Any:
            return ("storage", pytorch.FloatStorage, "0", "cpu", count) if obj == "storage!" else None

    text = io.BytesIO()
    args = ("storage!", offset, size, stride, False, collections.OrderedDict())
    Writer(text, 2).dump(Malicious(pytorch._utils._rebuild_tensor_v2, *args))
    return with_pickle(text.getvalue(), b"\0" * 8)


@pytest.mark.parametrize(
    "data",
    [
        tensor_of(0, (3,), (1,)), tensor_of(1, (2,), (1,)), tensor_of(-1, (1,), (1,)), tensor_of(0, (2,), (-1,)),
        tensor_of(0, (-2,), (1,)), tensor_of(0, (2**40, 2**40), (1, 1)), tensor_of(2**62, (1,), (1,)),
        tensor_of(0, (2, 2), (2**62, 2**62)), tensor_of(0, (2,), (1,), count=3), tensor_of(0, (2,), (1,), count=2**61),
        tensor_of(0, (2,), (1,), count=-1),
        with_pickle(b"\x80\x02X\xff\xff\xff\xffabc."), with_pickle(b"\x80\x02(tQ."), with_pickle(b"\x80\x02K\x01Q."),
        with_pickle(b"\x80\x02R."), with_pickle(b"\x80\x02."), with_pickle(b"\x80\x02h\x05."),
        with_pickle(b"\x80\x02}K\x01a."),
        with_pickle(b"\x80\x02cos\nsystem\n."), with_pickle(b"\x80\x02\x82\x01."), with_pickle(b"cbuiltins\neval\n."),
        with_pickle(b"\x80\x02cbuiltins\nbytearray\n\x8a\x06\0\0\0\0\0\x01\x85R."),
        with_pickle(b"\x80\x02c_codecs\nencode\nX\x01\0\0\0aX\x04\0\0\0zlib\x86R."),
    ],
)  # fmt: skip
def test_made_up_files_are_refused(data: bytes) -> None:
    with pytest.raises(DAMAGED):
        loaded(ours, data)


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_as_a_pickle(text: bytes) -> None:
    with contextlib.suppress(*DAMAGED):
        loaded(ours, with_pickle(b"\x80\x02" + text + b"."))


class Own:
    """What a test allows."""

    def __init__(self, x: int = 0) -> None:
        self.x = x

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Own) and other.x == self.x

    __hash__ = None  # type: ignore[assignment]


@pytest.fixture
def nothing_allowed() -> Iterator[None]:
    ours.serialization.clear_safe_globals()
    yield
    ours.serialization.clear_safe_globals()


@pytest.mark.usefixtures("nothing_allowed")
def test_classes_are_allowed() -> None:
    s = ours.serialization
    data = saved(ours, {"own": Own(3)})
    name = f"{Own.__module__}.Own"
    assert s.get_unsafe_globals_in_checkpoint(io.BytesIO(data)) == [name]
    with pytest.raises(
        pickle.UnpicklingError, match=rf"GLOBAL {name} was not an allowed global.*add_safe_globals\(\[Own\]\)"
    ):
        loaded(ours, data)
    with s.safe_globals([Own]):
        assert loaded(ours, data) == {"own": Own(3)}
        assert s.get_unsafe_globals_in_checkpoint(io.BytesIO(data)) == []
    assert s.get_safe_globals() == []
    s.add_safe_globals([(Own, name)])
    assert loaded(ours, data) == {"own": Own(3)}
    s.clear_safe_globals()
    assert loaded(ours, data, weights_only=False) == {"own": Own(3)}
    with pytest.raises(ValueError, match="Expected tuple"):
        s.add_safe_globals([(Own, 3)])


# ---------------------------------------------------------------- places
def test_map_location(tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    ours.save([ours.arange(4.0, device="npu"), ours.arange(3.0)], path)
    there, here = ours.load(path)
    assert (str(there.device), str(here.device)) == ("npu:0", "cpu")
    assert there.tolist() == [0, 1, 2, 3]
    for place in ("cpu", ours.device("cpu"), {"npu:0": "cpu"}, lambda storage, location: storage):
        assert [str(t.device) for t in ours.load(path, map_location=place)] == ["cpu", "cpu"]
    assert [str(t.device) for t in ours.load(path, map_location="npu")] == ["npu:0", "npu:0"]
    assert [str(t.device) for t in ours.load(path, map_location=lambda s, location: None)] == ["npu:0", "cpu"]
    assert [t.is_meta for t in ours.load(path, map_location="meta")] == [True, True]
    assert [t.tolist() for t in pytorch.load(path, map_location="cpu")] == [[0, 1, 2, 3], [0, 1, 2]]
    x = ours.arange(6.0, device="npu")
    whole, part = loaded(ours, saved(ours, [x, x[2:]]))
    whole.fill_(7)
    assert part.tolist() == [7] * 4


def test_a_gpus_checkpoint_says_what_to_do() -> None:
    data = saved(pytorch, pytorch.ones(3)).replace(b"X\x03\0\0\0cpu", b"X\x06\0\0\0cuda:0")
    text = zipfile.ZipFile(io.BytesIO(saved(pytorch, pytorch.ones(1)))).read("archive/data.pkl")
    data = with_pickle(text.replace(b"X\x03\0\0\0cpu", b"X\x06\0\0\0cuda:0"), b"\0\0\x80?")
    with pytest.raises(RuntimeError, match=r"map_location=torch.device\('cpu'\)"):
        loaded(ours, data)
    assert loaded(ours, data, map_location="cpu").tolist() == [1.0]


# ---------------------------------------------------------------- memory
@pytest.mark.parametrize("writer", [ours, pytorch])
def test_storages_are_mapped(writer: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    x = writer.arange(100_000.0)
    writer.save({"x": x, "tail": x[50_000:], "small": writer.ones(3, dtype=writer.int8)}, path)
    before = path.read_bytes()
    found = ours.load(path, mmap=True)
    assert found["x"].tolist() == x.tolist()
    lines = [line for line in Path("/proc/self/maps").read_text().splitlines() if line.endswith(str(path))]
    ranges = [tuple(int(end, 16) for end in line.split()[0].split("-")) for line in lines]
    assert any(start <= found["x"].data_ptr() < end for start, end in ranges)
    found["x"].fill_(3)
    assert found["tail"].tolist() == [3.0] * 50_000
    assert path.read_bytes() == before
    writer.save(1, path, _use_new_zipfile_serialization=False)
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        ours.load(path, mmap=True)


def test_storages_over_files(tmp_path: Path) -> None:
    path = tmp_path / "bytes"
    path.write_bytes(bytes(range(100)))
    private = ours.UntypedStorage.from_file(str(path), False, 100)
    x = ours.asarray(private, dtype=ours.uint8)
    assert x.tolist() == list(range(100))
    assert private[3] == 3
    assert ours.asarray(private[10:20]).tolist() == list(range(10, 20))
    x.fill_(9)
    assert path.read_bytes() == bytes(range(100))
    shared = ours.UntypedStorage.from_file(path, shared=True, nbytes=200)
    ours.asarray(shared).fill_(5)
    assert path.read_bytes() == b"\5" * 200
    with pytest.raises(RuntimeError, match="unable to map 1000 bytes"):
        ours.UntypedStorage.from_file(path, False, 1000)
    with pytest.raises(FileNotFoundError):
        ours.UntypedStorage.from_file(tmp_path / "none", False, 1)


def in_big_endian(value: Any) -> bytes:
    """A checkpoint as a machine of the other order of bytes writes it."""
    source = zipfile.ZipFile(io.BytesIO(saved(pytorch, value)))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in source.namelist():
            data = source.read(name)
            if "/data/" in name:
                data = value.numpy().astype(value.numpy().dtype.newbyteorder(">")).tobytes()
            archive.writestr(name, b"big" if name.endswith("byteorder") else data)
    return file.getvalue()


@pytest.mark.parametrize("dtype", ["int16", "float32", "float64", "complex64", "bool"])
def test_the_other_order_of_bytes(dtype: str) -> None:
    value = pytorch.tensor([1, 2, 3]).to(getattr(pytorch, dtype))
    data = in_big_endian(value)
    assert loaded(ours, data).tolist() == value.tolist()
    assert loaded(pytorch, data).tolist() == value.tolist()


def test_a_file_that_does_not_say_its_order_of_bytes() -> None:
    s = ours.serialization
    data = saved(ours, ours.tensor([1, 2], dtype=ours.int16), _disable_byteorder_record=True)
    assert loaded(ours, data).tolist() == [1, 2]
    s.set_default_load_endianness(s.LoadEndianness.BIG)
    try:
        assert loaded(ours, data).tolist() == [256, 512]
    finally:
        s.set_default_load_endianness(None)


# ---------------------------------------------------------------- Python's own copies
def test_pickles_keep_what_tensors_share() -> None:
    x = ours.arange(6.0)
    tagged = ours.ones(2)
    tagged.note = "kept"
    a, row, turned, again = pickle.loads(pickle.dumps([x, x[2:4], x.reshape(2, 3).t(), tagged]))
    a.fill_(9)
    assert row.tolist() == [9, 9]
    assert turned.tolist() == [[9, 9]] * 3
    assert again.note == "kept"
    meta = pickle.loads(pickle.dumps(ours.empty(3, 4, device="meta")))
    assert (meta.is_meta, tuple(meta.shape)) == (True, (3, 4))
    there = pickle.loads(pickle.dumps(ours.arange(3.0, device="npu")))
    assert (str(there.device), there.tolist()) == ("npu:0", [0, 1, 2])


# ---------------------------------------------------------------- safetensors
SAFE = """
import sys
import mindtorch_v2
sys.modules["torch"] = mindtorch_v2
import torch
from safetensors import safe_open
with safe_open(sys.argv[1], framework="pt") as file:
    assert sorted(file.keys()) == ["a", "b", "h"]
    a = file.get_tensor("a")
    assert isinstance(a, mindtorch_v2.Tensor)
    assert a.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert file.get_slice("a")[:, 1:].tolist() == [[1.0, 2.0], [4.0, 5.0]]
    assert file.get_tensor("h").dtype is torch.bfloat16
    assert file.get_tensor("b").tolist() == [0, 1, 2]
with safe_open(sys.argv[1], framework="pt", device="npu:0") as file:
    assert str(file.get_tensor("a").device) == "npu:0"
"""


def test_safetensors_under_the_name_torch(tmp_path: Path) -> None:
    save_file = pytest.importorskip("safetensors.torch").save_file
    path = tmp_path / "x.safetensors"
    save_file(
        {"a": pytorch.arange(6.0).reshape(2, 3), "b": pytorch.arange(3), "h": pytorch.ones(2, dtype=pytorch.bfloat16)},
        path,
    )
    subprocess.run([sys.executable, "-c", SAFE, str(path)], check=True, timeout=120)


SAVED = """
import sys
import mindtorch_v2
sys.modules["torch"] = mindtorch_v2
import torch
from safetensors.torch import load_file, save_file
x = torch.arange(6.0).reshape(2, 3)
save_file({"x": x, "h": torch.ones(2, dtype=torch.bfloat16)}, sys.argv[1])
found = load_file(sys.argv[1])
assert isinstance(found["x"], mindtorch_v2.Tensor)
assert found["x"].tolist() == x.tolist()
assert found["h"].dtype is torch.bfloat16
"""


def test_safetensors_are_saved_under_the_name_torch(tmp_path: Path) -> None:
    load_file = pytest.importorskip("safetensors.torch").load_file
    path = tmp_path / "x.safetensors"
    subprocess.run([sys.executable, "-c", SAVED, str(path)], check=True, timeout=120)
    found = load_file(path)
    assert found["x"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert found["h"].dtype is pytorch.bfloat16


def test_safetensors_of_arrays(tmp_path: Path) -> None:
    numpy = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "x.safetensors"
    numpy.save_file({"a": ours.arange(6.0).reshape(2, 3).numpy()}, path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {name: ours.from_numpy(array) for name, array in numpy.load_file(path).items()}
    assert found["a"].tolist() == [[0, 1, 2], [3, 4, 5]]
