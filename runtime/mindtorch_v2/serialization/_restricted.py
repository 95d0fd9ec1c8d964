"""A reader of pickles that makes nothing but weights: it calls what is allowed, and knows no other way to call.

The operations are those of the pickle machine (PEP 3154, `pickletools`). Whatever a file says, no module is imported,
no attribute is looked up, and no function is called that is not in the table of what is allowed.
"""

from __future__ import annotations

import collections
import pickle
import struct
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from .._core import Tensor
from ..nn.parameter import Parameter

__all__ = ["load_weights"]

_BLOCKED = ("sys", "os", "posix", "nt")


class _Mark:
    """Where a tuple, a list or a dict began."""


_MARK = _Mark()


class _Reader:
    def __init__(
        self,
        data: bytes,
        allowed: Mapping[str, Any],
        users: Mapping[str, Any],
        storage_of: Callable[[Any], Any],
        encoding: str,
        at: int,
    ) -> None:
        self.data, self.at = data, at
        self.allowed, self.users = allowed, users
        self.storage_of, self.encoding = storage_of, encoding
        self.callables = {id(value) for value in (*allowed.values(), *users.values())}
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    # ---- bytes
    def take(self, count: int) -> bytes:
        end = self.at + count
        if count < 0 or end > len(self.data):
            raise EOFError("pickle data was truncated")
        part = self.data[self.at : end]
        self.at = end
        return part

    def line(self) -> str:
        end = self.data.find(b"\n", self.at)
        if end < 0:
            raise EOFError("pickle data was truncated")
        part = self.data[self.at : end]
        self.at = end + 1
        return part.decode("utf-8")

    def number(self, form: str) -> Any:
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    # ---- the stack
    def pop(self) -> Any:
        if not self.stack:
            raise pickle.UnpicklingError("the stack is empty: the file is damaged")
        return self.stack.pop()

    def to_mark(self) -> list[Any]:
        at = len(self.stack) - 1
        while at >= 0 and self.stack[at] is not _MARK:
            at -= 1
        if at < 0:
            raise pickle.UnpicklingError("there is no mark on the stack: the file is damaged")
        items = self.stack[at + 1 :]
        del self.stack[at:]
        return items

    def top(self) -> Any:
        if not self.stack:
            raise pickle.UnpicklingError("the stack is empty: the file is damaged")
        return self.stack[-1]

    def put(self, key: int) -> None:
        self.memo[key] = self.top()

    def get(self, key: int) -> None:
        if key not in self.memo:
            raise pickle.UnpicklingError(f"nothing was kept under {key}: the file is damaged")
        self.stack.append(self.memo[key])

    # ---- what is allowed
    def find(self, module: str, name: str) -> Any:
        full = f"{module}.{name}"
        if module in _BLOCKED or module.split(".")[0] in _BLOCKED:
            raise pickle.UnpicklingError(f"Trying to load unsupported GLOBAL {full} whose module {module} is blocked.")
        if full in self.users:
            return self.users[full]
        if full not in self.allowed:
            raise pickle.UnpicklingError(
                f"Unsupported global: GLOBAL {full} was not an allowed global by default. Please use "
                f"`torch.serialization.add_safe_globals([{name}])` or the `torch.serialization.safe_globals([{name}])` "
                "context manager to allowlist this global if you trust this class/function."
            )
        return self.allowed[full]

    def call(self, function: Any, args: Any) -> Any:
        if type(args) is not tuple:
            raise pickle.UnpicklingError(f"expected a tuple of arguments, got {type(args).__name__}")
        if id(function) not in self.callables:
            raise pickle.UnpicklingError(f"Trying to call reduce for unrecognized function {function!r}")
        return function(*args)

    def new(self, kind: Any, args: Any) -> Any:
        if type(args) is not tuple:
            raise pickle.UnpicklingError(f"expected a tuple of arguments, got {type(args).__name__}")
        if kind is Parameter:
            return Parameter(*args)
        if isinstance(kind, type) and (id(kind) in map(id, self.users.values()) or kind in _PLAIN):
            return kind.__new__(kind, *args)
        raise pickle.UnpicklingError(f"Trying to create new object for unrecognized class {kind!r}")

    def build(self, made: Any, state: Any) -> None:
        kind = type(made)
        if kind is Tensor:
            made.set_(*state)
        elif kind is Parameter:
            made.__dict__.update(state[0] if isinstance(state, tuple) else state)
        elif kind is collections.OrderedDict:
            made.__dict__.update(state)
        elif kind in self.users.values():
            _set_state(made, state)
        else:
            raise pickle.UnpicklingError(
                "Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, but got "
                f"{kind}"
            )

    def persistent(self, name: Any) -> Any:
        if type(name) is not tuple:
            raise pickle.UnpicklingError(f"persistent_load id must be tuple or int, but got {type(name)}")
        if not name or _text(name[0]) != "storage":
            raise pickle.UnpicklingError(
                f"Only persistent_load of storage is allowed, but got {name[0] if name else name!r}"
            )
        return self.storage_of(name)

    # ---- containers
    def append(self, items: list[Any]) -> None:
        target = self.top()
        if type(target) is not list:
            raise pickle.UnpicklingError(f"Can only append to lists, but got {type(target)}")
        target.extend(items)

    def set_items(self, items: list[Any]) -> None:
        target = self.top()
        if not isinstance(target, dict) or len(items) % 2:
            raise pickle.UnpicklingError(f"Can only set items of dicts, in pairs, but got {type(target)}")
        for key, value in zip(items[::2], items[1::2], strict=True):
            target[key] = value

    def add(self, items: list[Any]) -> None:
        target = self.top()
        if type(target) is not set:
            raise pickle.UnpicklingError(f"Can only add to sets, but got {type(target)}")
        target.update(items)

    def run(self) -> Any:
        while True:
            code = self.take(1)
            if code == b".":
                return self.pop()
            step = _STEPS.get(code)
            if step is None:
                raise pickle.UnpicklingError(f"Unsupported operand {code[0]}")
            step(self)

    def protocol(self) -> None:
        version = self.number("<B")
        if not 2 <= version <= 5:
            raise pickle.UnpicklingError(f"unsupported pickle protocol: {version}")
        if version != 2:
            warnings.warn(
                f"Detected pickle protocol {version} in the checkpoint, which was not the default pickle protocol used "
                "by `torch.load` (2). The weights_only Unpickler might not support all instructions implemented by "
                "this protocol.",
                stacklevel=6,
            )

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def global_from_stack(self) -> None:
        name, module = self.pop(), self.pop()
        if type(name) is not str or type(module) is not str:
            raise pickle.UnpicklingError("the name of a global must be text: the file is damaged")
        self.push(self.find(module, name))

    def reduce(self) -> None:
        args, function = self.pop(), self.pop()
        self.push(self.call(function, args))

    def create(self) -> None:
        args, kind = self.pop(), self.pop()
        self.push(self.new(kind, args))

    def set_state(self) -> None:
        state = self.pop()
        self.build(self.top(), state)

    def set_item(self) -> None:
        value, key = self.pop(), self.pop()
        self.set_items([key, value])

    def tuple_of(self, count: int) -> None:
        items = [self.pop() for _ in range(count)]
        self.push(tuple(reversed(items)))

    def text(self, count: int) -> None:
        self.push(self.take(count).decode("utf-8", "surrogatepass"))

    def old_text(self, count: int) -> None:
        raw = self.take(count)
        self.push(raw if self.encoding == "bytes" else raw.decode(self.encoding))


def _set_state(made: Any, state: Any) -> None:
    given = getattr(made, "__setstate__", None)
    if given is not None:
        given(state)
        return
    attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    if attributes:
        made.__dict__.update(attributes)
    for name, value in (slots or {}).items():
        setattr(made, name, value)


def _text(value: Any) -> Any:
    return value.decode("ascii", "replace") if isinstance(value, bytes) else value


_PLAIN = (set, bytearray, complex, collections.OrderedDict, collections.Counter)

Step = Callable[[_Reader], Any]
_STEPS: dict[bytes, Step] = {
    pickle.PROTO: _Reader.protocol,
    pickle.FRAME: lambda r: r.take(8),
    pickle.GLOBAL: lambda r: r.push(r.find(r.line(), r.line())),
    pickle.STACK_GLOBAL: _Reader.global_from_stack,
    pickle.REDUCE: _Reader.reduce,
    pickle.NEWOBJ: _Reader.create,
    pickle.BUILD: _Reader.set_state,
    pickle.BINPERSID: lambda r: r.push(r.persistent(r.pop())),
    pickle.MARK: lambda r: r.push(_MARK),
    pickle.POP: lambda r: r.pop(),
    pickle.NONE: lambda r: r.push(None),
    pickle.NEWTRUE: lambda r: r.push(True),
    pickle.NEWFALSE: lambda r: r.push(False),
    pickle.BININT: lambda r: r.push(r.number("<i")),
    pickle.BININT1: lambda r: r.push(r.number("<B")),
    pickle.BININT2: lambda r: r.push(r.number("<H")),
    pickle.LONG1: lambda r: r.push(int.from_bytes(r.take(r.number("<B")), "little", signed=True)),
    pickle.BINFLOAT: lambda r: r.push(r.number(">d")),
    pickle.BINUNICODE: lambda r: r.text(r.number("<I")),
    pickle.SHORT_BINUNICODE: lambda r: r.text(r.number("<B")),
    pickle.BINUNICODE8: lambda r: r.text(r.number("<Q")),
    pickle.SHORT_BINSTRING: lambda r: r.old_text(r.number("<B")),
    pickle.BINBYTES: lambda r: r.push(r.take(r.number("<I"))),
    pickle.SHORT_BINBYTES: lambda r: r.push(r.take(r.number("<B"))),
    pickle.BINBYTES8: lambda r: r.push(r.take(r.number("<Q"))),
    pickle.EMPTY_TUPLE: lambda r: r.push(()),
    pickle.TUPLE: lambda r: r.push(tuple(r.to_mark())),
    pickle.TUPLE1: lambda r: r.tuple_of(1),
    pickle.TUPLE2: lambda r: r.tuple_of(2),
    pickle.TUPLE3: lambda r: r.tuple_of(3),
    pickle.EMPTY_LIST: lambda r: r.push([]),
    pickle.APPEND: lambda r: r.append([r.pop()]),
    pickle.APPENDS: lambda r: r.append(r.to_mark()),
    pickle.EMPTY_DICT: lambda r: r.push({}),
    pickle.SETITEM: _Reader.set_item,
    pickle.SETITEMS: lambda r: r.set_items(r.to_mark()),
    pickle.EMPTY_SET: lambda r: r.push(set()),
    pickle.ADDITEMS: lambda r: r.add(r.to_mark()),
    pickle.BINGET: lambda r: r.get(r.number("<B")),
    pickle.LONG_BINGET: lambda r: r.get(r.number("<I")),
    pickle.BINPUT: lambda r: r.put(r.number("<B")),
    pickle.LONG_BINPUT: lambda r: r.put(r.number("<I")),
    pickle.MEMOIZE: lambda r: r.put(len(r.memo)),
}


def load_weights(
    data: bytes,
    allowed: Mapping[str, Any],
    users: Mapping[str, Any],
    storage_of: Callable[[Any], Any],
    encoding: str = "utf-8",
    at: int = 0,
) -> tuple[Any, int]:
    """The object that a pickle holds, which starts at ``at``, and where the pickle ends.

    ``allowed`` and ``users`` say what may be called, by full names; ``storage_of`` makes a storage of what names it.
    Raises pickle.UnpicklingError for what is not allowed, EOFError where the data ends before the pickle does.
    """
    reader = _Reader(data, allowed, users, storage_of, encoding, at)
    return reader.run(), reader.at
