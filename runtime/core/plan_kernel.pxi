"""Plans: kernels that are programs. The call path runs a plan directly (`run_plan`); any other caller calls it as a kernel."""

@cython.final
cdef class Plan:
    """A kernel made of a program. ``make()`` is asked for the program at the first call."""
    cdef vectorcallfunc vectorcall
    cdef OpOverload op
    cdef Program program
    cdef object make
    cdef object __weakref__

    def __init__(self, OpOverload op not None, make not None):
        if not callable(make):
            raise TypeError(f"{op.sig.qualname}: what makes a plan's program must be callable, not {_type_name(make)}")
        self.vectorcall = <vectorcallfunc>call_plan
        self.op, self.make = op, make

    def __repr__(self):
        return f"<Plan of {self.op.sig.qualname}>"


cdef Plan _plan_probe = Plan.__new__(Plan)
mt_enable_vectorcall(<PyTypeObject*>Plan, <char*>&_plan_probe.vectorcall - <char*><PyObject*>_plan_probe, 0)
mt_whole_plan_install(<PyTypeObject*>Plan)


cdef inline Program program_of(Plan plan):
    cdef Program made
    if plan.program is None:
        made = <Program?>plan.make()
        if made.inputs != plan.op.sig.count:
            raise ValueError(f"{plan.op.sig.qualname}: a program of {made.inputs} inputs for {plan.op.sig.count} arguments")
        plan.program = made
    return plan.program


cdef bint runs_as_plan(OpOverload op, object kernel):
    """Whether the call path may run a kernel itself: what it returns is judged by its program, and it writes to no argument."""
    return type(kernel) is Plan and (<Plan>kernel).op is op and not op.mutates and not op.makes_views


cdef object call_plan(object callable, PyObject** args, size_t nargsf, PyObject* kwnames):
    """Called as a kernel: with the bound values, keyword-only ones after the positional ones. The caller checks the result."""
    cdef Plan plan = <Plan>callable
    cdef Program p = program_of(plan)
    cdef Frame f
    cdef PyObject* objects[PLAN_OBJECTS]
    cdef Py_ssize_t given = PyVectorcall_NARGS(nargsf) + (0 if kwnames == NULL else PyTuple_GET_SIZE(<object>kwnames))
    if given != p.inputs:
        raise TypeError(f"the plan of {plan.op.sig.qualname} takes its {p.inputs} bound arguments, got {given}")
    enter_frame(p, &f, objects, NULL)
    memcpy(objects, args, p.inputs * sizeof(PyObject*))
    try:
        run_program(p, &f)
        return plan_result(p, &f)
    finally:
        leave_frame(p, &f)


cdef inline object plan_result(Program p, Frame* f):
    if f.returned == 0:
        return None
    return returned_value(p, f, 0) if f.returned == 1 else returned_values(p, f)


cdef object run_plan(Plan plan, int key, Bound* bound, uint64_t record):
    """An operator's call at a backend, from its bound arguments; with `record`, those that require grad, its node, too."""
    cdef Frame f
    cdef Program p = program_of(plan) if plan.program is None else plan.program
    cdef uint64_t outside = mt_state.excluded, start
    cdef bint layout, noticed = begins_operation(plan.op, key, bound)
    start = bumps                                         # what was held back may have written to arguments by now
    enter_frame(p, &f, bound.slots, bound)
    layout = plan.op.keeps_layout and is_laid_out(plan.op, bound.slots)
    f.laid_out = layout and follows_all(plan.op)
    try:
        mt_state.excluded = outside | BELOW_AUTOGRAD
        run_program(p, &f)
        result = plan_result(p, &f)
        if not p.fresh >> f.way & 1:
            check_types(plan.op, result)
            check_aliases(plan.op, bound, result)
            check_unchanged(plan.op, bound, start)
        if layout:
            keep_layout(plan.op, bound.slots, result)
        if record:
            mt_state.excluded = outside
            record_plan(plan.op, p, &f, record)
    finally:
        mt_state.excluded = outside
        leave_frame(p, &f)
        if noticed:
            end_operation()
    return result
