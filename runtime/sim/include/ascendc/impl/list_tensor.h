// Lists of tensors: a dynamic input or output of an operator, as one address of device memory.
#pragma once

#include "tensor.h"

namespace AscendC {

/// The shape of one of a list's tensors, and where its elements are.
template <typename T>
class TensorDesc {
 public:
  /// Where GetDesc writes the sizes: an array of the kernel's own.
  void SetShapeAddr(uint64_t* shapePtr) { shape_ = shapePtr; }
  uint64_t GetDim() const { return dim_; }
  uint64_t GetIndex() const { return index_; }
  uint64_t GetShape(uint32_t offset) const {
    if (offset >= dim_) mtsim::fault({"out-of-range"}, mtsim::kVectorCoreException,
        "TensorDesc::GetShape: dimension %u of a tensor of %llu", offset, static_cast<unsigned long long>(dim_));
    return shape_[offset];
  }
  T* GetDataPtr() const { return data_; }
  GlobalTensor<T> GetDataObj() const {
    GlobalTensor<T> tensor;
    tensor.SetGlobalBuffer(data_);
    return tensor;
  }

 private:
  friend class ListTensorDesc;
  uint64_t* shape_ = nullptr;
  uint64_t dim_ = 0, index_ = 0;
  T* data_ = nullptr;
};

/// In memory: the offset in bytes of the addresses; for each tensor a word with the number of its dimensions below and
/// its index above, and its sizes; then the addresses.
class ListTensorDesc {
 public:
  ListTensorDesc() = default;
  ListTensorDesc(__gm__ void* data, uint32_t length = UINT32_MAX, uint32_t shapeSize = UINT32_MAX) {
    Init(data, length, shapeSize);
  }
  void Init(__gm__ void* data, uint32_t = UINT32_MAX, uint32_t = UINT32_MAX) {
    words_.SetGlobalBuffer(static_cast<uint64_t*>(data));
    const uint64_t offset = words_.GetValue(0);
    if (offset % sizeof(uint64_t) != 0 || offset == 0)
      mtsim::fault({"list"}, mtsim::kVectorCoreException,
                   "ListTensorDesc: no list of tensors is at this address: it begins with %llu, which is no offset",
                   static_cast<unsigned long long>(offset));
    addresses_ = offset / sizeof(uint64_t);
    size_ = 0;
    for (uint64_t at = 1; at < addresses_; at += 1 + dimensions(at)) ++size_;
  }
  uint32_t GetSize() const { return size_; }

  template <typename T>
  T* GetDataPtr(uint32_t index) const {
    expect(index, "GetDataPtr");
    return static_cast<T*>(mtsim_kernel_alias(reinterpret_cast<void*>(words_.GetValue(addresses_ + index))));
  }
  template <typename T>
  void GetDesc(TensorDesc<T>& desc, uint32_t index) const {
    expect(index, "GetDesc");
    uint64_t at = 1;
    for (uint32_t i = 0; i < index; ++i) at += 1 + dimensions(at);
    desc.dim_ = dimensions(at);
    desc.index_ = words_.GetValue(at) >> 32;
    for (uint64_t i = 0; desc.shape_ != nullptr && i < desc.dim_; ++i) desc.shape_[i] = words_.GetValue(at + 1 + i);
    desc.data_ = GetDataPtr<T>(index);
  }

 private:
  uint64_t dimensions(uint64_t at) const { return words_.GetValue(at) & UINT32_MAX; }
  void expect(uint32_t index, const char* what) const {
    if (index >= size_) mtsim::fault({"out-of-range"}, mtsim::kVectorCoreException,
        "ListTensorDesc::%s: tensor %u of a list of %u", what, index, size_);
  }

  GlobalTensor<uint64_t> words_;
  uint64_t addresses_ = 0;
  uint32_t size_ = 0;
};

}  // namespace AscendC
