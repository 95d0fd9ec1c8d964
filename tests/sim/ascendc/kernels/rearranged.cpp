// Elements that change places: region proposals, exchanged axes, a queue in L1, layouts, and a barrier for memory.
#include "product.h"
#include "lib/transpose/confusion_transpose.h"

using namespace AscendC;

// Scores and labels of 32 elements as proposals, which are sorted in two groups and taken apart again.
template <typename T>
__aicore__ inline void Ranked(GM_ADDR scores, GM_ADDR labels, GM_ADDR y) {
  TPipe pipe;
  Tile<T> score(pipe, scores, 32), label(pipe, labels, 32), out(pipe, y, 64);
  TBuf<> buffer;
  pipe.InitBuffer(buffer, 2 * 32 * 8 * sizeof(T));
  LocalTensor<T> proposals = buffer.Get<T>(), sorted = proposals[256];
  score.load(), label.load();
  ProposalConcat(proposals, score.local(), 2, 4);
  ProposalConcat(proposals, label.local(), 2, 5);
  RpSort16(sorted, proposals, 2);
  ProposalExtract(out.local(), sorted, 2, 4);
  ProposalExtract(out.local()[32], sorted, 2, 5);
  out.store();
}
extern "C" __global__ __aicore__ void ranked_half(GM_ADDR scores, GM_ADDR labels, GM_ADDR y) { Ranked<half>(scores, labels, y); }
extern "C" __global__ __aicore__ void ranked_float(GM_ADDR scores, GM_ADDR labels, GM_ADDR y) {
  Ranked<float>(scores, labels, y);
}

// Scores and labels of 64 elements as four sorted lists of proposals, of which those in `valid` are merged, each to its
// length; what is merged, and how much of each list.
template <typename T>
__aicore__ inline void MergedRanks(GM_ADDR scores, GM_ADDR labels, GM_ADDR y, GM_ADDR taken, GM_ADDR lengths,
                                   uint16_t valid, bool suspend) {
  TPipe pipe;
  Tile<T> score(pipe, scores, 64), label(pipe, labels, 64), out(pipe, y, 128);
  TBuf<> buffer, mergedBuffer;
  pipe.InitBuffer(buffer, 2 * 64 * 8 * sizeof(T));
  pipe.InitBuffer(mergedBuffer, 64 * 8 * sizeof(T));
  LocalTensor<T> proposals = buffer.Get<T>(), sorted = proposals[512], merged = mergedBuffer.Get<T>();
  score.load(), label.load();
  Duplicate(merged, T(0), 512);
  ProposalConcat(proposals, score.local(), 4, 4);
  ProposalConcat(proposals, label.local(), 4, 5);
  RpSort16(sorted, proposals, 4);
  GlobalTensor<uint16_t> lengthsGm;
  GlobalTensor<uint32_t> takenGm;
  lengthsGm.SetGlobalBuffer((__gm__ uint16_t*)lengths, 4);
  takenGm.SetGlobalBuffer((__gm__ uint32_t*)taken, 4);
  MrgSort4Info info;
  for (uint32_t i = 0; i < 4; i++) info.elementLengths[i] = lengthsGm.GetValue(i);
  info.validBit = valid;
  info.ifExhaustedSuspension = suspend;
  MrgSort4(merged, MrgSortSrcList<T>(sorted, sorted[128], sorted[256], sorted[384]), info);
  uint16_t from[4];
  GetMrgSortResult(from[0], from[1], from[2], from[3]);
  for (uint32_t i = 0; i < 4; i++) takenGm.SetValue(i, from[i]);
  ProposalExtract(out.local(), merged, 4, 4);
  ProposalExtract(out.local()[64], merged, 4, 5);
  out.store();
}
extern "C" __global__ __aicore__ void merged_half(GM_ADDR scores, GM_ADDR labels, GM_ADDR y, GM_ADDR taken,
                                                  GM_ADDR lengths, uint16_t valid, bool suspend) {
  MergedRanks<half>(scores, labels, y, taken, lengths, valid, suspend);
}
extern "C" __global__ __aicore__ void merged_float(GM_ADDR scores, GM_ADDR labels, GM_ADDR y, GM_ADDR taken,
                                                   GM_ADDR lengths, uint16_t valid, bool suspend) {
  MergedRanks<float>(scores, labels, y, taken, lengths, valid, suspend);
}

// Sizes as the tiling has them: height and width; or B, A1, A3 and A2; or B, N, H/N and S / 16.
template <typename T>
__aicore__ inline void Exchanged(GM_ADDR x, GM_ADDR y, uint32_t countIn, uint32_t countOut, uint32_t first, uint32_t second,
                                 uint32_t third, uint32_t fourth, int32_t type) {
  TPipe pipe;
  Tile<T> in(pipe, x, countIn), out(pipe, y, countOut);
  in.load(), out.load();
  ConfusionTransposeTiling tiling;
  tiling.param0 = 32 / sizeof(T), tiling.param1 = first, tiling.param2 = second, tiling.param3 = third, tiling.param4 = fourth;
  if (type > 2) tiling.param6 = tiling.param7 = fourth;
  LocalTensor<uint8_t> tmp;
  if (type == 7) ConfusionTranspose(out.local(), in.local(), TransposeType::TRANSPOSE_ND2ND_ONLY, tiling);
  else ConfusionTranspose(out.local(), in.local(), tmp, static_cast<TransposeType>(type), tiling);
  out.store();
}
extern "C" __global__ __aicore__ void exchanged_half(GM_ADDR x, GM_ADDR y, uint32_t countIn, uint32_t countOut,
                                                     uint32_t first, uint32_t second, uint32_t third, uint32_t fourth,
                                                     int32_t type) {
  Exchanged<half>(x, y, countIn, countOut, first, second, third, fourth, type);
}
extern "C" __global__ __aicore__ void exchanged_float(GM_ADDR x, GM_ADDR y, uint32_t countIn, uint32_t countOut,
                                                      uint32_t first, uint32_t second, uint32_t third, uint32_t fourth,
                                                      int32_t type) {
  Exchanged<float>(x, y, countIn, countOut, first, second, third, fourth, type);
}

// 16 x 16 of a, doubled in the unified buffer, times b: through queues in L1. With `early` the product does not wait for
// the copy of a.
extern "C" __global__ __aicore__ void through_l1(GM_ADDR a, GM_ADDR b, GM_ADDR c, bool early) {
  TPipe pipe;
  Tile<half> in(pipe, a, 256);
  TSCM<TPosition::VECIN, 1, 0x4> left;
  TSCM<TPosition::GM> right;
  TBuf<TPosition::A2> a2;
  TBuf<TPosition::B2> b2;
  TBuf<TPosition::CO1> co1;
  pipe.InitBuffer(left, 1, 512);
  pipe.InitBuffer(right, 1, 512);
  pipe.InitBuffer(a2, 512);
  pipe.InitBuffer(b2, 512);
  pipe.InitBuffer(co1, 1024);
  GlobalTensor<half> bGm;
  GlobalTensor<float> cGm;
  bGm.SetGlobalBuffer((__gm__ half*)b, 256);
  cGm.SetGlobalBuffer((__gm__ float*)c, 256);
  in.load();
  Adds(in.local(), in.local(), half(1), 256);
  LocalTensor<half> a1 = left.AllocTensor<half>(), b1 = right.AllocTensor<half>();
  Then<HardEvent::V_MTE3>();
  DataCopy(a1, in.local(), 256);
  DataCopy(b1, bGm, Nd2NzParams(1, 16, 16, 0, 16, 16, 1, 0));
  if (!early) {
    left.EnQue(a1);
    a1 = left.DeQue<half>();
  }
  right.EnQue(b1);
  b1 = right.DeQue<half>();
  LoadData(a2.Get<half>(), a1, LoadData2DParams(0, 1, 1, 0, 0, false, 0));
  LoadData(b2.Get<half>(), b1, LoadData2DParams(0, 1, 1, 0, 0, true, 0));
  left.FreeTensor(a1);
  right.FreeTensor(b1);
  Then<HardEvent::MTE1_M>();
  Mmad(co1.Get<float>(), a2.Get<half>(), b2.Get<half>(), MmadParams(16, 16, 16, 0, false, true));
  Then<HardEvent::M_FIX>();
  Fixpipe(cGm, co1.Get<float>(), FixpipeParamsV220(16, 16, 16, 16, false));
}

// What was copied comes back doubled, after barriers for memory; with an `other` memory they do not order the copies.
extern "C" __global__ __aicore__ void after_barriers(GM_ADDR x, GM_ADDR y, int32_t kind) {
  TPipe pipe;
  Tile<float> in(pipe, x, 64), out(pipe, y, 64);
  DataCopy(in.local(), in.global, 64);
  if (kind == 0) DataSyncBarrier<MemDsbT::ALL>();
  if (kind == 1) DataSyncBarrier<MemDsbT::UB>();
  if (kind == 2) DataSyncBarrier<MemDsbT::DDR>();
  if (kind == 3) DataSyncBarrier<MemDsbT::SEQ>();
  Muls(out.local(), in.local(), 2.0f, 64);
  if (kind == 0) DataSyncBarrier<MemDsbT::ALL>();
  if (kind == 1 || kind == 2) DataSyncBarrier<MemDsbT::UB>();
  if (kind == 3 || kind == 4) DataSyncBarrier<MemDsbT::DDR>();
  DataCopy(out.global, out.local(), 64);
}

// Tensors with a layout: as many elements as its shape has, at the coordinates that its strides give.
extern "C" __global__ __aicore__ void laid_out(GM_ADDR x, GM_ADDR y) {
  using Sixteen = Std::integral_constant<uint32_t, 16>;
  using Four = Std::integral_constant<uint32_t, 4>;
  using One = Std::integral_constant<uint32_t, 1>;
  auto layout = MakeLayout(MakeShape(Four{}, Sixteen{}), MakeStride(Sixteen{}, One{}));
  auto trait = MakeTensorTrait<float, TPosition::VECIN>(layout);
  using Trait = decltype(trait);
  static_assert(is_tensorTrait<Trait>::value && !is_tensorTrait<decltype(layout)>::value && is_layout_v<decltype(layout)>);
  static_assert(std::is_same_v<Trait::LiteType, float>);
  LocalTensor<Trait> tensor(128);
  tensor.SetTensorTrait(trait);
  LocalTensor<TensorTrait<float>> plain = tensor;
  GlobalTensor<TensorTrait<float>> xGm;
  xGm.SetGlobalBuffer((__gm__ float*)x, 64);
  GlobalTensor<decltype(MakeTensorTrait<float, TPosition::GM>(MakeLayout(MakeShape(16, 4), MakeStride(1, 16))))> yGm;
  yGm.SetGlobalBuffer((__gm__ float*)y, 64);
  yGm.SetTensorTrait(MakeLayout(MakeShape(16, 4), MakeStride(1, 16)));
  DataCopy(plain, xGm, 64);
  SetFlag<HardEvent::MTE2_S>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_S>(EVENT_ID0);
  auto turned = yGm.GetLayout();
  for (int32_t i = 0; i < 4; i++)
    for (int32_t j = 0; j < 16; j++)
      yGm.SetValue(turned(MakeCoord(j, i)), tensor.GetValue(tensor.GetLayout()(MakeCoord(i, j))) + tensor.GetSize() +
                                                yGm.GetTensorTrait().GetLayout()(MakeCoord(0, 1)) +
                                                Std::get<1>(tensor.GetTensorTrait().GetLayout().GetShape()));
}

// Each with an operand that is one block too short, or that was copied without waiting for the copy; or out of range.
extern "C" __global__ __aicore__ void wrong(GM_ADDR x, int32_t kind) {
  TPipe pipe;
  Tile<float> in(pipe, x, 256), out(pipe, x, 256);
  TBuf<> small;
  pipe.InitBuffer(small, 992);
  LocalTensor<float> rest = small.Get<float>(), a = in.local(), o = out.local();
  Duplicate(rest, 1.0f, 248);
  if (kind < 6 || kind > 11) Duplicate(a, 1.0f, 256);
  else DataCopy(a, in.global, 256);
  ConfusionTransposeTiling tiling;
  tiling.param0 = 8, tiling.param1 = 16, tiling.param2 = 16;
  if (kind == 0) ProposalConcat(rest, a, 2, 0);
  if (kind == 1) ProposalExtract(o, rest, 2, 0);
  if (kind == 2) RpSort16(o, rest, 2);
  if (kind == 3) ConfusionTranspose(o, rest, TransposeType::TRANSPOSE_ND2ND_ONLY, tiling);
  if (kind == 4) ProposalConcat(o, a, 2, 6);
  if (kind == 5) ConfusionTranspose(o, a, TransposeType::TRANSPOSE_ND_UB_GM, tiling);
  if (kind == 6) ProposalConcat(o, a, 2, 0);
  if (kind == 7) ProposalExtract(o, a, 2, 4);
  if (kind == 8) RpSort16(o, a, 2);
  if (kind == 9) ConfusionTranspose(o, a, TransposeType::TRANSPOSE_ND2ND_ONLY, tiling);
  const uint16_t lengths[4] = {16, 16, 0, 0};
  const MrgSort4Info info(lengths, false, 3, 1);
  if (kind == 10) MrgSort4(o, MrgSortSrcList<float>(a, a[128], a, a), info);
  tiling.param1 = 1, tiling.param2 = kind == 11 ? 1 : 2, tiling.param3 = kind == 13 ? 8 : 16, tiling.param6 = 1;
  if (kind == 11) ConfusionTranspose(o, a, TransposeType::TRANSPOSE_NZ2ND_012_WITHOUT_N, tiling);
  if (kind == 12) MrgSort4(o, MrgSortSrcList<float>(a, rest[128], a, a), info);
  if (kind == 13 || kind == 14) ConfusionTranspose(o, a, TransposeType::TRANSPOSE_NZ2ND_012_WITH_N, tiling);
  if (kind == 15) MrgSort4(o, MrgSortSrcList<float>(a, a[4], a, a), info);
}
