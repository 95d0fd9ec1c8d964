"""Steps that make words: numbers, truth values and dtypes. Integers have 64 bits; an overflow is an error, never a wrong number."""

cdef int word_step(Program p, Frame* f, Step* s) except -1:
    cdef int code = s.code
    cdef Word* w = f.words
    if code >= STEP_FADD and code <= STEP_FLE:
        return float_step(p, code, w, s)
    if code >= STEP_ADD and code <= STEP_LE:
        w[s.made].i = int_step(p, code, w[s.a].i, w[s.b].i)
    elif code == STEP_CONSTANT:
        w[s.made] = p.numbers[s.a]
    elif code == STEP_INT:
        w[s.made].i = to_int64(<object>f.objects[s.a], p.op.sig.qualname)
    elif code == STEP_FLOAT:
        if PyComplex_Check(<object>f.objects[s.a]):
            raise RuntimeError(f"{p.op.sig.qualname}: value cannot be converted to type double without overflow: "
                               f"{<object>f.objects[s.a]}")
        w[s.made].d = PyFloat_AsDouble(<object>f.objects[s.a])
    elif code == STEP_BOOL:
        w[s.made].i = <object>f.objects[s.a] is True
    elif code == STEP_DTYPE_CODE:
        w[s.made].i = (<dtype?><object>f.objects[s.a]).code
    elif code == STEP_NDIM:
        w[s.made].i = (<Tensor>f.objects[s.a]).nd
    elif code == STEP_SIZE:
        w[s.made].i = (<Tensor>f.objects[s.a]).sizes[wrap_dim(<Tensor>f.objects[s.a], w[s.b].i)]
    elif code == STEP_DTYPE:
        w[s.made].i = (<Tensor>f.objects[s.a]).dt.code
    elif code == STEP_IS_NONE:
        w[s.made].i = f.objects[s.a] == <PyObject*>None
    elif code == STEP_EQUAL:
        w[s.made].i = f.objects[s.a] == f.objects[s.b] or <object>f.objects[s.a] == <object>f.objects[s.b]
    elif code == STEP_IS_CONTIGUOUS:
        w[s.made].i = (<Tensor>f.objects[s.a]).contig
    elif code == STEP_ON_DEVICE:
        w[s.made].i = (<Tensor>f.objects[s.a]).dev.type_code == s.b
    elif code == STEP_TO_FLOAT:
        w[s.made].d = <double>w[s.a].i
    elif code == STEP_NOT:
        w[s.made].i = not w[s.a].i
    elif code == STEP_AND:
        w[s.made].i = w[s.a].i and w[s.b].i
    elif code == STEP_OR:
        w[s.made].i = w[s.a].i or w[s.b].i
    else:
        w[s.made].i = dtype_step(p, f, s)
    return 0


cdef int64_t dtype_step(Program p, Frame* f, Step* s) except -1:
    cdef Word* w = f.words
    cdef dtype a, b
    if s.code == STEP_DTYPE_IN:
        return p.numbers[s.b].i >> w[s.a].i & 1
    if s.code == STEP_RESULT_TYPE and s.b == 2:
        return dtype_of_pair(<object>f.objects[p.pool[s.a]], <object>f.objects[p.pool[s.a + 1]]).code
    if s.code == STEP_RESULT_TYPE:
        return result_code(p, f, s)
    a = <dtype>dtype_by_code[w[s.a].i]
    if s.code == STEP_IS_FLOATING:
        return a.category == CATEGORY_FLOAT
    b = <dtype>dtype_by_code[w[s.b].i]
    if s.code == STEP_PROMOTE:
        return (<dtype>promote_types(a, b)).code
    return a.category <= b.category                                        # can_cast: never into a lower category


cdef int64_t result_code(Program p, Frame* f, Step* s) except -1:
    """Of operands as they nearly always are nothing is asked of Python: tensors with dimensions, of one floating-point dtype,
    beside which real numbers and floating-point tensors without dimensions count for nothing.
    """
    cdef PyObject* operand
    cdef dtype d, common = None
    cdef int i
    for i in range(s.b):
        operand = f.objects[p.pool[s.a + i]]
        if is_tensor(operand):
            d = (<Tensor>operand).dt
            if d.category > CATEGORY_FLOAT:
                break
            if (<Tensor>operand).nd > 0:
                if common is None:
                    common = d
                elif common is not d:
                    break
        elif not (PyFloat_CheckExact(<object>operand) or PyLong_CheckExact(<object>operand)):
            break
    else:
        if common is not None and common.category == CATEGORY_FLOAT:
            return common.code
    return (<dtype>common_dtype(*[<object>f.objects[p.pool[s.a + i]] for i in range(s.b)])).code


cdef int64_t int_step(Program p, int code, int64_t a, int64_t b) except? -1:
    cdef int64_t result = 0
    cdef bint overflow = False
    if code == STEP_EQ: return a == b
    if code == STEP_LT: return a < b
    if code == STEP_LE: return a <= b
    if code == STEP_MIN: return a if a < b else b
    if code == STEP_MAX: return a if a > b else b
    if code == STEP_ADD: overflow = mt_advance(a, b, 1, &result)
    elif code == STEP_SUB: overflow = mt_advance(a, b, -1, &result)
    elif code == STEP_MUL: overflow = mt_advance(0, a, b, &result)
    elif code == STEP_NEG: overflow = mt_advance(0, a, -1, &result)
    else: return divided(p, code, a, b)
    if overflow:
        raise IntegerOverflow(f"{p.op.sig.qualname}: a number of its definition needs more than 64 bits: {a} {SIGNS[code]} {b}")
    return result


cdef dict SIGNS = {STEP_ADD: "+", STEP_SUB: "-", STEP_MUL: "*", STEP_NEG: "* -1 +"}


cdef int64_t divided(Program p, int code, int64_t a, int64_t b) except? -1:
    """As Python divides: towards minus infinity, or with `ceil_div` towards plus."""
    cdef int64_t q, r
    if b == 0:
        raise ZeroDivisionError(f"{p.op.sig.qualname}: integer division by zero: {a} by {b}")
    if b == -1:                                            # C's division overflows for the least number
        if code == STEP_MOD:
            return 0
        return int_step(p, STEP_NEG, a, 0)
    q = a // b                                             # cdivision: towards zero
    r = a - q * b
    if code == STEP_CEILDIV:
        return q + (r != 0 and (r < 0) == (b < 0))
    if r != 0 and (r < 0) != (b < 0):
        q -= 1
        r += b
    return q if code == STEP_FLOORDIV else r


cdef int float_step(Program p, int code, Word* w, Step* s) except -1:
    cdef double a = w[s.a].d, b = 0 if code == STEP_FNEG else w[s.b].d
    if code == STEP_FADD: w[s.made].d = a + b
    elif code == STEP_FSUB: w[s.made].d = a - b
    elif code == STEP_FMUL: w[s.made].d = a * b
    elif code == STEP_FDIV:
        if b == 0:
            raise ZeroDivisionError(f"{p.op.sig.qualname}: float division by zero: {a} by {b}")
        w[s.made].d = a / b
    elif code == STEP_FMIN: w[s.made].d = b if b < a else a
    elif code == STEP_FMAX: w[s.made].d = b if b > a else a
    elif code == STEP_FNEG: w[s.made].d = -a
    elif code == STEP_FEQ: w[s.made].i = a == b
    elif code == STEP_FLT: w[s.made].i = a < b
    else: w[s.made].i = a <= b
    return 0
