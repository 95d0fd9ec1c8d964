"""A leaf keeps its `AccumulateGrad` between graphs: making it anew would be half of what recording a call costs.

While a graph refers to the node, it holds the tensor, and the tensor knows it without holding it. When the last graph is gone the
tensor takes the node over, which then holds nothing: at no time is there a cycle.
"""

cdef int park_accumulator(PyObject* o) noexcept:
    """Asked as the last reference to a node goes: whether its tensor has taken it."""
    cdef AccumulateGrad node = <AccumulateGrad>o
    cdef Tensor t = node.variable
    if t is None or t.accumulator != o or node.hooks is not None or t.parked != NULL or Py_REFCNT(<PyObject*>t) <= 2:       # ours, and the node's
        return False
    t.accumulator = NULL
    t.parked = o
    node.variable = None
    return True


mt_install_parking(<PyTypeObject*>AccumulateGrad, park_accumulator)


cdef AccumulateGrad unpark_accumulator(Tensor t):
    """The node again, for a graph to hold."""
    cdef AccumulateGrad node = <AccumulateGrad>t.parked
    t.parked = NULL
    Py_DECREF(node)
    record_leaf(node, t)
    node.variable, t.accumulator = t, <PyObject*>node
    return node


cdef int forget_accumulator(Tensor t) except -1:
    """Before a tensor is another one, in place: a graph that knows it keeps the node, which is no longer found by the tensor."""
    cdef PyObject* parked = t.parked
    t.accumulator = t.parked = NULL
    Py_XDECREF(parked)
    return 0
