# cython: language_level=3, boundscheck=False, binding=False, cdivision=True, initializedcheck=False
# cython: nonecheck=False, auto_pickle=False, embedsignature=True, embedsignature.format=clinic
"""Generators of random numbers: their states, as kernels draw from them, and a lock for each.

Who launches a kernel that draws holds the generator's lock until it has returned, so that threads never share a number. The
lock is waited for without the interpreter's, which the kernel that holds it may ask for.
"""
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from mindtorch_v2._core cimport KEY_CPU, cold, device

cdef extern from "cpython_glue.h":      # for tracebacks without frames of the core
    pass

cdef extern from "mindtorch_random.h":
    enum:
        MT_STATE_WORDS
    ctypedef struct mt_generator:
        uint64_t seed
        uint64_t offset
        uint32_t words[624]
        int32_t left
        uint32_t next
        double normal
        float float_normal
        uint8_t has_normal, has_float_normal, is_philox

cdef extern from "pythread.h" nogil:
    ctypedef void* PyThread_type_lock
    PyThread_type_lock PyThread_allocate_lock()
    void PyThread_free_lock(PyThread_type_lock lock)
    int PyThread_acquire_lock(PyThread_type_lock lock, int wait)
    void PyThread_release_lock(PyThread_type_lock lock)
    unsigned long PyThread_get_thread_ident()

cdef extern from *:
    """
    #include <pthread.h>

    /* How many forks this process is from the one that loaded the module. A lock that another thread held then is never let
       go in the child, which has no such thread. */
    static volatile int mt_forks;
    static void mt_after_fork(void) { ++mt_forks; }
    static int mt_watch_forks(void) { return pthread_atfork(0, 0, mt_after_fork); }
    """
    int mt_forks
    int mt_watch_forks()

mt_watch_forks()

# PyTorch's layout of mt19937's state: offsets in bytes. Its words are 64 bits each there.
cdef enum:
    AT_LEFT = 8
    AT_SEEDED = 12
    AT_NEXT = 16
    AT_WORDS = 24
    AT_NORMAL = 5024
    AT_HAS_NORMAL = 5040
    OLD_BYTES = 5048
    AT_FLOAT = 5048
    AT_HAS_FLOAT = 5052
    CPU_BYTES = 5056
    PHILOX_BYTES = 16


cdef class RandomSource:
    """A generator's state and its lock."""
    cdef mt_generator state
    cdef PyThread_type_lock lock
    cdef unsigned long owner             # the thread that draws; 0: none
    cdef int forks                       # of the process in which the lock was made

    def __cinit__(self):
        memset(&self.state, 0, sizeof(mt_generator))
        self.lock, self.forks, self.owner = PyThread_allocate_lock(), mt_forks, 0
        if self.lock == NULL:
            raise MemoryError("no room for a lock")

    def __dealloc__(self):
        if self.lock != NULL:
            PyThread_free_lock(self.lock)

    cdef int take(self) except -1:
        cdef unsigned long me = PyThread_get_thread_ident()
        if self.forks != mt_forks:
            self.lock, self.forks, self.owner = PyThread_allocate_lock(), mt_forks, 0
        if not PyThread_acquire_lock(self.lock, 0):
            if self.owner == me:
                raise RuntimeError("this thread draws random numbers already: a signal handler that runs meanwhile cannot draw "
                                   "from the same generator; give it one of its own")
            with nogil:
                PyThread_acquire_lock(self.lock, 1)
        self.owner = me
        return 0

    cdef int give(self) noexcept:
        self.owner = 0
        PyThread_release_lock(self.lock)
        return 0


cdef int start(mt_generator* g, uint64_t seed) noexcept:
    """The sequence that belongs to a seed: of mt19937 by its authors' recurrence, over the seed's lower half."""
    cdef int i
    cdef uint32_t word = <uint32_t>seed
    g.seed, g.offset, g.has_normal, g.has_float_normal = seed, 0, 0, 0
    g.left, g.next, g.words[0] = 1, 0, word
    for i in range(1, MT_STATE_WORDS):
        word = <uint32_t>1812433253 * (word ^ (word >> 30)) + <uint32_t>i
        g.words[i] = word
    return 0


cdef class Generator:
    """A source of random numbers: what `torch.Generator` adds its checks and words to."""
    cdef readonly device device
    cdef RandomSource source

    def __cinit__(self, *args, **kwargs):
        self.source = RandomSource.__new__(RandomSource)

    def _place(self, device place not None):
        """Says whose numbers it draws: of the CPU by mt19937, of others by Philox."""
        self.device = place
        self.source.state.is_philox = place.type_code != KEY_CPU

    def _start(self, uint64_t seed):
        self.source.take()
        start(&self.source.state, seed)
        self.source.give()

    def initial_seed(self):
        """The seed that the sequence started from."""
        return self.source.state.seed

    def _share(self, Generator other not None):
        """From now on both draw from the other's sequence."""
        self.source = other.source

    def _offset(self):
        return self.source.state.offset

    def _move_to(self, uint64_t offset):
        self.source.take()
        self.source.state.offset = offset
        self.source.give()

    def _state_bytes(self):
        """The state, as PyTorch lays it out: 5056 bytes of mt19937; of Philox the seed and the offset."""
        cdef mt_generator* g = &self.source.state
        cdef char text[CPU_BYTES]
        cdef int i
        cdef uint64_t wide
        cdef int32_t flag = 1
        self.source.take()
        memset(text, 0, CPU_BYTES)
        memcpy(text, &g.seed, 8)
        if g.is_philox:
            memcpy(text + 8, &g.offset, 8)
            self.source.give()
            return PyBytes_FromStringAndSize(text, PHILOX_BYTES)
        memcpy(text + AT_LEFT, &g.left, 4)
        memcpy(text + AT_SEEDED, &flag, 4)
        wide = g.next
        memcpy(text + AT_NEXT, &wide, 8)
        for i in range(MT_STATE_WORDS):
            wide = g.words[i]
            memcpy(text + AT_WORDS + 8 * i, &wide, 8)
        if g.has_normal:
            memcpy(text + AT_NORMAL, &g.normal, 8)
            memcpy(text + AT_HAS_NORMAL, &flag, 4)
        if g.has_float_normal:
            memcpy(text + AT_FLOAT, &g.float_normal, 4)
            text[AT_HAS_FLOAT] = 1
        self.source.give()
        return PyBytes_FromStringAndSize(text, CPU_BYTES)

    def _take_state(self, const uint8_t[::1] given not None):
        """Continues from such a state. False where it is none of mt19937's."""
        cdef mt_generator* g = &self.source.state
        cdef mt_generator fresh
        cdef int i
        cdef uint64_t wide
        cdef int32_t flag, left
        cdef const uint8_t* text = &given[0]
        memset(&fresh, 0, sizeof(mt_generator))
        fresh.is_philox = g.is_philox
        memcpy(&fresh.seed, text, 8)
        if g.is_philox:
            if given.shape[0] == PHILOX_BYTES:
                memcpy(&fresh.offset, text + 8, 8)
            fresh.left = 1
        else:
            memcpy(&fresh.left, text + AT_LEFT, 4)
            memcpy(&flag, text + AT_SEEDED, 4)
            memcpy(&wide, text + AT_NEXT, 8)
            if not flag or not 0 < fresh.left <= MT_STATE_WORDS or wide > MT_STATE_WORDS:
                return False
            if fresh.left > 1 and wide + fresh.left - 1 > MT_STATE_WORDS:
                return False             # more words than there are: PyTorch would read beyond them
            fresh.next = <uint32_t>wide
            for i in range(MT_STATE_WORDS):
                memcpy(&wide, text + AT_WORDS + 8 * i, 8)
                fresh.words[i] = <uint32_t>wide
            memcpy(&flag, text + AT_HAS_NORMAL, 4)
            fresh.has_normal = flag != 0
            if fresh.has_normal:
                memcpy(&fresh.normal, text + AT_NORMAL, 8)
            if text[AT_HAS_FLOAT]:
                fresh.has_float_normal = 1
                memcpy(&fresh.float_normal, text + AT_FLOAT, 4)
        self.source.take()
        self.source.state = fresh
        self.source.give()
        return True


cdef Generator default_generator = None


def set_default_generator(Generator generator not None):
    """The generator that kernels draw from where they are given none."""
    global default_generator
    default_generator = generator


cdef object find_generator(object value):
    """What a kernel draws from: a generator's source, or the source itself; None is the default one."""
    if value is None:
        return default_generator.source
    if isinstance(value, RandomSource):
        return value
    if not isinstance(value, Generator):
        raise TypeError(f"expected a torch.Generator or None, got {type(value).__name__}")
    if (<Generator>value).device.type_code != KEY_CPU:
        raise RuntimeError(f"Expected a 'cpu' device type for generator but found '{(<Generator>value).device.type}'")
    return (<Generator>value).source


cdef void* take_generator(PyObject* source) except NULL:
    (<RandomSource>source).take()
    return &(<RandomSource>source).state


cdef int give_generator(PyObject* source) noexcept:
    return (<RandomSource>source).give()


def source_of(Generator generator not None):
    """What kernels of any device draw a generator's numbers from."""
    return generator.source


cold.find_generator = find_generator
cold.take_generator = take_generator
cold.give_generator = give_generator
