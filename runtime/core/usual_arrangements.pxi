"""Few elements arranged anew: channels for pixels, borders, patches, rolled ones. As in usual_launches.pxi the unusual is for Python."""

cdef void copy_along(const char* source, const int64_t* strides, char** to, int d, int nd, const int64_t* sizes, int itemsize) noexcept:
    """Elements into rows, those of a dimension and of all inside of it; strides of the source are in elements."""
    cdef int64_t i, step = strides[d] * itemsize
    if d + 1 < nd:
        for i in range(sizes[d]):
            copy_along(source + i * step, strides, to, d + 1, nd, sizes, itemsize)
        return
    for i in range(sizes[d]):
        if itemsize == 4:
            memcpy(to[0], source, 4)
        else:
            memcpy(to[0], source, itemsize)
        source += step
        to[0] += itemsize


cdef inline bint holds_few(Tensor t) noexcept:
    """Whether a tensor has few elements, which lie in the CPU's memory as what they are, in rows or not."""
    return is_little(t) and not t.keys & (LAZY | WRAPPERS | NARROW)


cdef int split_dims(Tensor t, int batch, int64_t* sizes, int64_t* strides) noexcept:
    """The dimensions before those that are taken apart, as they are."""
    memcpy(sizes, t.sizes, batch * sizeof(int64_t))
    memcpy(strides, t.strides, batch * sizeof(int64_t))
    return batch


cdef inline int put_dim(int64_t* sizes, int64_t* strides, int at, int64_t size, int64_t stride) noexcept:
    sizes[at], strides[at] = size, stride
    return at + 1


cdef Tensor put_in_order(Tensor t, int nd, const int64_t* sizes, const int64_t* strides, Tensor made):
    """The elements of a tensor in the order of such dimensions, in the rows of `made`."""
    cdef char* to = <char*>made.storage.data
    copy_along(tensor_data(t), strides, &to, 0, nd, sizes, t.dt.itemsize)
    return made


def pixel_shuffle(Tensor self not None, upscale_factor):
    """A kernel: (..., C * r * r, H, W) as (..., C, H * r, W * r)."""
    cdef int64_t sizes[MAX_DIMS + 3]
    cdef int64_t strides[MAX_DIMS + 3]
    cdef int64_t shape[MAX_DIMS]
    cdef int64_t r = 0
    cdef int d, batch = self.nd - 3
    if not 3 <= self.nd <= MAX_DIMS - 2 or not holds_few(self) or not numbers_of((upscale_factor,), 1, 1, &r) or self.sizes[batch] % (r * r):
        return hook.python_kernel("sampling:pixel_shuffle")(self, upscale_factor)
    memcpy(shape, self.sizes, self.nd * sizeof(int64_t))
    shape[batch], shape[batch + 1], shape[batch + 2] = shape[batch] // (r * r), shape[batch + 1] * r, shape[batch + 2] * r
    d = split_dims(self, batch, sizes, strides)
    d = put_dim(sizes, strides, d, shape[batch], self.strides[batch] * r * r)
    d = put_dim(sizes, strides, d, self.sizes[batch + 1], self.strides[batch + 1])
    d = put_dim(sizes, strides, d, r, self.strides[batch] * r)
    d = put_dim(sizes, strides, d, self.sizes[batch + 2], self.strides[batch + 2])
    d = put_dim(sizes, strides, d, r, self.strides[batch])
    return put_in_order(self, d, sizes, strides, alloc_sizes(self.nd, shape, self.dt, device_cpu))


def pixel_unshuffle(Tensor self not None, downscale_factor):
    """A kernel: (..., C, H * r, W * r) as (..., C * r * r, H, W)."""
    cdef int64_t sizes[MAX_DIMS + 3]
    cdef int64_t strides[MAX_DIMS + 3]
    cdef int64_t shape[MAX_DIMS]
    cdef int64_t r = 0
    cdef int d, batch = self.nd - 3
    if not 3 <= self.nd <= MAX_DIMS - 2 or not holds_few(self) or not numbers_of((downscale_factor,), 1, 1, &r) \
            or self.sizes[batch + 1] % r or self.sizes[batch + 2] % r:
        return hook.python_kernel("sampling:pixel_unshuffle")(self, downscale_factor)
    memcpy(shape, self.sizes, self.nd * sizeof(int64_t))
    shape[batch], shape[batch + 1], shape[batch + 2] = shape[batch] * r * r, shape[batch + 1] // r, shape[batch + 2] // r
    d = split_dims(self, batch + 1, sizes, strides)
    d = put_dim(sizes, strides, d, r, self.strides[batch + 1])
    d = put_dim(sizes, strides, d, r, self.strides[batch + 2])
    d = put_dim(sizes, strides, d, shape[batch + 1], self.strides[batch + 1] * r)
    d = put_dim(sizes, strides, d, shape[batch + 2], self.strides[batch + 2] * r)
    return put_in_order(self, d, sizes, strides, alloc_sizes(self.nd, shape, self.dt, device_cpu))


def channel_shuffle(Tensor self not None, groups):
    """A kernel: (N, groups * K, ...) with the groups' channels one by one in turn."""
    cdef int64_t sizes[MAX_DIMS + 3]
    cdef int64_t strides[MAX_DIMS + 3]
    cdef int64_t g = 0
    cdef int d
    if not 3 <= self.nd < MAX_DIMS or not holds_few(self) or not numbers_of((groups,), 1, 1, &g) or self.sizes[1] % g:
        return hook.python_kernel("sampling:channel_shuffle")(self, groups)
    d = split_dims(self, 1, sizes, strides)
    d = put_dim(sizes, strides, d, self.sizes[1] // g, self.strides[1])
    d = put_dim(sizes, strides, d, g, self.strides[1] * (self.sizes[1] // g))
    memcpy(sizes + d, self.sizes + 2, (self.nd - 2) * sizeof(int64_t))
    memcpy(strides + d, self.strides + 2, (self.nd - 2) * sizeof(int64_t))
    return put_in_order(self, self.nd + 1, sizes, strides, alloc_sizes(self.nd, self.sizes, self.dt, device_cpu))


# ---------------------------------------------------------------- images made wider, and their patches
cdef inline int64_t within(int64_t at, int64_t size, bint reflects) noexcept:
    """The element that stands at a place beyond the ends, or the one there."""
    if reflects:
        at = -at if at < 0 else at
        return 2 * (size - 1) - at if at >= size else at
    return 0 if at < 0 else size - 1 if at >= size else at


cdef void pad_along(const char* source, const int64_t* strides, char** to, int d, int nd, int first, const int64_t* sizes, const int64_t* places,
                    const int64_t* before, bint reflects, int itemsize) noexcept:
    """The places of a dimension and of all inside of it into rows; those from dimension `first` on are made wider."""
    cdef int64_t i, at
    for i in range(places[d]):
        at = within(i - before[d - first], sizes[d], reflects) if d >= first else i
        if d + 1 < nd:
            pad_along(source + at * strides[d] * itemsize, strides, to, d + 1, nd, first, sizes, places, before, reflects, itemsize)
        else:
            memcpy(to[0], source + at * strides[d] * itemsize, itemsize)
            to[0] += itemsize


cdef Tensor padded(Tensor self, object padding, int dims, bint reflects):
    """An image of few elements with some of them beyond its ends; None for what is looked at in Python."""
    cdef int64_t given[6]
    cdef int64_t before[3]
    cdef int64_t places[5]
    cdef int64_t count = 1
    cdef int d, first = self.nd - dims
    cdef Tensor made
    cdef char* to
    if not (first == 1 or first == 2) or not holds_few(self) or not is_real(self) or len(padding) != 2 * dims \
            or not numbers_of(padding, 2 * dims, -FAR, given):
        return None
    memcpy(places, self.sizes, self.nd * sizeof(int64_t))
    for d in range(dims):
        before[dims - 1 - d] = given[2 * d]
        places[self.nd - 1 - d] += given[2 * d] + given[2 * d + 1]
        if places[self.nd - 1 - d] < 1 or reflects and max(given[2 * d], given[2 * d + 1]) >= self.sizes[self.nd - 1 - d]:
            return None
    for d in range(self.nd):
        count *= places[d]
        if count >= RELEASE_GIL_FROM:
            return None
    made = alloc_sizes(self.nd, places, self.dt, device_cpu)
    to = <char*>made.storage.data
    pad_along(tensor_data(self), self.strides, &to, 0, self.nd, first, self.sizes, places, before, reflects, self.dt.itemsize)
    return made


def reflection_pad1d(Tensor self not None, padding):
    """A kernel: elements beyond the ends of a line, those within from the end on."""
    made = padded(self, padding, 1, True)
    return hook.python_kernel("padding:reflection_pad1d")(self, padding) if made is None else made


def reflection_pad2d(Tensor self not None, padding):
    """A kernel: elements beyond the ends of an image, those within from the end on."""
    made = padded(self, padding, 2, True)
    return hook.python_kernel("padding:reflection_pad2d")(self, padding) if made is None else made


def replication_pad1d(Tensor self not None, padding):
    """A kernel: elements beyond the ends of a line, the last one within."""
    made = padded(self, padding, 1, False)
    return hook.python_kernel("padding:replication_pad1d")(self, padding) if made is None else made


def replication_pad2d(Tensor self not None, padding):
    """A kernel: elements beyond the ends of an image, the last one within."""
    made = padded(self, padding, 2, False)
    return hook.python_kernel("padding:replication_pad2d")(self, padding) if made is None else made


cdef Tensor patches(Tensor self, object kernel, object dilation, object padding, object stride):
    """Patches of few elements as columns; None for what is looked at in Python."""
    cdef Windows w
    cdef int64_t sizes[3]
    cdef int64_t channel, ky, kx, oy, ox, y, x, high, wide, planes = 1
    cdef int d, itemsize = self.dt.itemsize
    cdef Tensor made
    cdef const char* source = tensor_data(self)
    cdef char* to
    if not (self.nd == 3 or self.nd == 4) or not lies_in_rows(self) or not is_real(self) or not numbers_of(kernel, 2, 1, w.kernel) \
            or not numbers_of(dilation, 2, 1, w.dilation) or not numbers_of(padding, 2, 0, w.padding) \
            or not numbers_of(stride, 2, 1, w.stride) or not find_places(&w, 2, self.sizes + self.nd - 2):
        return None
    for d in range(self.nd - 2):
        planes *= self.sizes[d]
    if w.kernel[0] * w.kernel[1] >= RELEASE_GIL_FROM or w.places[0] * w.places[1] >= RELEASE_GIL_FROM \
            or planes * w.kernel[0] * w.kernel[1] * w.places[0] * w.places[1] >= RELEASE_GIL_FROM:
        return None
    high, wide = self.sizes[self.nd - 2], self.sizes[self.nd - 1]
    sizes[0] = self.sizes[0]
    sizes[self.nd - 3], sizes[self.nd - 2] = self.sizes[self.nd - 3] * w.kernel[0] * w.kernel[1], w.places[0] * w.places[1]
    made = alloc_sizes(self.nd - 1, sizes, self.dt, device_cpu)
    to = <char*>made.storage.data
    memset(to, 0, made.nelem * itemsize)
    for channel in range(planes):
        for ky in range(w.kernel[0]):
            for kx in range(w.kernel[1]):
                for oy in range(w.places[0]):
                    y = oy * w.stride[0] - w.padding[0] + ky * w.dilation[0]
                    for ox in range(w.places[1]):
                        x = ox * w.stride[1] - w.padding[1] + kx * w.dilation[1]
                        if 0 <= y < high and 0 <= x < wide:
                            memcpy(to, source + ((channel * high + y) * wide + x) * itemsize, itemsize)
                        to += itemsize
    return made


def im2col(Tensor self not None, kernel_size, dilation, padding, stride):
    """A kernel: patches of images (N, C, H, W) as the columns of matrices (N, C * kernel, patches)."""
    made = patches(self, kernel_size, dilation, padding, stride)
    return hook.python_kernel("padding:im2col")(self, kernel_size, dilation, padding, stride) if made is None else made


cdef Tensor summed_patches(Tensor self, object output_size, object kernel, object dilation, object padding, object stride):
    """Columns of few elements added to where patches lie; None for what is looked at in Python."""
    cdef Windows w
    cdef int64_t sizes[4]
    cdef int64_t image[2]
    cdef int64_t plane, ky, kx, oy, ox, y, x, taps, planes, at = 0, to
    cdef Tensor made
    if not (self.nd == 2 or self.nd == 3) or not lies_in_rows(self) or not is_real(self) or not numbers_of(kernel, 2, 1, w.kernel) \
            or not numbers_of(dilation, 2, 1, w.dilation) or not numbers_of(padding, 2, 0, w.padding) or not numbers_of(stride, 2, 1, w.stride) \
            or not numbers_of(output_size, 2, 1, image) or len(output_size) != 2 or not find_places(&w, 2, image):
        return None
    taps = w.kernel[0] * w.kernel[1]
    if self.nelem >= RELEASE_GIL_FROM or self.sizes[self.nd - 2] % taps or self.sizes[self.nd - 1] != w.places[0] * w.places[1]:
        return None
    planes = self.nelem // (taps * w.places[0] * w.places[1])
    if image[0] * image[1] >= RELEASE_GIL_FROM or planes * image[0] * image[1] >= RELEASE_GIL_FROM:
        return None
    sizes[0] = self.sizes[0]
    sizes[self.nd - 2], sizes[self.nd - 1], sizes[self.nd] = self.sizes[self.nd - 2] // taps, image[0], image[1]
    made = alloc_sizes(self.nd + 1, sizes, self.dt, device_cpu)
    memset(made.storage.data, 0, made.nelem * made.dt.itemsize)
    for plane in range(planes):
        for ky in range(w.kernel[0]):
            for kx in range(w.kernel[1]):
                for oy in range(w.places[0]):
                    y = oy * w.stride[0] - w.padding[0] + ky * w.dilation[0]
                    for ox in range(w.places[1]):
                        x = ox * w.stride[1] - w.padding[1] + kx * w.dilation[1]
                        if 0 <= y < image[0] and 0 <= x < image[1]:
                            to = (plane * image[0] + y) * image[1] + x
                            if self.dt.code == MT_F32:
                                (<float*>made.storage.data)[to] += (<const float*>tensor_data(self))[at]
                            else:
                                (<double*>made.storage.data)[to] += (<const double*>tensor_data(self))[at]
                        at += 1
    return made


def col2im(Tensor self not None, output_size, kernel_size, dilation, padding, stride):
    """A kernel: the columns of matrices (N, C * kernel, patches) added to where patches of images (N, C, H, W) lie."""
    made = summed_patches(self, output_size, kernel_size, dilation, padding, stride)
    if made is None:
        return hook.python_kernel("padding:col2im")(self, output_size, kernel_size, dilation, padding, stride)
    return made


# ---------------------------------------------------------------- rolled
cdef Tensor rolled(Tensor t, object shifts, object dims):
    """Few elements moved along a dimension, or all of them; None for what is looked at in Python."""
    cdef int64_t shift = 0, d = 0, size, inner = t.dt.itemsize, outer, i, cut
    cdef Tensor made
    cdef bint flat
    cdef const char* source
    cdef char* to
    if t.nd == 0 or t.nd > 3 or not is_unfollowed(t) or not lies_in_rows(t) or not (PyList_CheckExact(shifts) or PyTuple_CheckExact(shifts)) \
            or not (PyList_CheckExact(dims) or PyTuple_CheckExact(dims)) or len(shifts) != 1 or len(dims) > 1 \
            or not numbers_of(shifts, 1, -FAR, &shift):
        return None
    flat = len(dims) == 0
    if not flat and (not numbers_of(dims, 1, -MAX_DIMS, &d) or not -t.nd <= d < t.nd):
        return None
    d = d + t.nd if d < 0 else d
    size = t.nelem if flat else t.sizes[d]
    if not flat:
        for i in range(d + 1, t.nd):
            inner *= t.sizes[i]
    outer = t.nelem * t.dt.itemsize // (size * inner)
    cut = (shift % size + size) % size * inner
    made = alloc_sizes(t.nd, t.sizes, t.dt, device_cpu)
    source, to = tensor_data(t), <char*>made.storage.data
    for i in range(outer):
        memcpy(to + cut, source, size * inner - cut)
        memcpy(to, source + size * inner - cut, cut)
        source += size * inner
        to += size * inner
    return made


def roll(Tensor self not None, shifts, dims=()):
    """A kernel: elements moved along dimensions, what leaves at the end coming back at the front; without dimensions flat."""
    cdef Tensor made = rolled(self, shifts, dims)
    return hook.python_kernel("arranging:roll")(self, shifts, dims) if made is None else made
