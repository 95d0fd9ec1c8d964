"""Rarely used ways into recording: saved-tensor hooks and anomaly mode. Off, each costs one test of a flag; cold/saved_values.pyx
has what they do."""

cdef bint recording_hooked = False       # some thread has saved-tensor hooks, or anomaly mode is on
cdef Py_ssize_t hooks_entered = 0        # saved-tensor hooks, of all threads
cdef bint anomaly_enabled = False
cdef bint anomaly_checks_nan = True


class SavedTensorHooks(threading.local):
    """This thread's (pack, unpack) pairs, innermost last."""

    def __init__(self):
        self.pairs = []


cdef object saved_tensor_hooks = SavedTensorHooks()


def push_saved_tensor_hooks(pack, unpack):
    """From now on tensors saved on this thread are stored as ``pack(t)`` and read back as ``unpack(stored)``."""
    saved_tensor_hooks.pairs.append((pack, unpack))
    count_hooks(1)


def pop_saved_tensor_hooks():
    """Takes the innermost pair back."""
    saved_tensor_hooks.pairs.pop()
    count_hooks(-1)


cdef int count_hooks(int more) except -1:
    global recording_hooked, hooks_entered
    hooks_entered += more
    recording_hooked = anomaly_enabled or hooks_entered > 0
    return 0


def count_saved_tensor_hooks():
    """How many pairs this thread has entered."""
    return len(saved_tensor_hooks.pairs)


def anomaly_mode():
    """Whether anomaly mode is on, and whether it looks for NaN."""
    return anomaly_enabled, anomaly_checks_nan


def set_anomaly_mode(bint enabled, bint check_nan=True):
    """Anomaly mode remembers where each node was recorded, names it when backward fails, and refuses NaN gradients."""
    global anomaly_enabled, anomaly_checks_nan
    anomaly_enabled, anomaly_checks_nan = enabled, check_nan
    count_hooks(0)
