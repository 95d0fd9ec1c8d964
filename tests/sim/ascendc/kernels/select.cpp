// Compare, CompareScalar and Select: maximum and clipping spelt with masks.
#include "tile.h"

using namespace AscendC;

template <typename T>
class Masks {
 public:
  __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR bits, GM_ADDR z, uint32_t n) {
    this->n = n;
    xGm.SetGlobalBuffer((__gm__ T*)x, n);
    yGm.SetGlobalBuffer((__gm__ T*)y, n);
    zGm.SetGlobalBuffer((__gm__ T*)z, n);
    bitsGm.SetGlobalBuffer((__gm__ uint8_t*)bits, n / 8);
    pipe.InitBuffer(bufX, n * sizeof(T));
    pipe.InitBuffer(bufY, n * sizeof(T));
    pipe.InitBuffer(bufZ, n * sizeof(T));
    pipe.InitBuffer(bufBits, n / 8);
  }
  __aicore__ inline void Process(CMPMODE mode, bool scalar, float value) {
    LocalTensor<T> a = bufX.template Get<T>(), b = bufY.template Get<T>(), c = bufZ.template Get<T>();
    LocalTensor<uint8_t> mask = bufBits.template Get<uint8_t>();
    DataCopy(a, xGm, n);
    DataCopy(b, yGm, n);
    Then<HardEvent::MTE2_V>();
    Duplicate(mask.template ReinterpretCast<uint16_t>(), uint16_t(0), n / 16);
    if (scalar) {
      CompareScalar(mask, a, static_cast<T>(value), mode, n);
      Select(c, mask, a, static_cast<T>(value), SELMODE::VSEL_TENSOR_SCALAR_MODE, n);
    } else {
      Compare(mask, a, b, mode, n);
      Select(c, mask, a, b, SELMODE::VSEL_TENSOR_TENSOR_MODE, n);
    }
    Then<HardEvent::V_MTE3>();
    DataCopyPad(bitsGm, mask, DataCopyExtParams(1, n / 8, 0, 0, 0));
    DataCopy(zGm, c, n);
  }

 private:
  TPipe pipe;
  TBuf<> bufX, bufY, bufZ, bufBits;
  GlobalTensor<T> xGm, yGm, zGm;
  GlobalTensor<uint8_t> bitsGm;
  uint32_t n;
};

extern "C" __global__ __aicore__ void select_float(GM_ADDR x, GM_ADDR y, GM_ADDR bits, GM_ADDR z, int32_t mode,
    bool scalar,
                                                    float value, uint32_t n) {
  Masks<float> op;
  op.Init(x, y, bits, z, n);
  op.Process(static_cast<CMPMODE>(mode), scalar, value);
}

extern "C" __global__ __aicore__ void select_half(GM_ADDR x, GM_ADDR y, GM_ADDR bits, GM_ADDR z, int32_t mode,
    bool scalar,
                                                   float value, uint32_t n) {
  Masks<half> op;
  op.Init(x, y, bits, z, n);
  op.Process(static_cast<CMPMODE>(mode), scalar, value);
}
