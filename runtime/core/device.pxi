"""Devices. A device without an index (``npu``) means the current one of its type."""

cdef int64_t MAX_DEVICE_INDEX = 0x7FFFFFFF


@cython.final
cdef class DeviceType:
    """What the core knows of a device type; `mindtorch_v2.backends` fills the table of them."""
    cdef readonly str name
    cdef readonly bint indexed             # there may be several of them, and a tensor is on one
    cdef readonly object backend           # the `Backend` that says it
    cdef object current                    # (): the index of the thread's; None: it is 0
    cdef object check_index                # (index): raises where there can be no such device; None: any index
    cdef object start                      # (): opens the device, which sets `allocator`; None: there is nothing to open
    cdef Allocator allocator               # None: not opened, or no memory


cdef object FROM_CODES = object()      # stands for no device: the codes are set afterwards
cdef list device_types = [None] * (KEY_META + 1)     # by their backends' keys
cdef dict device_codes = {}                          # name -> key


def register_device(backend not None):
    """Puts a `Backend` into the table of device types, for good; `backends.register` checks that it fits there."""
    cdef DeviceType made = DeviceType.__new__(DeviceType)
    cdef int code = key_from_name(backend.key)
    made.name, made.indexed, made.backend = backend.name, backend.indexed, backend
    made.current, made.check_index, made.start = backend.current_device, backend.check_index, backend.start
    if code == KEY_CPU:
        made.allocator = cpu_allocator
    elif backend.memory is not None:
        made.allocator = PythonAllocator(backend.memory.allocate, backend.memory.free)
    device_types[code] = made
    device_codes[backend.name] = code


def devices():
    """The backends of all device types, in the order of their keys."""
    return [(<DeviceType>found).backend for found in device_types if found is not None]


def backend_of(where):
    """The `Backend` of a device, or of a device type by name. Raises RuntimeError for an unknown one."""
    cdef device d = where if isinstance(where, device) else device(where)
    return type_of(d.type_code).backend


def device_code(str name not None):
    """The number by which programs know a device type."""
    return device_codes[name]


cdef inline DeviceType type_of(int code):
    return <DeviceType>device_types[code]


cdef int set_allocator(int key, Allocator allocator) except -1:
    """Where memory of a device type comes from, from now on."""
    type_of(key).allocator = allocator
    return 0


def take_private_use1():
    """From now on the names PrivateUse1 and ``privateuseone`` are those of a backend of its own, no longer the NPU's."""
    global private_use1
    private_use1 = KEY_PRIVATE1
    name_backend(KEY_PRIVATE1, "PrivateUse1")


def private_use1_key():
    """The first name of the key that PrivateUse1 names."""
    return KEY_NAMES[private_use1]


@cython.final
cdef class device:
    """``device("npu:1")``, ``device("npu", 1)`` or ``device(other)``; equal by type and index, hashable."""

    def __cinit__(self, type, index=None):          # not __init__: devices are shared, and never change
        if type is FROM_CODES:
            return
        if isinstance(type, device) and index is None:
            self.type_code, self.index_code = (<device>type).type_code, (<device>type).index_code
            return
        if PyLong_Check(type) and not PyBool_Check(type) and index is None:
            type, index = "privateuseone", type       # an int is an index of the accelerator
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
        if not (name.isascii() and name.replace("_", "a").isalpha()):
            raise RuntimeError(f"Invalid device string: '{type}'")
        code = private_use1 if name == "privateuseone" else device_codes.get(name, KEY_UNDEFINED)
        if device_types[code] is None:
            known = ", ".join([(<DeviceType>found).name for found in device_types if found is not None])
            raise RuntimeError(f"Expected one of {known} device type at start of device string: {name}")
        self.type_code = code
        self.index_code = -1
        if index is not None:
            self.index_code = <int>checked_index(index)

    @property
    def type(self):
        return type_of(self.type_code).name

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

    def __enter__(self):
        """As a context it is the thread's default device."""
        cdef list outside = entered.__dict__.setdefault("outside", [])
        outside.append(None if mt_state.default_device == NULL else <object>mt_state.default_device)
        set_default_device(self)
        return self

    def __exit__(self, *_):
        cdef list outside = entered.__dict__.get("outside")
        if not outside:
            raise RuntimeError("device.__exit__(): the device was not entered on this thread")
        set_default_device(outside.pop())


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


cdef device device_from_codes(int code, int index):
    cdef device d = device.__new__(device, FROM_CODES)
    d.type_code, d.index_code = code, index
    return d


cdef device device_cpu = device_from_codes(KEY_CPU, -1), device_meta = device_from_codes(KEY_META, -1)
cdef dict interned_devices = {(KEY_CPU, -1): device_cpu, (KEY_META, -1): device_meta}
cdef dict default_devices = {}         # each that was ever a thread's default, by type and index
cdef object entered = threading.local()     # .outside: for each device that the thread has entered, the default before it


cdef device concrete_device(device d):
    """The device a tensor lives on: the CPU and meta have no index, every other has one."""
    cdef int index = d.index_code
    cdef DeviceType kind
    if d.type_code == KEY_CPU:
        return device_cpu
    if d.type_code == KEY_META:
        return device_meta
    kind = type_of(d.type_code)
    if not kind.indexed:
        index = -1
    elif index < 0:
        index = 0 if kind.current is None else kind.current()
    key = (d.type_code, index)
    found = interned_devices.get(key)
    if found is None:
        if kind.check_index is not None:
            kind.check_index(index)
        # Tensors' devices are compared by pointer, and `check_index` may let another thread in.
        found = interned_devices.setdefault(key, device_from_codes(d.type_code, index))
    return found


cdef device device_at(int code, int index):
    """The device of a type's number and an index, as tensors have it."""
    return concrete_device(device_from_codes(code, index))


def concrete(device d not None):
    """The device that a tensor made there lives on: with the current index where it has none."""
    return concrete_device(d)


cdef device as_device(object value):
    """device, string, index or None (the default device) to a concrete device."""
    if value is None:
        return default_device()
    return concrete_device(read_device(value))


cdef device read_device(object value):
    return <device>value if isinstance(value, device) else device(value)


cdef device default_device():
    if mt_state.default_device == NULL:
        return device_cpu
    return concrete_device(<device>mt_state.default_device)


def get_default_device():
    """The device of tensors that this thread makes without a ``device`` argument; ``cpu`` at start."""
    return default_device()


def set_default_device(device):
    """Sets the device of tensors that this thread makes without a ``device`` argument; None means ``cpu``.

    One without an index means the current one of its type when a tensor is made.
    """
    if device is None or as_device(device) is device_cpu:
        mt_state.default_device = NULL
        return
    made = read_device(device)
    made = default_devices.setdefault((made.type, made.index), made)
    mt_state.default_device = <void*><PyObject*>made
