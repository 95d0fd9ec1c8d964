# cython: language_level=3, boundscheck=False, binding=False, cdivision=True, initializedcheck=False
# cython: nonecheck=False, auto_pickle=False, embedsignature=True, embedsignature.format=clinic
"""Tensors in memory that another library has, and ours for another: capsules of DLPack (dmlc/dlpack, dlpack.h).

A capsule that is given away is of the form without a version, which every reader of the protocol takes; both forms are read.
"""
from cpython.pycapsule cimport (
    PyCapsule_Destructor, PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_New, PyCapsule_SetName,
)
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport free, malloc

from mindtorch_v2._core cimport Tensor

from mindtorch_v2._core import dtypes, from_buffer

cdef extern from "cpython_glue.h":      # for tracebacks without frames of the core
    pass

cdef extern from *:
    """
    typedef struct { int32_t device_type, device_id; } mt_dl_device;
    typedef struct { uint8_t code, bits; uint16_t lanes; } mt_dl_dtype;
    typedef struct {
      void* data; mt_dl_device device; int32_t ndim; mt_dl_dtype dtype; int64_t *shape, *strides; uint64_t byte_offset;
    } mt_dl_tensor;
    typedef struct mt_dl_managed {
      mt_dl_tensor tensor; void* context; void (*deleter)(struct mt_dl_managed*);
    } mt_dl_managed;
    typedef struct mt_dl_versioned {
      uint32_t major, minor; void* context; void (*deleter)(struct mt_dl_versioned*); uint64_t flags; mt_dl_tensor tensor;
    } mt_dl_versioned;
    """
    ctypedef struct mt_dl_device:
        int32_t device_type, device_id
    ctypedef struct mt_dl_dtype:
        uint8_t code, bits
        uint16_t lanes
    ctypedef struct mt_dl_tensor:
        void* data
        mt_dl_device device
        int32_t ndim
        mt_dl_dtype dtype
        int64_t* shape
        int64_t* strides
        uint64_t byte_offset
    ctypedef struct mt_dl_managed:
        mt_dl_tensor tensor
        void* context
        void (*deleter)(mt_dl_managed*) noexcept
    ctypedef struct mt_dl_versioned:
        uint32_t major, minor
        void* context
        void (*deleter)(mt_dl_versioned*) noexcept
        uint64_t flags
        mt_dl_tensor tensor

cdef enum:
    CPU_MEMORY = 1                      # DLPack's kDLCPU
    READ_ONLY = 1

cdef const char* FRESH = "dltensor"
cdef const char* USED = "used_dltensor"
cdef const char* FRESH_VERSIONED = "dltensor_versioned"
cdef const char* USED_VERSIONED = "used_dltensor_versioned"

# DLPack's codes of kinds of elements, with their bits.
cdef dict CODES = {
    "bool": (6, 8), "uint8": (1, 8), "uint16": (1, 16), "uint32": (1, 32), "uint64": (1, 64), "int8": (0, 8), "int16": (0, 16),
    "int32": (0, 32), "int64": (0, 64), "float16": (2, 16), "bfloat16": (4, 16), "float32": (2, 32), "float64": (2, 64),
    "complex32": (5, 32), "complex64": (5, 64), "complex128": (5, 128), "float8_e4m3fn": (10, 8), "float8_e4m3fnuz": (11, 8),
    "float8_e5m2": (12, 8), "float8_e5m2fnuz": (13, 8),
}
cdef dict NAMES = {code: name for name, code in CODES.items()}


# ---------------------------------------------------------------- ours for others
cdef void release_managed(mt_dl_managed* managed) noexcept with gil:
    Py_DECREF(<object>managed.context)
    free(managed)


cdef void release_unused(object capsule) noexcept:
    """What nobody took goes with its capsule."""
    cdef mt_dl_managed* managed
    if PyCapsule_IsValid(capsule, FRESH):
        managed = <mt_dl_managed*>PyCapsule_GetPointer(capsule, FRESH)
        managed.deleter(managed)


def to_capsule(Tensor tensor not None):
    """A capsule over a CPU tensor's memory, which it keeps. Raises BufferError for a tensor of another device."""
    if tensor.device.type != "cpu":
        raise BufferError(f"DLPack: expected a tensor on the CPU, got one on {tensor.device}: copy it with .cpu()")
    cdef tuple code = CODES[tensor.dtype.name]
    cdef int i, ndim = tensor.dim()
    shape, strides = tuple(tensor.shape), tensor.stride()
    cdef mt_dl_managed* managed = <mt_dl_managed*>malloc(sizeof(mt_dl_managed) + 2 * ndim * sizeof(int64_t))
    if managed == NULL:
        raise MemoryError("DLPack: no memory for a capsule")
    cdef int64_t* numbers = <int64_t*>(managed + 1)
    for i in range(ndim):
        numbers[i] = shape[i]
        numbers[ndim + i] = strides[i]
    managed.tensor.data = <void*><uintptr_t>tensor.data_ptr()
    managed.tensor.device.device_type, managed.tensor.device.device_id = CPU_MEMORY, 0
    managed.tensor.ndim = ndim
    managed.tensor.dtype.code, managed.tensor.dtype.bits, managed.tensor.dtype.lanes = code[0], code[1], 1
    managed.tensor.shape, managed.tensor.strides = numbers, numbers + ndim
    managed.tensor.byte_offset = 0
    managed.context = <void*>tensor
    managed.deleter = release_managed
    Py_INCREF(tensor)
    try:
        return PyCapsule_New(managed, FRESH, <PyCapsule_Destructor>release_unused)
    except BaseException:
        release_managed(managed)
        raise


# ---------------------------------------------------------------- others' for us
cdef class Borrowed:
    """Memory that a capsule handed over; given back when no tensor has it."""

    cdef mt_dl_managed* managed
    cdef mt_dl_versioned* versioned

    def __dealloc__(self):
        if self.managed != NULL and self.managed.deleter != NULL:
            self.managed.deleter(self.managed)
        if self.versioned != NULL and self.versioned.deleter != NULL:
            self.versioned.deleter(self.versioned)


cdef object tensor_over(Borrowed owner, mt_dl_tensor* given):
    cdef int i
    name = NAMES.get((given.dtype.code, given.dtype.bits)) if given.dtype.lanes == 1 else None
    if name is None:
        raise BufferError(f"DLPack: no dtype here has the code {given.dtype.code}, {given.dtype.bits} bits and "
                          f"{given.dtype.lanes} lanes")
    if given.device.device_type != CPU_MEMORY:
        raise BufferError(f"DLPack: expected memory of the CPU (1), got that of device type {given.device.device_type}")
    cdef list shape = [given.shape[i] for i in range(given.ndim)], strides = []
    cdef int64_t step = 1
    if given.strides != NULL:
        strides = [given.strides[i] for i in range(given.ndim)]
    else:
        for n in reversed(shape):
            strides.insert(0, step)
            step *= n
    return from_buffer(owner, <uintptr_t>given.data + given.byte_offset, tuple(shape), tuple(strides), dtypes[name])


def from_capsule(object capsule not None):
    """A tensor over the memory of a capsule, which is used up. Raises BufferError for what has no form here."""
    cdef Borrowed owner = Borrowed.__new__(Borrowed)
    cdef mt_dl_managed* managed
    cdef mt_dl_versioned* versioned
    if PyCapsule_IsValid(capsule, FRESH):
        managed = <mt_dl_managed*>PyCapsule_GetPointer(capsule, FRESH)
        result = tensor_over(owner, &managed.tensor)
        PyCapsule_SetName(capsule, USED)
        owner.managed = managed
    elif PyCapsule_IsValid(capsule, FRESH_VERSIONED):
        versioned = <mt_dl_versioned*>PyCapsule_GetPointer(capsule, FRESH_VERSIONED)
        if versioned.major > 1:
            raise BufferError(f"DLPack: expected version 1 or older, got {versioned.major}.{versioned.minor}")
        if versioned.flags & READ_ONLY:
            raise BufferError("DLPack: the memory is read-only, which no tensor is: copy it first")
        result = tensor_over(owner, &versioned.tensor)
        PyCapsule_SetName(capsule, USED_VERSIONED)
        owner.versioned = versioned
    else:
        raise RuntimeError("from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so "
                           "you might have already constructed a tensor from it once.")
    return result
