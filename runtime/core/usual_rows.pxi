"""Rows of few elements whose losses, distances and counts are computed here; what is unusual, or wrong, is for the kernels in Python."""

from libc.math cimport fabs, isfinite, isinf, pow as power

cdef enum Reduced:
    REDUCED_NOT, REDUCED_MEAN, REDUCED_SUM


cdef inline double real_at(Tensor t, int64_t i) noexcept:
    return (<const float*>tensor_data(t))[i] if t.dt.code == MT_F32 else (<const double*>tensor_data(t))[i]


cdef inline void put_real(Tensor t, int64_t i, double value) noexcept:
    if t.dt.code == MT_F32:
        (<float*>t.storage.data)[i] = <float>value
    else:
        (<double*>t.storage.data)[i] = value


cdef inline bint is_few_reals(Tensor t) noexcept:
    return is_real(t) and is_whole_in_rows(t) and t.nelem < RELEASE_GIL_FROM


cdef inline bint is_small_number(object given) noexcept:
    """Whether something is a float, or an int of which there is one."""
    return type(given) is float or PyLong_CheckExact(given) and -FAR < given < FAR


cdef inline bint is_reduction(object given) noexcept:
    return PyLong_CheckExact(given) and REDUCED_NOT <= given <= REDUCED_SUM


cdef Tensor reduced_rows(double* losses, int64_t rows, int64_t reduction, bint without_dims, dtype dt):
    """The losses of rows, or their mean or sum."""
    cdef Tensor made = alloc_sizes(0 if reduction != REDUCED_NOT or without_dims else 1, &rows, dt, device_cpu)
    cdef int64_t row
    cdef double total = 0
    for row in range(rows):
        if reduction == REDUCED_NOT:
            put_real(made, row, losses[row])
        total += losses[row]
    if reduction != REDUCED_NOT:
        put_real(made, 0, total / rows if reduction == REDUCED_MEAN else total)
    return made


# ---------------------------------------------------------------- margins
cdef Tensor beyond_margins(Tensor self, Tensor target, object p, object margin, Tensor weight, object reduction):
    """The losses of `multi_margin_loss`; None for what is looked at in Python."""
    cdef int64_t rows, classes, row, c, label
    cdef double losses[RELEASE_GIL_FROM]
    cdef double least, apart, total
    cdef bint squared
    if not is_few_reals(self) or not (self.nd == 1 or self.nd == 2) or target.dt is not dtype_i64 or not is_whole_in_rows(target) or target.nd > 1 \
            or not PyLong_CheckExact(p) or not (p == 1 or p == 2) or not is_small_number(margin) \
            or not is_reduction(reduction):
        return None
    rows, classes = self.nelem // self.sizes[self.nd - 1], self.sizes[self.nd - 1]
    if target.nelem != rows or weight is not None and (weight.nd != 1 or weight.nelem != classes or weight.dt is not self.dt
                                                       or not is_whole_in_rows(weight)):
        return None
    least, squared = margin, p == 2
    for row in range(rows):
        label = (<const int64_t*>tensor_data(target))[row]
        if not 0 <= label < classes:
            return None
        total = 0
        for c in range(classes):
            apart = least - real_at(self, row * classes + label) + real_at(self, row * classes + c)
            if c != label and apart > 0:
                total += apart * apart if squared else apart
        losses[row] = total / classes * (1.0 if weight is None else real_at(weight, label))
    return reduced_rows(losses, rows, reduction, target.nd == 0, self.dt)


def multi_margin_loss(Tensor self not None, Tensor target not None, p=1, margin=1, Tensor weight=None, reduction=REDUCED_MEAN):
    """A kernel: the mean over other classes of max(0, margin - the target's score + theirs) ** p, times the target's weight."""
    cdef Tensor made = beyond_margins(self, target, p, margin, weight, reduction)
    return hook.python_kernel("losses:multi_margin_loss")(self, target, p, margin, weight, reduction) if made is None else made


cdef tuple beyond_targets(Tensor self, Tensor target, object reduction):
    """The losses of `multilabel_margin_loss`, and which classes are targets; None for what is looked at in Python."""
    cdef int64_t rows, classes, row, c, k, label
    cdef double losses[RELEASE_GIL_FROM]
    cdef double apart, total
    cdef const int64_t* labels = <const int64_t*>tensor_data(target)
    cdef Tensor is_target
    if not is_few_reals(self) or not (self.nd == 1 or self.nd == 2) or target.dt is not dtype_i64 or not is_whole_in_rows(target) \
            or not same_sizes(self, target) or not is_reduction(reduction):
        return None
    rows, classes = self.nelem // self.sizes[self.nd - 1], self.sizes[self.nd - 1]
    if self.nelem * classes >= 16 * RELEASE_GIL_FROM:
        return None
    for k in range(self.nelem):
        if not -1 <= labels[k] < classes:
            return None
    is_target = alloc_sizes(self.nd, self.sizes, self.dt, device_cpu)
    memset(is_target.storage.data, 0, is_target.nelem * is_target.dt.itemsize)
    for row in range(rows):
        for k in range(row * classes, (row + 1) * classes):
            if labels[k] < 0:
                break
            put_real(is_target, row * classes + labels[k], 1)
        total = 0
        for k in range(row * classes, (row + 1) * classes):
            if labels[k] < 0:
                break
            for c in range(row * classes, (row + 1) * classes):
                apart = 1 - real_at(self, row * classes + labels[k]) + real_at(self, c)
                if real_at(is_target, c) == 0 and apart > 0:
                    total += apart
        losses[row] = total / classes
    return reduced_rows(losses, rows, reduction, self.nd == 1, self.dt), is_target


def multilabel_margin_loss_forward(Tensor self not None, Tensor target not None, reduction):
    """A kernel: of each row the sum of max(0, 1 - a target's score + another class's) over the classes; and which are targets."""
    cdef tuple found = beyond_targets(self, target, reduction)
    return hook.python_kernel("losses:multilabel_margin_loss_forward")(self, target, reduction) if found is None else found


# ---------------------------------------------------------------- distances
cdef double distance(const char* a, const char* b, bint wide, int64_t count, double p) noexcept:
    """The p-norm of the difference of two rows."""
    cdef int64_t i
    cdef double total = 0, apart
    for i in range(count):
        apart = (<const double*>a)[i] - (<const double*>b)[i] if wide else <double>((<const float*>a)[i] - (<const float*>b)[i])
        apart = fabs(apart)
        if p == 2:
            total += apart * apart
        elif p == 1:
            total += apart
        elif p == 0:
            total += apart != 0
        elif isinf(p):
            if apart > total or apart != apart:
                total = apart
        else:
            total += power(apart, p)
    return total ** 0.5 if p == 2 else total if p == 1 or p == 0 or isinf(p) else power(total, 1 / p)


cdef Tensor distances(Tensor x1, Tensor x2, double p):
    """The distances of all rows of two matrices of few elements, or of batches of them; None for what is looked at in Python."""
    cdef int64_t sizes[MAX_DIMS]
    cdef int64_t batch = 1, i, j, n, rows, columns, count, line
    cdef int d, nd = x1.nd
    cdef bint wide = x1.dt.code == MT_F64
    cdef Tensor made
    if nd < 2 or nd != x2.nd or x1.dt is not x2.dt or not is_few_reals(x1) or not is_few_reals(x2) or not p >= 0:
        return None
    for d in range(nd - 2):
        if x1.sizes[d] != x2.sizes[d]:
            return None
        batch *= x1.sizes[d]
        sizes[d] = x1.sizes[d]
    rows, columns, count = x1.sizes[nd - 2], x2.sizes[nd - 2], x1.sizes[nd - 1]
    if count != x2.sizes[nd - 1] or x1.nelem * columns >= 4 * RELEASE_GIL_FROM:
        return None
    sizes[nd - 2], sizes[nd - 1], line = rows, columns, count * x1.dt.itemsize
    made = alloc_sizes(nd, sizes, x1.dt, device_cpu)
    for n in range(batch):
        for i in range(rows):
            for j in range(columns):
                put_real(made, (n * rows + i) * columns + j, distance(tensor_data(x1) + (n * rows + i) * line,
                                                                      tensor_data(x2) + (n * columns + j) * line, wide, count, p))
    return made


def cdist(Tensor x1 not None, Tensor x2 not None, p=2, compute_mode=None):
    """A kernel: the p-norms of the differences of all rows of two matrices."""
    cdef Tensor made = None
    if is_small_number(p) and is_unfollowed(x1) and is_unfollowed(x2) and x1.nd >= 2 and x2.nd >= 2 \
            and (compute_mode is None and x1.sizes[x1.nd - 2] <= 25 and x2.sizes[x2.nd - 2] <= 25 or compute_mode == 2):
        made = distances(x1, x2, p)
    return hook.python_kernel("similarity:cdist")(x1, x2, p, compute_mode) if made is None else made


def pdist_forward(Tensor self not None, p=2):
    """A kernel: the distances of all pairs of rows, the first with those after it first."""
    cdef Tensor made
    cdef int64_t rows, i, j, at = 0, line
    if not is_small_number(p) or not p >= 0 or self.nd != 2 or not is_few_reals(self) or self.sizes[0] < 2 \
            or self.nelem * self.sizes[0] >= 4 * RELEASE_GIL_FROM:
        return hook.python_kernel("similarity:pdist_forward")(self, p)
    rows, line = self.sizes[0], self.sizes[1] * self.dt.itemsize
    at = rows * (rows - 1) // 2
    made, at = alloc_sizes(1, &at, self.dt, device_cpu), 0
    for i in range(rows):
        for j in range(i + 1, rows):
            put_real(made, at, distance(tensor_data(self) + i * line, tensor_data(self) + j * line, self.dt.code == MT_F64, self.sizes[1], p))
            at += 1
    return made


# ---------------------------------------------------------------- counts
cdef inline double as_float(double value, bint wide) noexcept:
    return value if wide else <double><float>value


cdef Tensor counted(Tensor self, object bins, object least, object largest):
    """How many of few elements are in each part of a range; None for what is looked at in Python."""
    cdef int64_t i, at, count
    cdef double low, high, value, part
    cdef bint wide = self.dt.code == MT_F64
    cdef Tensor made
    if not is_few_reals(self) or not PyLong_CheckExact(bins) or not 0 < bins < RELEASE_GIL_FROM \
            or not is_small_number(least) or not is_small_number(largest):
        return None
    low, high, count = as_float(least, wide), as_float(largest, wide), bins
    if least == largest:
        low = high = real_at(self, 0)
        for i in range(self.nelem):
            value = real_at(self, i)
            if not isfinite(value):
                return None
            low, high = min(low, value), max(high, value)
    if low == high:
        low, high = as_float(low - 1, wide), as_float(high + 1, wide)
    if not low < high or not isfinite(low) or not isfinite(high):
        return None
    made = alloc_sizes(1, &count, self.dt, device_cpu)
    memset(made.storage.data, 0, count * made.dt.itemsize)
    part = as_float(high - low, wide)
    for i in range(self.nelem):
        value = real_at(self, i)
        if low <= value <= high:                          # each step rounded to the dtype, as in PyTorch
            at = <int64_t>as_float(as_float(as_float(value - low, wide) * count, wide) / part, wide)
            at = min(at, count - 1)
            put_real(made, at, real_at(made, at) + 1)
    return made


def histc(Tensor self not None, bins=100, min=0, max=0):
    """A kernel: how many elements are in each of `bins` parts of a range; that of the elements where its ends are equal."""
    cdef Tensor made = counted(self, bins, min, max)
    return hook.python_kernel("statistics:histc")(self, bins, min, max) if made is None else made
