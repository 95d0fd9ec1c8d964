"""Poolings, whose usual calls are checked and shaped here: windows over lines, images and volumes."""

cdef tuple MAX_POOL_TYPES = (*TWO_DESCRIBED, "ptr", *EIGHT_NUMBERS), AVG_POOL_TYPES = TWO_DESCRIBED + EIGHT_NUMBERS
cdef tuple MAX_POOL3D_TYPES = (*TWO_DESCRIBED, "ptr", *("i64",) * 12), AVG_POOL3D_TYPES = (*TWO_DESCRIBED, *("i64",) * 10)
cdef tuple ADAPTIVE_MAX_TYPES = (*TWO_DESCRIBED, "ptr", "i64"), ADAPTIVE_AVG_TYPES = (*TWO_DESCRIBED, "i64")


cdef inline bint is_image(Tensor t, int dims) noexcept:
    """Whether a tensor is images of so many dimensions, or one, in rows."""
    return (t.nd == dims + 1 or t.nd == dims + 2) and is_whole_in_rows(t)


cdef bint find_windows(Windows* w, int dims, Tensor image, object kernel, object stride, object padding, object dilation) noexcept:
    """The windows of a pooling of images, or of one; False for what is looked at in Python."""
    cdef int d
    if not is_image(image, dims) or not numbers_of(kernel, dims, 1, w.kernel):
        return False
    if (PyList_CheckExact(stride) or PyTuple_CheckExact(stride)) and not stride:
        memcpy(w.stride, w.kernel, sizeof(w.kernel))
    elif not numbers_of(stride, dims, 1, w.stride):
        return False
    if not numbers_of(padding, dims, 0, w.padding) or not numbers_of(dilation, dims, 1, w.dilation):
        return False
    for d in range(dims):
        if w.padding[d] > w.kernel[d] // 2:
            return False
    return find_places(w, dims, image.sizes + image.nd - dims)


cdef Tensor room_for_places(Windows* w, int dims, Tensor image, dtype dt):
    cdef int64_t sizes[5]
    memcpy(sizes, image.sizes, image.nd * sizeof(int64_t))
    memcpy(sizes + image.nd - dims, w.places, dims * sizeof(int64_t))
    return alloc_sizes(image.nd, sizes, dt, device_cpu)


cdef tuple ONE_EACH = (1,)


cdef tuple largest_of_images(int dims, Tensor self, object kernel, object stride, object padding, object dilation):
    """The largest elements of windows, and where in the image they are; None for what is looked at in Python."""
    cdef Windows w
    cdef Tensor found, indices
    if not (is_real(self) or self.dt.code == MT_F16 or self.dt.code == MT_BF16) \
            or not find_windows(&w, dims, self, kernel, stride, padding, dilation):
        return None
    found, indices = room_for_places(&w, dims, self, self.dt), room_for_places(&w, dims, self, dtype_i64)
    if dims == 2:
        c_kernel("mt_max_pool2d", MAX_POOL_TYPES)(self, found, indices, w.kernel[0], w.kernel[1], w.stride[0], w.stride[1],
                                                  w.padding[0], w.padding[1], w.dilation[0], w.dilation[1])
    else:
        c_kernel("mt_max_pool3d", MAX_POOL3D_TYPES)(
            self, found, indices, w.kernel[0], w.kernel[1], w.kernel[2], w.stride[0], w.stride[1], w.stride[2],
            w.padding[0], w.padding[1], w.padding[2], w.dilation[0], w.dilation[1], w.dilation[2])
    return found, indices


def max_pool2d_with_indices(Tensor self not None, kernel_size, stride=(), padding=(0,), dilation=(1,), ceil_mode=False):
    """A kernel: the largest elements of windows, and where in the image they are."""
    cdef tuple found = None if ceil_mode else largest_of_images(2, self, kernel_size, stride, padding, dilation)
    if found is None:
        return hook.python_kernel("pooling:max_pool2d_with_indices")(self, kernel_size, stride, padding, dilation, ceil_mode)
    return found


def max_pool3d_with_indices(Tensor self not None, kernel_size, stride=(), padding=(0,), dilation=(1,), ceil_mode=False):
    """A kernel: the same of volumes."""
    cdef tuple found = None if ceil_mode else largest_of_images(3, self, kernel_size, stride, padding, dilation)
    if found is None:
        return hook.python_kernel("pooling:max_pool3d_with_indices")(self, kernel_size, stride, padding, dilation, ceil_mode)
    return found


cdef bint find_shares(Windows* w, int dims, Tensor image, object output_size) noexcept:
    """Whether so many windows share images out; False for what is looked at in Python."""
    return is_real(image) and is_image(image, dims) and (PyList_CheckExact(output_size) or PyTuple_CheckExact(output_size)) \
        and len(output_size) == dims and numbers_of(output_size, dims, 1, w.places)


cdef tuple largest_of_shares(int dims, Tensor self, object output_size):
    """The largest elements of as many windows, and where in the image they are; None for what is looked at in Python."""
    cdef Windows w
    cdef Tensor found, indices
    if not find_shares(&w, dims, self, output_size):
        return None
    found, indices = room_for_places(&w, dims, self, self.dt), room_for_places(&w, dims, self, dtype_i64)
    c_kernel("mt_adaptive_max_pool", ADAPTIVE_MAX_TYPES)(self, found, indices, dims)
    return found, indices


def adaptive_max_pool2d(Tensor self not None, output_size):
    """A kernel: the largest elements of as many windows, and where in the image they are."""
    cdef tuple found = largest_of_shares(2, self, output_size)
    return hook.python_kernel("pooling:adaptive_max_pool2d")(self, output_size) if found is None else found


def adaptive_max_pool3d(Tensor self not None, output_size):
    """A kernel: the same of volumes."""
    cdef tuple found = largest_of_shares(3, self, output_size)
    return hook.python_kernel("pooling:adaptive_max_pool3d")(self, output_size) if found is None else found


cdef Tensor means_of_shares(int dims, Tensor self, object output_size):
    """The means of as many windows, which are few; None for what is looked at in Python."""
    cdef Windows w
    cdef Tensor found
    if not find_shares(&w, dims, self, output_size):
        return None
    found = room_for_places(&w, dims, self, self.dt)
    if found.nelem >= RELEASE_GIL_FROM:
        return None
    c_kernel("mt_adaptive_avg_pool", ADAPTIVE_AVG_TYPES)(self, found, dims)
    return found


def adaptive_avg_pool2d(Tensor self not None, output_size):
    """A kernel: the means of as many windows."""
    cdef Tensor found = means_of_shares(2, self, output_size)
    return hook.python_kernel("pooling:adaptive_avg_pool2d")(self, output_size) if found is None else found


def adaptive_avg_pool3d(Tensor self not None, output_size):
    """A kernel: the same of volumes."""
    cdef Tensor found = means_of_shares(3, self, output_size)
    return hook.python_kernel("pooling:adaptive_avg_pool3d")(self, output_size) if found is None else found


def avg_pool2d(Tensor self not None, kernel_size, stride=(), padding=(0,), ceil_mode=False, count_include_pad=True, divisor_override=None):
    """A kernel: means of windows of few elements, or their sums by a number."""
    cdef Windows w
    cdef Tensor found
    if ceil_mode or divisor_override is not None or not is_real(self) or not find_windows(&w, 2, self, kernel_size, stride, padding, ONE_EACH) \
            or self.nelem >= RELEASE_GIL_FROM or w.kernel[0] * w.kernel[1] > 16:
        return hook.python_kernel("pooling:avg_pool2d")(self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    found = room_for_places(&w, 2, self, self.dt)
    c_kernel("mt_avg_pool2d", AVG_POOL_TYPES)(self, found, w.kernel[0], w.kernel[1], w.stride[0], w.stride[1], w.padding[0], w.padding[1],
                                              1 if count_include_pad else 0, 0)
    return found


def avg_pool3d(Tensor self not None, kernel_size, stride=(), padding=(0,), ceil_mode=False, count_include_pad=True, divisor_override=None):
    """A kernel: the same of volumes."""
    cdef Windows w
    cdef Tensor found
    if ceil_mode or divisor_override is not None or not is_real(self) or not find_windows(&w, 3, self, kernel_size, stride, padding, ONE_EACH) \
            or self.nelem >= RELEASE_GIL_FROM or w.kernel[0] > 3 or w.kernel[1] > 3 or w.kernel[2] > 3 \
            or w.places[0] * w.places[1] * w.places[2] * w.kernel[0] * w.kernel[1] * w.kernel[2] >= RELEASE_GIL_FROM:
        return hook.python_kernel("pooling:avg_pool3d")(self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    found = room_for_places(&w, 3, self, self.dt)
    c_kernel("mt_avg_pool3d", AVG_POOL3D_TYPES)(self, found, w.kernel[0], w.kernel[1], w.kernel[2], w.stride[0], w.stride[1], w.stride[2],
                                                w.padding[0], w.padding[1], w.padding[2], 1 if count_include_pad else 0)
    return found


cdef Tensor with_a_row(Tensor t):
    """A view of lines in rows as images of one line each."""
    cdef int64_t sizes[4]
    cdef int64_t strides[4]
    cdef int d = t.nd - 1
    memcpy(sizes, t.sizes, t.nd * sizeof(int64_t))
    memcpy(strides, t.strides, t.nd * sizeof(int64_t))
    sizes[d], strides[d], sizes[t.nd], strides[t.nd] = 1, t.sizes[d], t.sizes[d], 1
    return strided(t, t.nd + 1, sizes, strides, t.offset)


cdef Tensor largest_of_lines(Tensor self, object kernel, object stride, object padding, object dilation, object ceil_mode):
    """The largest elements of windows over lines; None for what is looked at in Python."""
    cdef Windows w
    cdef int64_t sizes[3]
    cdef Tensor found
    if ceil_mode or not is_real(self) or not (self.nd == 2 or self.nd == 3) or not is_whole_in_rows(self) \
            or not numbers_of(kernel, 1, 1, w.kernel) or not numbers_of(padding, 1, 0, w.padding) \
            or not numbers_of(dilation, 1, 1, w.dilation) or w.padding[0] > w.kernel[0] // 2 or w.padding[0] > 0 and w.dilation[0] > 1:
        return None                                       # of which windows may lie in the padding alone
    w.stride[0] = w.kernel[0]
    if not ((PyList_CheckExact(stride) or PyTuple_CheckExact(stride)) and not stride) and not numbers_of(stride, 1, 1, w.stride):
        return None
    if not find_places(&w, 1, self.sizes + self.nd - 1):
        return None
    memcpy(sizes, self.sizes, self.nd * sizeof(int64_t))
    sizes[self.nd - 1] = w.places[0]
    found = alloc_sizes(self.nd, sizes, self.dt, device_cpu)
    c_kernel("mt_max_pool2d", MAX_POOL_TYPES)(with_a_row(self), with_a_row(found), None, 1, w.kernel[0], 1, w.stride[0],
                                              0, w.padding[0], 1, w.dilation[0])
    return found


def max_pool1d_alone(Tensor self not None, kernel_size, stride, padding, dilation, ceil_mode):
    """A kernel: the largest elements of windows over lines."""
    cdef Tensor found = largest_of_lines(self, kernel_size, stride, padding, dilation, ceil_mode)
    if found is None:
        return hook.python_kernel("pooling:max_pool1d_alone")(self, kernel_size, stride, padding, dilation, ceil_mode)
    return found


def max_pool1d(Tensor self not None, kernel_size, stride=(), padding=(0,), dilation=(1,), ceil_mode=False):
    """A kernel: the largest elements of windows over lines, where they are only for a gradient."""
    cdef Tensor found = largest_of_lines(self, kernel_size, stride, padding, dilation, ceil_mode) if is_unfollowed(self) else None
    if found is None:
        return hook.python_kernel("pooling:max_pool1d")(self, kernel_size, stride, padding, dilation, ceil_mode)
    return found


# ---------------------------------------------------------------- windows that begin by chance
cdef tuple largest_by_chance(int dims, Tensor self, object kernel, object output_size, Tensor samples):
    """The largest elements of windows, and where in the image they are; None for what is looked at in Python."""
    cdef Windows w
    cdef int64_t k[3]
    cdef int d
    cdef Tensor found, indices
    if not is_real(self) or samples.dt is not self.dt or not is_image(self, dims) or samples.nd != 3 or not is_whole_in_rows(samples) \
            or samples.sizes[0] < (self.sizes[0] if self.nd == dims + 2 else 1) or samples.sizes[1] != self.sizes[self.nd - dims - 1] \
            or samples.sizes[2] != dims or not numbers_of(kernel, dims, 1, w.kernel) or not numbers_of(output_size, dims, 1, w.places) \
            or len(kernel) != dims or len(output_size) != dims:      # a list of one number does not stand for all, as in PyTorch
        return None
    for d in range(3):
        k[d] = 1 if d < 3 - dims else w.kernel[d - 3 + dims]
        if d < dims and w.places[d] + w.kernel[d] - 1 > self.sizes[self.nd - dims + d]:
            return None
    found, indices = room_for_places(&w, dims, self, self.dt), room_for_places(&w, dims, self, dtype_i64)
    c_kernel("mt_fractional_max_pool", BY_CHANCE_TYPES)(self, samples, found, indices, k[0], k[1], k[2])
    return found, indices


cdef tuple BY_CHANCE_TYPES = (*("desc",) * 3, "ptr", *("i64",) * 3)


def fractional_max_pool2d(Tensor self not None, kernel_size, output_size, Tensor random_samples not None):
    """A kernel: the largest elements of windows that begin by chance, and where in the image they are."""
    cdef tuple found = largest_by_chance(2, self, kernel_size, output_size, random_samples)
    return hook.python_kernel("pooling:fractional_max_pool2d")(self, kernel_size, output_size, random_samples) if found is None else found


def fractional_max_pool3d(Tensor self not None, kernel_size, output_size, Tensor random_samples not None):
    """A kernel: the same of volumes."""
    cdef tuple found = largest_by_chance(3, self, kernel_size, output_size, random_samples)
    return hook.python_kernel("pooling:fractional_max_pool3d")(self, kernel_size, output_size, random_samples) if found is None else found
