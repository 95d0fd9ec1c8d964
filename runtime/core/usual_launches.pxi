"""Kernels of C++ whose usual calls are checked and shaped here: windows over images, convolution, attention, borders, norms.

What is unusual, or wrong, is for the kernels in Python, which do the same and know what to say.
"""

cdef extern from "<math.h>":
    double sqrt(double value)

cdef enum:
    FAR = 1 << 20              # numbers of windows below it cannot overflow

cdef dict bound_kernels = {}


cdef object c_kernel(str name, tuple types):
    """A function of the library of CPU kernels, bound once."""
    cdef object found = bound_kernels.get(name)
    if found is None:
        found = bound_kernels[name] = hook.python_kernel("_native:native")(name, *types)
    return found


cdef tuple TWO_DESCRIBED = ("desc",) * 2, EIGHT_NUMBERS = ("i64",) * 8
cdef tuple CONVOLUTION_TYPES = ("desc",) * 3 + ("i64",) * 12, ATTENTION_TYPES = ("desc",) * 6 + ("f64", "i64", "i64")


cdef bint numbers_of(object given, int count, int64_t least, int64_t* numbers) noexcept:
    """So many numbers from `least` on, of a list of as many or of one for all; False for what is looked at in Python."""
    cdef Py_ssize_t n, i
    cdef PyObject* item
    cdef int overflow = 0
    if not (PyList_CheckExact(given) or PyTuple_CheckExact(given)):
        return False
    n = PyList_GET_SIZE(given) if PyList_CheckExact(given) else PyTuple_GET_SIZE(given)
    if n != count and n != 1:
        return False
    for i in range(count):
        item = PyList_GET_ITEM(given, i % n) if PyList_CheckExact(given) else PyTuple_GET_ITEM(given, i % n)
        if not PyLong_CheckExact(<object>item):
            return False
        numbers[i] = PyLong_AsLongLongAndOverflow(<object>item, &overflow)
        if overflow or not least <= numbers[i] < FAR:
            return False
    return True


cdef inline bint is_whole_in_rows(Tensor t) noexcept:
    """Whether a tensor lies in rows in the CPU's memory, as what it is."""
    return t.dev.type_code == KEY_CPU and t.contig and t.nelem > 0 and not t.keys & (LAZY | WRAPPERS | NARROW)


cdef inline bint is_real(Tensor t) noexcept:
    return t.dt.code == MT_F32 or t.dt.code == MT_F64


cdef inline bint is_unfollowed(Tensor t) noexcept:
    """Whether an operator that is composed of others may be computed at once: nobody sees which, and nothing is recorded."""
    return is_plain(t) and (mt_state.grad_off or not needs_grad(t)) and not mt_state.transform and not forward_levels


# ---------------------------------------------------------------- windows
cdef struct Windows:
    int64_t kernel[3]
    int64_t stride[3]
    int64_t padding[3]
    int64_t dilation[3]
    int64_t places[3]          # how many windows there are


cdef bint find_places(Windows* w, int dims, const int64_t* sizes) noexcept:
    """How many windows lie along each dimension; False where one has none."""
    cdef int d
    cdef int64_t reach
    for d in range(dims):
        reach = w.dilation[d] * (w.kernel[d] - 1) + 1
        if sizes[d] >= <int64_t>1 << 40 or sizes[d] + 2 * w.padding[d] < reach:
            return False
        w.places[d] = (sizes[d] + 2 * w.padding[d] - reach) // w.stride[d] + 1
    return True


# ---------------------------------------------------------------- convolution
cdef Tensor with_three_dims(Tensor t):
    """A view of images in rows of fewer dimensions, with such of size 1 put in after the first two."""
    cdef int64_t sizes[5]
    cdef int64_t strides[5]
    cdef int64_t step = 1
    cdef int d
    for d in range(5):
        sizes[d] = t.sizes[d] if d < 2 else 1 if d < 7 - t.nd else t.sizes[d - 5 + t.nd]
    for d in range(4, -1, -1):
        strides[d] = step
        step *= sizes[d]
    return strided(t, 5, sizes, strides, t.offset)


cdef void repeat_along(Tensor out, Tensor bias) noexcept:
    """A number for each channel, written all over it."""
    cdef int64_t row, i, count = out.nelem // (out.sizes[0] * out.sizes[1]), at
    for row in range(out.sizes[0] * out.sizes[1]):
        at = row % out.sizes[1]
        for i in range(row * count, (row + 1) * count):
            if out.dt.code == MT_F32:
                (<float*>out.storage.data)[i] = (<const float*>tensor_data(bias))[at]
            else:
                (<double*>out.storage.data)[i] = (<const double*>tensor_data(bias))[at]


cdef bint find_transposed(Windows* w, int dims, const int64_t* sizes, const int64_t* more) noexcept:
    """How many elements lie along each dimension of a transposed convolution; False where there are none, or too many."""
    cdef int d
    for d in range(dims):
        if sizes[d] >= FAR or more[d] >= w.stride[d] and more[d] >= w.dilation[d]:
            return False
        w.places[d] = (sizes[d] - 1) * w.stride[d] - 2 * w.padding[d] + w.dilation[d] * (w.kernel[d] - 1) + 1 + more[d]
        if not 0 < w.places[d] < FAR:
            return False
    return True


cdef Tensor convolved(Tensor input, Tensor weight, Tensor bias, object stride, object padding, object dilation, object more, bint transposed,
                      int64_t groups):
    """A convolution of one to three dimensions; None for what is looked at in Python."""
    cdef Windows w
    cdef int64_t sizes[5]
    cdef int64_t extra[3]
    cdef int64_t filters
    cdef int d, dims = input.nd - 2
    cdef Tensor out
    if not 1 <= dims <= 3 or weight.nd != input.nd or not is_real(input) or weight.dt is not input.dt \
            or not is_whole_in_rows(input) or not is_whole_in_rows(weight) or not 1 <= groups < FAR:
        return None
    if not numbers_of(stride, dims, 1, w.stride) or not numbers_of(padding, dims, 0, w.padding) or not numbers_of(dilation, dims, 1, w.dilation):
        return None
    for d in range(dims):
        w.kernel[d] = weight.sizes[2 + d]
        if w.kernel[d] >= FAR:
            return None
    if weight.sizes[0] % groups or weight.sizes[1] >= <int64_t>1 << 40:
        return None
    if transposed:
        if input.sizes[1] != weight.sizes[0] or not numbers_of(more, dims, 0, extra) or not find_transposed(&w, dims, input.sizes + 2, extra):
            return None
    elif input.sizes[1] != weight.sizes[1] * groups or not find_places(&w, dims, input.sizes + 2):
        return None
    filters = weight.sizes[1] * groups if transposed else weight.sizes[0]
    if bias is not None and (bias.nd != 1 or bias.sizes[0] != filters or bias.dt is not input.dt or not is_whole_in_rows(bias)):
        return None
    sizes[0], sizes[1] = input.sizes[0], filters
    memcpy(sizes + 2, w.places, dims * sizeof(int64_t))
    out = alloc_sizes(input.nd, sizes, input.dt, device_cpu)
    if bias is not None:
        if out.nelem >= RELEASE_GIL_FROM:
            return None
        repeat_along(out, bias)
    for d in range(2, -1, -1):                            # of fewer dimensions there are such of size 1 before them
        if d >= 3 - dims:
            w.stride[d], w.padding[d], w.dilation[d] = w.stride[d - 3 + dims], w.padding[d - 3 + dims], w.dilation[d - 3 + dims]
        else:
            w.stride[d], w.padding[d], w.dilation[d] = 1, 0, 1
    c_kernel("mt_convolution", CONVOLUTION_TYPES)(
        with_three_dims(out if transposed else input), with_three_dims(weight), with_three_dims(input if transposed else out),
        1 if transposed else 0, 0 if bias is not None else 1, groups, w.stride[0], w.stride[1], w.stride[2],
        w.padding[0], w.padding[1], w.padding[2], w.dilation[0], w.dilation[1], w.dilation[2])
    return out


def convolution(Tensor input not None, Tensor weight not None, Tensor bias, stride, padding, dilation, transposed, output_padding, groups):
    """A kernel: the convolution of a batch of channels with filters, or a transposed one."""
    cdef Tensor out = None
    if PyLong_CheckExact(groups) and 0 < groups < FAR and input.dev is weight.dev:
        out = convolved(input, weight, bias, stride, padding, dilation, output_padding, transposed, groups)
    if out is None:
        return hook.python_kernel("convolution:convolution")(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
    return out


# ---------------------------------------------------------------- attention
cdef inline bint is_attended(Tensor t, Tensor query) noexcept:
    return t.nd == 4 and t.dt is query.dt and t.dev.type_code == KEY_CPU and t.nelem > 0 and not t.keys & (LAZY | WRAPPERS | NARROW) \
        and t.sizes[0] == query.sizes[0] and t.sizes[3] == query.sizes[3]


def flash_attention(Tensor query not None, Tensor key not None, Tensor value not None, dropout_p=0.0, is_causal=False, *, attn_mask=None, scale=None):
    """A kernel: attention in blocks, and the logarithms of the softmax's sums."""
    cdef int64_t sizes[4]
    cdef Tensor out, logs
    if attn_mask is not None or dropout_p != 0 or not is_real(query) or not is_attended(query, query) or not is_attended(key, query) \
            or not is_attended(value, query) or key.sizes[1] != value.sizes[1] or key.sizes[2] != value.sizes[2] \
            or query.sizes[1] % key.sizes[1]:
        return hook.python_kernel("scaled_attention:flash_attention")(query, key, value, dropout_p, is_causal, attn_mask=attn_mask, scale=scale)
    sizes[0], sizes[1], sizes[2], sizes[3] = query.sizes[0], query.sizes[2], query.sizes[1], query.sizes[3]
    out = <Tensor>transposed(alloc_sizes(4, sizes, query.dt, device_cpu), 1, 2)
    logs = <Tensor>transposed(alloc_sizes(3, sizes, query.dt, device_cpu), 1, 2)
    c_kernel("mt_attention", ATTENTION_TYPES)(query, key, value, query, out, logs, 1 / sqrt(<double>query.sizes[3]) if scale is None else scale,
                                              1 if is_causal else 0, 0)
    return out, logs


# ---------------------------------------------------------------- borders
cdef void put_inside(const char* source, char* to, int d, Tensor part, Tensor whole, const int64_t* before, const int64_t* after) noexcept:
    """Copies what is kept of the dimensions from `d` on to its place among what was added."""
    cdef int64_t skipped = max(-before[d], 0), count = part.sizes[d] - skipped + min(after[d], 0), i
    cdef int64_t step = part.strides[d] * part.dt.itemsize, wide = whole.strides[d] * part.dt.itemsize
    source += skipped * step
    to += max(before[d], 0) * wide
    if d + 1 == part.nd:
        memcpy(to, source, count * part.dt.itemsize)
    else:
        for i in range(count):
            put_inside(source + i * step, to + i * wide, d + 1, part, whole, before, after)


cdef Tensor with_border(Tensor self, object pad, object value):
    """A number around few elements in rows; None for what is looked at in Python."""
    cdef int64_t given[MAX_DIMS]
    cdef int64_t before[MAX_DIMS]
    cdef int64_t after[MAX_DIMS]
    cdef int64_t sizes[MAX_DIMS]
    cdef int64_t count = 1
    cdef int d, width
    cdef Tensor made
    if not lies_in_rows(self) or self.nd == 0 or not (PyList_CheckExact(pad) or PyTuple_CheckExact(pad)):
        return None
    width = <int>min(len(pad), MAX_DIMS + 1)
    if width < 2 or width % 2 or width > MAX_DIMS or width > 2 * self.nd or not numbers_of(pad, width, -FAR, given):
        return None
    for d in range(self.nd):
        before[d] = after[d] = 0
    for d in range(width // 2):
        before[self.nd - 1 - d], after[self.nd - 1 - d] = given[2 * d], given[2 * d + 1]
    for d in range(self.nd):
        sizes[d] = self.sizes[d] + before[d] + after[d]
        if sizes[d] <= 0 or sizes[d] >= RELEASE_GIL_FROM or self.sizes[d] + min(before[d], 0) + min(after[d], 0) <= 0:
            return None
        count *= sizes[d]
        if count >= RELEASE_GIL_FROM:
            return None
    made = alloc_sizes(self.nd, sizes, self.dt, device_cpu)
    if not fill_little(made, value):
        return None
    put_inside(tensor_data(self), <char*>made.storage.data, 0, self, made, before, after)
    return made


def constant_pad_nd(Tensor self not None, pad, value=0):
    """A kernel: a number around the tensor, or less of the tensor where `pad` is negative."""
    cdef Tensor made = with_border(self, pad, value)
    return hook.python_kernel("padding:constant_pad_nd")(self, pad, value) if made is None else made


# ---------------------------------------------------------------- reductions
cdef tuple VECTOR_NORM_TYPES = (*TWO_DESCRIBED, "u64", "f64"), SPREAD_TYPES = ("desc",) * 3 + ("u64", "f64", "i64")


cdef bint reduced_of(Tensor t, object dim, uint64_t* reduced) noexcept:
    """The dimensions that are reduced, a bit each: all without any; False for what is looked at in Python."""
    cdef int64_t given[MAX_DIMS]
    cdef Py_ssize_t i, n
    cdef int64_t d
    if t.nd == 0 or t.nd >= MAX_DIMS:
        return False
    if dim is None or (PyList_CheckExact(dim) or PyTuple_CheckExact(dim)) and not dim:
        reduced[0] = (<uint64_t>1 << t.nd) - 1
        return True
    if not (PyList_CheckExact(dim) or PyTuple_CheckExact(dim)):
        return False
    n = PyList_GET_SIZE(dim) if PyList_CheckExact(dim) else PyTuple_GET_SIZE(dim)
    if n > t.nd or not numbers_of(dim, <int>n, -MAX_DIMS, given):
        return False
    reduced[0] = 0
    for i in range(n):
        d = given[i] + t.nd if given[i] < 0 else given[i]
        if not 0 <= d < t.nd or reduced[0] >> d & 1:
            return False
        reduced[0] |= <uint64_t>1 << d
    return True


cdef Tensor room_for_reduced(Tensor t, uint64_t reduced, bint keepdim):
    cdef int64_t sizes[MAX_DIMS]
    cdef int d, nd = 0
    for d in range(t.nd):
        if keepdim or not reduced >> d & 1:
            sizes[nd] = 1 if reduced >> d & 1 else t.sizes[d]
            nd += 1
    return alloc_sizes(nd, sizes, t.dt, device_cpu)


def vector_norm(Tensor self not None, ord=2, dim=None, keepdim=False, *, dtype=None):
    """A kernel: the norm of order 2 of several elements each, or of another order."""
    cdef uint64_t reduced
    cdef Tensor found
    if (type(ord) is int or type(ord) is float) and ord == 2 and dtype is None and (is_real(self) or self.dt.code == MT_F16 or self.dt.code == MT_BF16) \
            and not self.keys & (LAZY | WRAPPERS | NARROW) and self.nelem > 1 and reduced_of(self, dim, &reduced):
        found = room_for_reduced(self, reduced, keepdim)
        if found.nelem < self.nelem:             # the square of one element may be beyond its dtype
            c_kernel("mt_vector_norm", VECTOR_NORM_TYPES)(self, found, reduced, 2.0)
            return found
    return hook.python_kernel("statistics:vector_norm_cpu")(self, ord, dim, keepdim, dtype=dtype)


cdef tuple spread(str name, Tensor t, object dim, object correction, object keepdim):
    """Variances, or their roots, and means of few elements; None for what is looked at in Python."""
    cdef uint64_t reduced
    cdef Tensor found, mean
    cdef double fewer
    if not is_real(t) or not is_whole_in_rows(t) or t.nelem >= RELEASE_GIL_FROM or not reduced_of(t, dim, &reduced) \
            or not (correction is None or type(correction) is int or type(correction) is float):
        return None
    found, mean = room_for_reduced(t, reduced, keepdim), room_for_reduced(t, reduced, keepdim)
    fewer = 1.0 if correction is None else <double>correction
    if t.nelem <= fewer * found.nelem:           # which is warned of
        return None
    c_kernel("mt_var_mean", SPREAD_TYPES)(t, found, mean, reduced, fewer, name == "std_mean")
    return found, mean


def var_mean(Tensor self not None, dim=None, *, correction=None, keepdim=False):
    """A kernel: the variance and the mean."""
    found = spread("var_mean", self, dim, correction, keepdim)
    return hook.python_kernel("statistics:var_mean")(self, dim, correction=correction, keepdim=keepdim) if found is None else found


def std_mean(Tensor self not None, dim=None, *, correction=None, keepdim=False):
    """A kernel: the standard deviation and the mean."""
    found = spread("std_mean", self, dim, correction, keepdim)
    return hook.python_kernel("statistics:std_mean")(self, dim, correction=correction, keepdim=keepdim) if found is None else found


# ---------------------------------------------------------------- normalization
cdef tuple BATCH_NORM_TYPES = ("desc",) * 8 + ("i64",) * 3 + ("f64",) * 2, GROUPS_TYPES = ("desc", "ptr", "ptr", "ptr", "desc", "ptr", "f64")


cdef bint is_number_each(Tensor given, int64_t count, Tensor image) noexcept:
    """Whether there is a number for each of so many channels, or none is given."""
    return given is None or given.nd == 1 and given.nelem == count and given.dt is image.dt and is_whole_in_rows(given)


def native_batch_norm(Tensor input not None, Tensor weight, Tensor bias, Tensor running_mean, Tensor running_var, training, momentum, eps):
    """A kernel: each channel by the batch's mean and variance while training, else by running ones; while training these, too."""
    cdef Tensor out, mean, root
    cdef int64_t count = input.sizes[1] if input.nd > 1 else 0, saved
    cdef int i, mask = 64
    if input.nd < 2 or not is_real(input) or not is_whole_in_rows(input) or not training and (running_mean is None or running_var is None) \
            or not is_number_each(weight, count, input) or not is_number_each(bias, count, input) \
            or not is_number_each(running_mean, count, input) or not is_number_each(running_var, count, input):
        return hook.python_kernel("batch_normalization:native_batch_norm")(input, weight, bias, running_mean, running_var, training, momentum, eps)
    out, saved = alloc_sizes(input.nd, input.sizes, input.dt, device_cpu), count if training else 0
    mean, root = alloc_sizes(1, &saved, input.dt, device_cpu), alloc_sizes(1, &saved, input.dt, device_cpu)
    mask |= (weight is not None) | (bias is not None) << 1 | (running_mean is not None) << 2 | (running_var is not None) << 3
    if training:
        mask |= 48
    c_kernel("mt_batch_norm", BATCH_NORM_TYPES)(
        input, input if weight is None else weight, input if bias is None else bias, input if running_mean is None else running_mean,
        input if running_var is None else running_var, mean if training else input, root if training else input, out,
        mask, 1 if training else 0, 0, momentum, eps)
    return out, mean, root


cdef Tensor narrowed(Tensor wide, dtype dt):
    """A matrix of float64 in another dtype of few elements, or itself."""
    cdef Tensor made
    cdef int64_t i
    if dt is wide.dt:
        return wide
    made = alloc_sizes(wide.nd, wide.sizes, dt, device_cpu)
    for i in range(wide.nelem):
        (<float*>made.storage.data)[i] = <float>(<const double*>wide.storage.data)[i]
    return made


def native_group_norm(Tensor input not None, Tensor weight, Tensor bias, n, c, area, group, eps):
    """A kernel: each group of channels of each sample by its mean and variance; these means, and 1 / the roots of the variances."""
    cdef int64_t numbers[4]
    cdef int64_t sizes[2]
    cdef int64_t strides[2]
    cdef Tensor out, means, roots
    if not is_real(input) or not is_whole_in_rows(input) or not numbers_of((n, c, area, group), 4, 1, numbers) or numbers[1] % numbers[3] \
            or numbers[0] * numbers[1] >= RELEASE_GIL_FROM or input.nelem != numbers[0] * numbers[1] * numbers[2] \
            or not is_number_each(weight, numbers[1], input) or not is_number_each(bias, numbers[1], input):
        return hook.python_kernel("group_normalization:native_group_norm")(input, weight, bias, n, c, area, group, eps)
    out = alloc_sizes(input.nd, input.sizes, input.dt, device_cpu)
    sizes[0], sizes[1] = numbers[0], numbers[3]
    means, roots = alloc_sizes(2, sizes, dtype_f64, device_cpu), alloc_sizes(2, sizes, dtype_f64, device_cpu)
    sizes[0], sizes[1], strides[0], strides[1] = numbers[0] * numbers[1], numbers[2], numbers[2], 1
    c_kernel("mt_normalize_groups", GROUPS_TYPES)(strided(input, 2, sizes, strides, input.offset), weight, bias, out, means, roots, eps)
    return out, narrowed(means, input.dt), narrowed(roots, input.dt)


# ---------------------------------------------------------------- images of another size
cdef Tensor doubled(Tensor image, object output_size, object scales):
    """Few images in which each element is there twice along a dimension, or once; None for what is looked at in Python."""
    cdef int64_t places[2]
    cdef int64_t sizes[4]
    cdef int64_t row, x, high, wide
    cdef int itemsize = image.dt.itemsize, d
    cdef Tensor made
    cdef const char* line
    cdef char* to
    if image.nd != 4 or not lies_in_rows(image) or image.dt.category != CATEGORY_FLOAT and image.dt.code != MT_U8 \
            or not numbers_of(output_size, 2, 1, places) or len(output_size) != 2:
        return None
    for d in range(2):
        if places[d] != image.sizes[2 + d] and places[d] != 2 * image.sizes[2 + d]:
            return None
        if places[0] + places[1] > 128 and scales[d] is not None and scales[d] * image.sizes[2 + d] != places[d]:
            return None                                   # to which PyTorch goes by the scale
    sizes[0], sizes[1], sizes[2], sizes[3] = image.sizes[0], image.sizes[1], places[0], places[1]
    made = alloc_sizes(4, sizes, image.dt, device_cpu)
    high, wide = places[0] // image.sizes[2], places[1] // image.sizes[3]
    to = <char*>made.storage.data
    for row in range(image.sizes[0] * image.sizes[1] * places[0]):
        line = tensor_data(image) + row // high * image.sizes[3] * itemsize
        for x in range(places[1]):
            memcpy(to, line + x // wide * itemsize, itemsize)
            to += itemsize
    return made


def upsample_nearest2d(Tensor self not None, output_size, scales_h=None, scales_w=None):
    """A kernel: images of another size, by the nearest element that begins before."""
    cdef Tensor made = doubled(self, output_size, (scales_h, scales_w))
    return hook.python_kernel("resampling:nearest2d")(self, output_size, scales_h, scales_w) if made is None else made


cdef tuple SAMPLE_TYPES = (*("desc",) * 3, *("i64",) * 3)


cdef Tensor sampled(Tensor image, Tensor grid, object mode, object padding, object align):
    """Images at the places of a grid; None for what is looked at in Python."""
    cdef int64_t sizes[5]
    cdef int d, nd = image.nd
    cdef Tensor made
    if not (nd == 4 or nd == 5) or grid.nd != nd or not is_real(image) or grid.dt is not image.dt or not is_whole_in_rows(image) \
            or not is_whole_in_rows(grid) or image.sizes[0] != grid.sizes[0] or grid.sizes[nd - 1] != nd - 2 or image.nelem >= 1 << 31 \
            or not PyLong_CheckExact(mode) or not PyLong_CheckExact(padding) or nd == 5 and mode == 2:
        return None
    sizes[0], sizes[1] = image.sizes[0], image.sizes[1]
    for d in range(1, nd - 1):
        sizes[d + 1] = grid.sizes[d]
    made = alloc_sizes(nd, sizes, image.dt, device_cpu)
    c_kernel("mt_grid_sample", SAMPLE_TYPES)(image, grid, made, mode, padding, 1 if align else 0)
    return made


def grid_sampler(Tensor input not None, Tensor grid not None, interpolation_mode, padding_mode, align_corners):
    """A kernel: images or volumes at the places of a grid."""
    cdef Tensor made = sampled(input, grid, interpolation_mode, padding_mode, align_corners)
    if made is None:
        return hook.python_kernel("sampling:grid_sampler_nd")(input, grid, interpolation_mode, padding_mode, align_corners)
    return made
