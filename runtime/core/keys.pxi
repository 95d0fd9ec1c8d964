"""Dispatch keys, key sets as bit masks, and the thread's dispatch state.

Order and meaning follow PyTorch's DispatchKey: among the keys of a call, the highest that an operator handles runs.
"""

cdef dict KEY_BY_NAME = {
    "BackendSelect": KEY_BACKEND_SELECT, "Python": KEY_PYTHON, "Functionalize": KEY_FUNCTIONALIZE,
    "Conjugate": KEY_CONJUGATE, "Negative": KEY_NEGATIVE, "ZeroTensor": KEY_ZERO_TENSOR,
    "ADInplaceOrView": KEY_AD_INPLACE_OR_VIEW, "AutogradOther": KEY_AUTOGRAD_OTHER, "Tracing": KEY_TRACING,
    "Tracer": KEY_TRACING, "Batched": KEY_BATCHED, "FuncTorchVmapMode": KEY_VMAP_MODE, "TESTING_ONLY_GenericWrapper": KEY_TESTING_WRAPPER,
    "TESTING_ONLY_GenericMode": KEY_TESTING_MODE, "Autograd": ALIAS_AUTOGRAD,
    "CompositeImplicitAutograd": ALIAS_COMPOSITE_IMPLICIT, "CompositeExplicitAutograd": ALIAS_COMPOSITE_EXPLICIT,
    "CompositeExplicitAutogradNonFunctional": ALIAS_COMPOSITE_NON_FUNCTIONAL,
}
cdef dict KEY_NAMES = {key: name for name, key in reversed(KEY_BY_NAME.items())}    # the first name of each
cdef int private_use1 = KEY_NPU          # the backend that the name PrivateUse1 means: see `take_private_use1`


cdef int name_backend(int key, str name) except -1:
    """Gives a backend's key, and those of its autograd and autocast, a name; what they were called first stays it."""
    names = {"": key, "Autograd": key + KEY_AUTOGRAD_CPU - KEY_CPU}
    if key != KEY_META:
        names["Autocast"] = key + KEY_AUTOCAST_CPU - KEY_CPU
    for prefix, found in names.items():
        KEY_BY_NAME[prefix + name] = found
        KEY_NAMES.setdefault(found, prefix + name)
    return 0


for _key, _name in ((KEY_CPU, "CPU"), (KEY_CUDA, "CUDA"), (KEY_MPS, "MPS"), (KEY_NPU, "NPU"), (KEY_NPU, "PrivateUse1"),
                    (KEY_PRIVATE2, "PrivateUse2"), (KEY_PRIVATE3, "PrivateUse3"), (KEY_META, "Meta")):
    name_backend(_key, _name)

cdef uint64_t BACKEND_KEYS = ((<uint64_t>1 << (KEY_META + 1)) - 1) & ~(<uint64_t>1)
cdef uint64_t NOT_CPU = BACKEND_KEYS & ~(<uint64_t>1 << KEY_CPU)
cdef uint64_t AUTOGRAD_KEYS = ((<uint64_t>1 << (KEY_AUTOGRAD_META + 1)) - 1) & ~((<uint64_t>1 << KEY_AUTOGRAD_OTHER) - 1)
cdef uint64_t INPLACE_OR_VIEW = <uint64_t>1 << KEY_AD_INPLACE_OR_VIEW
cdef uint64_t BELOW_AUTOGRAD = AUTOGRAD_KEYS | INPLACE_OR_VIEW     # excluded while a kernel runs

cdef uint64_t PYTHON = <uint64_t>1 << KEY_PYTHON
cdef uint64_t TORCH_FUNCTION = <uint64_t>1 << KEY_TORCH_FUNCTION
cdef uint64_t BATCHED = <uint64_t>1 << KEY_BATCHED
cdef uint64_t FUNCTIONALIZE = <uint64_t>1 << KEY_FUNCTIONALIZE
cdef uint64_t TRACING = <uint64_t>1 << KEY_TRACING
cdef uint64_t CONJUGATE = <uint64_t>1 << KEY_CONJUGATE
cdef uint64_t NEGATIVE = <uint64_t>1 << KEY_NEGATIVE
cdef uint64_t ZERO_TENSOR = <uint64_t>1 << KEY_ZERO_TENSOR
cdef uint64_t LAZY = CONJUGATE | NEGATIVE | ZERO_TENSOR          # of what is not what its memory is
cdef uint64_t NARROW = <uint64_t>1 << KEY_NARROW                 # has no name: nothing is registered there
# What a wrapper's class answers for itself, as bits of the tensor's keys at which nothing is ever registered.
cdef uint64_t ASKED_STRIDES = <uint64_t>1 << KEY_COUNT
cdef uint64_t ASKED_SIZES = <uint64_t>1 << (KEY_COUNT + 1)
cdef uint64_t ASKED_DEVICE = <uint64_t>1 << (KEY_COUNT + 2)
cdef uint64_t ASKED_LAYOUT = <uint64_t>1 << (KEY_COUNT + 3)
cdef uint64_t ASKED = ASKED_STRIDES | ASKED_SIZES | ASKED_DEVICE | ASKED_LAYOUT
cdef uint64_t WRAPPERS = PYTHON | BATCHED | FUNCTIONALIZE        # of what has its values in other tensors
cdef uint64_t OVERRIDES = WRAPPERS | TORCH_FUNCTION | ASKED      # of a tensor's class, not of its memory

cdef extern from *:
    """
    /* initial-exec: one load instead of a call into the dynamic linker; the struct is far below the reserve for it. */
    #define MT_AUTOCAST ((uint64_t)127 << 27)    /* Autocast keys are excluded until a thread turns autocast on */
    #define MT_ALWAYS ((uint64_t)1 << 10 | (uint64_t)1 << 16)    /* BackendSelect and ADInplaceOrView: of every call */
    static __thread mt_state_t mt_state __attribute__((tls_model("initial-exec"))) = {MT_ALWAYS, MT_AUTOCAST, 0, 0, 0, INT64_MAX, 0, 0, 0, 0};
    """
    mt_state_t mt_state
    uint64_t MT_AUTOCAST, MT_ALWAYS

if MT_AUTOCAST != (<uint64_t>2 << KEY_AUTOCAST_LAST) - (<uint64_t>1 << KEY_AUTOCAST_CPU):
    raise SystemError("MT_AUTOCAST does not stand for the Autocast keys")
if MT_ALWAYS != (<uint64_t>1 << KEY_BACKEND_SELECT | INPLACE_OR_VIEW):
    raise SystemError("MT_ALWAYS does not stand for BackendSelect and ADInplaceOrView")

cdef uint64_t[KEY_META + 1] KEYS_OF_DEVICE
for _code in range(KEY_CPU, KEY_META + 1):
    KEYS_OF_DEVICE[_code] = <uint64_t>1 << <int>_code | <uint64_t>1 << (KEY_AUTOGRAD_CPU + <int>_code - KEY_CPU) | INPLACE_OR_VIEW
    if _code != KEY_META:
        KEYS_OF_DEVICE[_code] |= <uint64_t>1 << (KEY_AUTOCAST_CPU + <int>_code - KEY_CPU)


cdef mt_state_t* thread_state() noexcept:
    """This thread's, for the parts that cannot name it."""
    return &mt_state


cdef inline uint64_t device_keys(int device_code) noexcept:
    return KEYS_OF_DEVICE[device_code]


cdef int key_from_name(object name) except -1:
    found = KEY_BY_NAME.get(name)
    if found is None:
        import difflib
        near = difflib.get_close_matches(str(name), KEY_BY_NAME, n=1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise ValueError(f"could not parse dispatch key '{name}'{hint} Expected one of {', '.join(KEY_BY_NAME)}")
    return found


cdef inline bint tracing() noexcept:
    """Whether this thread records its calls (and does not run one of them right now)."""
    return mt_state.included & ~mt_state.excluded & TRACING != 0 and hook.value_read is not None


def is_tracing():
    """Whether a call on this thread would be recorded."""
    return tracing()


def key_names(uint64_t keys):
    """The names of the keys in a bit mask, highest first."""
    return [KEY_NAMES[k] for k in range(KEY_TORCH_FUNCTION - 1, 0, -1) if keys >> k & 1 and k in KEY_NAMES]


def key_name(str name not None):
    """A key's first name. Raises ValueError for unknown ones."""
    return KEY_NAMES[key_from_name(name)]


def backend_keys():
    """The names of the backends' keys, lowest first."""
    return key_names(BACKEND_KEYS)[::-1]


def tensor_keys(Tensor t not None):
    """The dispatch keys of a tensor, as a bit mask."""
    return t.keys


def is_grad_enabled():
    """Whether operations on this thread are recorded for backward."""
    return not mt_state.grad_off


def set_grad_enabled_(bint enabled):
    """Sets this thread's grad mode and returns the one before."""
    cdef bint before = not mt_state.grad_off
    mt_state.grad_off = not enabled
    return before


def is_inference_mode():
    """Whether this thread makes tensors that autograd never sees."""
    return mt_state.withheld != 0


def set_inference_mode_(bint enabled):
    """Sets this thread's inference mode and returns the one before; grad mode is set apart."""
    cdef bint before = mt_state.withheld != 0
    mt_state.withheld = BELOW_AUTOGRAD if enabled else 0
    return before


def thread_keys():
    """This thread's (included, excluded) keys, as bit masks: added to, and taken from, those of every call's tensors."""
    return mt_state.included, mt_state.excluded


def set_thread_keys_(uint64_t included, uint64_t excluded):
    """Sets this thread's included and excluded keys; a caller restores what `thread_keys` gave."""
    mt_state.included, mt_state.excluded = included, excluded


def key_mask(*names):
    """The bit mask of dispatch keys by name; an alias stands for all its keys. Raises ValueError for unknown names."""
    cdef uint64_t mask = 0
    cdef int key
    for name in names:
        key = key_from_name(name)
        mask |= AUTOGRAD_KEYS if key == ALIAS_AUTOGRAD else (<uint64_t>1 << key if key < KEY_COUNT else BACKEND_KEYS)
    return mask
