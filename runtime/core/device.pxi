"""Devices. A device without an index (``npu``) means the current one of its type."""

cdef enum:                     # device codes
    DEVICE_CPU, DEVICE_CUDA, DEVICE_MPS, DEVICE_NPU, DEVICE_META

cdef int64_t MAX_DEVICE_INDEX = 0x7FFFFFFF
cdef tuple DEVICE_TYPES = ("cpu", "cuda", "mps", "npu", "meta")
cdef dict DEVICE_CODES = {name: code for code, name in enumerate(DEVICE_TYPES)}
DEVICE_CODES["privateuseone"] = DEVICE_NPU


@cython.final
cdef class device:
    """``device("npu:1")``, ``device("npu", 1)`` or ``device(other)``; equal by type and index, hashable."""
    cdef readonly int type_code
    cdef readonly int index_code   # -1: no index

    def __cinit__(self, type, index=None):          # not __init__: devices are shared, and never change
        if isinstance(type, device) and index is None:
            self.type_code, self.index_code = (<device>type).type_code, (<device>type).index_code
            return
        if PyLong_Check(type) and not PyBool_Check(type) and index is None:
            type, index = "npu", type       # an int is an index of the accelerator
        if isinstance(type, bytes):
            type = decoded(type)
        if not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' must be str, int or device, not {_type_name(type)}")
        if index is not None:
            check_no_flag(index)
            index = <object>to_int64(index, "device(): argument 'index' (position 2)")
        if not type:
            raise RuntimeError("Device string must not be empty")
        name, colon, number = type.partition(":")
        if colon:
            if index is not None:
                raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {type}")
            if not (number.isascii() and number.isdecimal()) or (number[0] == "0" and number != "0"):
                raise RuntimeError(f"Invalid device string: '{type}'")
            index = int(number)
            if index > MAX_DEVICE_INDEX:
                raise RuntimeError(f"Could not parse device index '{number}' in device string '{type}'")
        if name not in DEVICE_CODES:
            raise RuntimeError(f"Expected one of {', '.join(DEVICE_TYPES)} device type at start of device string: {name}")
        self.type_code = DEVICE_CODES[name]
        self.index_code = -1
        if index is not None:
            self.index_code = <int>checked_index(index)

    @property
    def type(self):
        return DEVICE_TYPES[self.type_code]

    @property
    def index(self):
        return None if self.index_code < 0 else self.index_code

    def __eq__(self, other):
        if not isinstance(other, device):
            return NotImplemented
        return (<device>other).type_code == self.type_code and (<device>other).index_code == self.index_code

    def __hash__(self):
        return self.type_code * 1024 + self.index_code

    def __str__(self):
        return self.type if self.index_code < 0 else f"{self.type}:{self.index_code}"

    def __repr__(self):
        return f"device(type='{self.type}')" if self.index_code < 0 else f"device(type='{self.type}', index={self.index_code})"

    def __reduce__(self):
        return device, (str(self),)


cdef int check_no_flag(object index) except -1:
    if PyBool_Check(index):
        raise TypeError("device(): argument 'index' (position 2) must be an int, not bool")
    return 0


def _type_name(value):
    return type(value).__name__


cdef int64_t checked_index(object index) except -1:
    """An index that a device of some type could have; whether there is one is asked where the device is used."""
    cdef int64_t number = to_int64(index, "device index")
    if number < 0:
        raise RuntimeError(f"Device index must not be negative, got {number}")
    if number > MAX_DEVICE_INDEX:
        raise RuntimeError(f"Device index must be at most {MAX_DEVICE_INDEX}, got {number}")
    return number


cdef device device_cpu = device("cpu"), device_meta = device("meta")
cdef dict interned_devices = {("cpu", -1): device_cpu, ("meta", -1): device_meta}
cdef device default_device_ = device_cpu
cdef object current_npu_index = None     # (): the thread's NPU, once the ACL library is open


cdef device concrete_device(device d):
    """The device a tensor lives on: the CPU and meta have no index, every other has one."""
    cdef int index = d.index_code
    if d.type_code == DEVICE_CPU:
        return device_cpu
    if d.type_code == DEVICE_META:
        return device_meta
    if index < 0:
        index = 0 if current_npu_index is None or d.type_code != DEVICE_NPU else current_npu_index()
    key = (DEVICE_TYPES[d.type_code], index)
    found = interned_devices.get(key)
    if found is None:
        if d.type_code == DEVICE_NPU:
            checked_npu(index)
        found = interned_devices[key] = device(*key)
    return found


cdef device as_device(object value):
    """device, string, index or None (the default device) to a concrete device."""
    if value is None:
        return default_device_
    if isinstance(value, device):
        return concrete_device(<device>value)
    return concrete_device(device(value))


def get_default_device():
    """The device of tensors made without a ``device`` argument; ``cpu`` at start."""
    return default_device_


def set_default_device(device):
    """Sets the device of tensors made without a ``device`` argument; None means ``cpu``."""
    global default_device_
    default_device_ = device_cpu if device is None else as_device(device)
