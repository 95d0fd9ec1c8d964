// Functions over masked rows, quantisation, padding, gradients of softmax, lists of tensors, and tensors without a TPipe.
#include "tile.h"
#include "lib/hccl/hccl.h"
#include "lib/quantization/ascend_quant.h"

using namespace AscendC;

namespace {
constexpr SoftmaxConfig kPacked = {false, 0, 0, SoftmaxMode::SOFTMAX_OUTPUT_WITHOUT_BRC};
constexpr uint32_t kRows = 4, kColumns = 32, kCount = kRows * kColumns;
constexpr SoftMaxShapeInfo kShape = {kRows, kColumns, kRows, kColumns};
}  // namespace

// 0: one scale and offset; 1: the first 64; 2: a scale a column; 3: an offset a column, too; 4: with a buffer.
extern "C" __global__ __aicore__ void quantise(GM_ADDR x, GM_ADDR scales, GM_ADDR offsets, GM_ADDR y, int32_t kind) {
  TPipe pipe;
  Tile<float> in(pipe, x, kCount), scale(pipe, scales, kColumns), offset(pipe, offsets, kColumns);
  Tile<int8_t> out(pipe, y, kCount);
  in.load(), scale.load(), offset.load(), out.load();
  LocalTensor<uint8_t> tmp;
  if (kind == 0) AscendQuant(out.local(), in.local(), 2.0f, 1.5f);
  if (kind == 1) AscendQuant(out.local(), in.local(), 2.0f, 1.5f, 64);
  if (kind == 2) AscendQuant(out.local(), in.local(), tmp, scale.local(), 1.5f, kColumns, kCount);
  if (kind == 3) AscendQuant(out.local(), in.local(), tmp, scale.local(), offset.local(), kColumns, kColumns, kCount);
  if (kind == 4) AscendQuant<float>(out.local(), in.local(), tmp, 2.0f, 1.5f, kCount);
  out.store();
}

// m rows of 8 integers, of which 5 count, as halves that begin rows of 16.
extern "C" __global__ __aicore__ void dequantise(GM_ADDR x, GM_ADDR scales, GM_ADDR y, uint32_t m, bool one) {
  TPipe pipe;
  Tile<int32_t> in(pipe, x, m * 8);
  Tile<float> scale(pipe, scales, 8);
  Tile<half> out(pipe, y, m * 16);
  in.load(), scale.load(), out.load();
  LocalTensor<uint8_t> tmp;
  if (one) AscendDequant(out.local(), in.local(), 0.5f, tmp, {m, 8, 5});
  else AscendDequant(out.local(), in.local(), scale.local(), tmp, {m, 8, 5});
  out.store();
}
extern "C" __global__ __aicore__ void dequantise_bits(GM_ADDR x, GM_ADDR scales, GM_ADDR y, uint32_t m) {
  TPipe pipe;
  Tile<int32_t> in(pipe, x, m * 8);
  Tile<uint64_t> scale(pipe, scales, 8);
  Tile<float> out(pipe, y, m * 8);
  in.load(), scale.load();
  AscendDequant(out.local(), in.local(), scale.local(), {m, 8, 0});
  out.store();
}

// A matrix of 4 x 32 with a scale a column, or of 32 x 4 with one a row, or with one scale.
extern "C" __global__ __aicore__ void antiquantise(GM_ADDR x, GM_ADDR offsets, GM_ADDR scales, GM_ADDR y, int32_t kind) {
  TPipe pipe;
  Tile<int8_t> in(pipe, x, kCount);
  Tile<half> offset(pipe, offsets, kColumns), scale(pipe, scales, kColumns), out(pipe, y, kCount);
  in.load(), offset.load(), scale.load();
  LocalTensor<uint8_t> tmp;
  AntiQuantShapeInfo info = {1, kColumns, 1, kColumns};
  if (kind == 0) AscendAntiQuant<int8_t, half, false>(out.local(), in.local(), offset.local(), scale.local(), tmp, kRows, info);
  if (kind == 1) AscendAntiQuant<int8_t, half, true>(out.local(), in.local(), offset.local(), scale.local(), tmp, kRows, info);
  if (kind == 2) AscendAntiQuant<int8_t, half, false>(out.local(), in.local(), half(3), half(0.5), tmp, kRows);
  out.store();
}

// Rows of the mask are `width` bytes long.
extern "C" __global__ __aicore__ void masked_rows(GM_ADDR x, GM_ADDR mask, GM_ADDR y, uint32_t width, int32_t kind) {
  TPipe pipe;
  Tile<float> in(pipe, x, kCount), out(pipe, y, kCount);
  Tile<uint8_t> chosen(pipe, mask, kRows * width);
  in.load(), chosen.load();
  LocalTensor<uint8_t> tmp;
  SelectWithBytesMaskShapeInfo select = {kRows, kColumns, width};
  DropOutShapeInfo info = {kRows, kColumns, width};
  if (kind == 0) SelectWithBytesMask(out.local(), in.local(), -7.0f, chosen.local(), tmp, select);
  if (kind == 1) SelectWithBytesMask(out.local(), -7.0f, in.local(), chosen.local(), tmp, select);
  if (kind == 2) DropOut(out.local(), in.local(), chosen.local(), tmp, 0.5f, info);
  if (kind == 3) DropOut<float, false, DROPOUT_MODE_BIT_MISALIGN>(out.local(), in.local(), chosen.local(), 0.5f, info);
  out.store();
}

extern "C" __global__ __aicore__ void pads(GM_ADDR x, GM_ADDR y, GM_ADDR z) {
  TPipe pipe;
  Tile<float> in(pipe, x, 4 * 8), wide(pipe, y, 4 * 16), out(pipe, z, 4 * 8);
  in.load();
  PadTiling padding;
  padding.srcHeight = 4, padding.srcWidth = 8, padding.srcOriWidth = 7;
  PadParams columns = {2, 7, 9};
  LocalTensor<uint8_t> tmp;
  Pad(wide.local(), in.local(), columns, tmp, padding);
  UnPadTiling tiling;
  tiling.srcHeight = 4, tiling.srcWidth = 16;
  UnPadParams without = {1, 7};
  UnPad(out.local(), wide.local(), without, tmp, tiling);
  wide.store(), out.store();
}

extern "C" __global__ __aicore__ void gradients(GM_ADDR grad, GM_ADDR x, GM_ADDR y, GM_ADDR sums) {
  TPipe pipe;
  Tile<float> slope(pipe, grad, kCount), in(pipe, x, kCount), out(pipe, y, kCount), front(pipe, sums, kRows * 8);
  slope.load(), in.load();
  LocalTensor<uint8_t> tmp;
  SoftMaxTiling tiling;
  SoftMaxTilingFunc(1024, kShape, tiling, sizeof(float), sizeof(float));
  SoftmaxGrad<float>(out.local(), slope.local(), in.local(), tmp, tiling, false, kShape);
  LocalTensor<float> shaped = in.local();
  uint32_t sizes[] = {kRows, kColumns};
  shaped.SetShapeInfo(ShapeInfo(2, sizes, DataFormat::ND));
  SoftmaxGradFront<float, true>(front.local(), slope.local(), shaped, tmp, SoftMaxTiling{});
  out.store(), front.store();
}

// Softmax in two parts, with sums and maxima beside each other; rows whose maximum is -1 become 5.
extern "C" __global__ __aicore__ void packed_parts(GM_ADDR x, GM_ADDR y, GM_ADDR state) {
  TPipe pipe;
  Tile<float> first(pipe, x, kCount), second(pipe, x + kCount * 4, kCount), out(pipe, y, kCount), kept(pipe, state, 24);
  first.load(), second.load();
  LocalTensor<uint8_t> tmp;
  LocalTensor<float> sums = kept.local(), peaks = sums[8], shrink = sums[16];
  Duplicate(sums, 0.0f, 24);
  const SoftMaxTiling tiling = SoftMaxFlashV2TilingFunc(kShape, 4, 4, 1024, true, false);
  SoftmaxFlashV2<float, false, true, false, false, kPacked>(first.local(), sums, peaks, first.local(), shrink, sums, peaks,
                                                            tmp, tiling, kShape);
  SoftmaxFlashV2<float, true, true, false, false, kPacked>(out.local(), sums, peaks, second.local(), shrink, sums, peaks,
                                                           tmp, tiling, kShape);
  out.store(), kept.store();
}
extern "C" __global__ __aicore__ void adjusts(GM_ADDR x, GM_ADDR peaks, GM_ADDR y) {
  TPipe pipe;
  Tile<float> in(pipe, x, kCount), peak(pipe, peaks, kRows * 8);
  in.load(), peak.load();
  const bool found = AdjustSoftMaxRes<float, float>(in.local(), peak.local(), 0xBF800000, 5.0f, kShape);
  if (!found) Duplicate(in.local(), -1.0f, kCount);
  in.global.SetGlobalBuffer((__gm__ float*)y, kCount);
  in.store();
}

// 0 to 2: a value a row of 5 columns in rows of 8; 3 to 5: a value a column; 6 to 8: a value for each 64 elements.
extern "C" __global__ __aicore__ void reduces(GM_ADDR x, GM_ADDR y, int32_t kind) {
  using Rows = Pattern::Reduce::AR;
  using Columns = Pattern::Reduce::RA;
  TPipe pipe;
  Tile<float> in(pipe, x, kCount), out(pipe, y, 16);
  in.load(), out.load();
  const uint32_t rows[] = {16, 5}, columns[] = {8, 16};
  LocalTensor<uint8_t> tmp;
  LocalTensor<float> o = out.local(), a = in.local();
  if (kind == 0) ReduceSum<float, Rows, false>(o, a, tmp, rows, true);
  if (kind == 1) ReduceMax<float, Rows>(o, a, tmp, rows, true);
  if (kind == 2) ReduceMin<float, Rows, true>(o, a, rows, true);
  if (kind == 3) ReduceSum<float, Columns>(o, a, columns, false);
  if (kind == 4) ReduceMax<float, Columns>(o, a, columns, false);
  if (kind == 5) ReduceMin<float, Columns>(o, a, tmp, columns, false);
  if (kind == 6) ReduceRepeat<ReduceType::SUM>(o, a, 64, 2, 1, 1, 8);
  if (kind == 7) ReduceRepeat<ReduceType::MAX, float>(o, a, 64, 2, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE);
  if (kind == 8) ReduceRepeat<ReduceType::MIN, float, float>(o, a, 64, 2, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE);
  if (kind == 9) ReduceMean<float, Rows>(o, a, tmp, rows, true);
  if (kind == 10) ReduceAny<float, Rows>(o, a, tmp, rows, true);
  if (kind == 11) ReduceAll<float, Rows>(o, a, tmp, rows, true);
  out.store();
}

// The sum of each tensor of a list; and what the list says of its second one.
extern "C" __global__ __aicore__ void list_of_tensors(GM_ADDR list, GM_ADDR y, uint32_t asked) {
  ListTensorDesc tensors((__gm__ void*)list);
  GlobalTensor<int64_t> yGm;
  yGm.SetGlobalBuffer((__gm__ int64_t*)y, 16);
  yGm.SetValue(0, tensors.GetSize());
  for (uint32_t i = 0; i < asked; i++) {
    uint64_t shape[8];
    TensorDesc<int32_t> desc;
    desc.SetShapeAddr(shape);
    tensors.GetDesc(desc, i);
    uint64_t count = 1;
    for (uint32_t d = 0; d < desc.GetDim(); d++) count *= desc.GetShape(d);
    GlobalTensor<int32_t> elements;
    elements.SetGlobalBuffer(tensors.GetDataPtr<__gm__ int32_t>(i), count);
    int64_t sum = 0;
    for (uint64_t at = 0; at < count; at++) sum += elements.GetValue(at);
    yGm.SetValue(1 + 3 * i, sum);
    yGm.SetValue(2 + 3 * i, desc.GetDim() * 100 + desc.GetIndex());
    yGm.SetValue(3 + 3 * i, desc.GetDataObj().GetValue(count - 1) + (desc.GetDataPtr() == nullptr));
  }
}

// y = max(x * y + x, 0) by an allocator's tensors; n of them do not fit.
extern "C" __global__ __aicore__ void allocated(GM_ADDR x, GM_ADDR y, uint32_t n) {
  InitSocState();
  SetSyncBaseAddr(0);
  AscendCUtils::SetOverflow(1);
  LocalMemAllocator<Hardware::UB> allocator;
  LocalTensor<float> a = allocator.Alloc<float, 60>(), b = allocator.Alloc<TPosition::VECOUT, float>(n);
  GlobalTensor<float> xGm, yGm;
  xGm.SetGlobalBuffer((__gm__ float*)x, 64);
  yGm.SetGlobalBuffer((__gm__ float*)y, 64);
  DataCopy(a, xGm, 56);
  DataCopy(b, yGm, 56);
  SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
  FusedMulAddRelu(b, a, a, 56);
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  DataCopy(yGm, b, 56);
  static_assert(Std::is_same_v<Std::tuple_element_t<1, Std::tuple<int, Std::Int<3>>>, Std::integral_constant<int, 3>>);
  yGm.SetValue(60, Std::max(2, allocator.GetCurAddr()));
  yGm.SetValue(61, Std::min(2L, 7));
}

// 0: progression; 1: clamped; 2: divided by 4; 3: 4 divided by it; 4, 5: bits and 12, or 12; 6: global memory filled.
extern "C" __global__ __aicore__ void numbers(GM_ADDR x, GM_ADDR y, int32_t kind) {
  using Number = Conditional<(sizeof(float) > 4), half, float>::type;
  TPipe pipe;
  Tile<Number> in(pipe, x, 64), out(pipe, y, 64);
  in.load(), out.load();
  LocalTensor<float> o = out.local(), a = in.local();
  LocalTensor<int16_t> bits = o.ReinterpretCast<int16_t>(), from = a.ReinterpretCast<int16_t>();
  if (kind == 0) Arange(o, 3.0f, 0.5f, 64);
  if (kind == 1) Clamp(o, a, -1.0f, 2.0f, 64);
  if (kind == 2) Divs(o, a, 4.0f, 64);
  if (kind == 3) Divs(o, 4.0f, a, 64);
  if (kind == 4) Ands(bits, from, int16_t(12), 128);
  if (kind == 5) Ors(bits, from, int16_t(12), 128);
  PipeBarrier<PIPE_ALL>();
  if (kind == 6) Fill(out.global, 40, 2.5f);
  else out.store();
}
// A unit of L1 and of L0A filled as by InitConstValue: 16 x 16 of value times 16 x 16 of 1.
extern "C" __global__ __aicore__ void filled(GM_ADDR y, float value) {
  TPipe pipe;
  TBuf<TPosition::A2> a2;
  TBuf<TPosition::B2> b2;
  TBuf<TPosition::CO1> co1;
  pipe.InitBuffer(a2, 512);
  pipe.InitBuffer(b2, 512);
  pipe.InitBuffer(co1, 1024);
  Fill(a2.Get<half>(), {1, 1, 0, static_cast<half>(value)});
  Fill(b2.Get<half>(), {1, 1, 0, half(1)});
  Then<HardEvent::MTE1_M>();
  Mmad(co1.Get<float>(), a2.Get<half>(), b2.Get<half>(), MmadParams(16, 16, 16, 0, false, true));
  Then<HardEvent::M_FIX>();
  GlobalTensor<float> yGm;
  yGm.SetGlobalBuffer((__gm__ float*)y, 256);
  Fixpipe(yGm, co1.Get<float>(), FixpipeParamsV220(16, 16, 16, 16, false));
}

// Digamma, and how many elements GatherMask kept.
extern "C" __global__ __aicore__ void digamma_of(GM_ADDR x, GM_ADDR y, GM_ADDR kept) {
  TPipe pipe;
  Tile<float> in(pipe, x, 64), out(pipe, y, 64);
  in.load();
  Digamma(out.local(), in.local(), 64);
  out.store();
  PipeBarrier<PIPE_ALL>();
  uint64_t count = 0;
  GatherMask(out.local(), in.local(), 1, false, 0, {1, 1, 8, 0}, count);
  GlobalTensor<int64_t> keptGm;
  keptGm.SetGlobalBuffer((__gm__ int64_t*)kept, 4);
  keptGm.SetValue(0, AscendCUtils::GetRsvdCnt());
}

// Each with an operand that is one block too short.
extern "C" __global__ __aicore__ void past_the_end(GM_ADDR x, int32_t kind) {
  TPipe pipe;
  TBuf<> large, small;
  pipe.InitBuffer(large, kCount * 4);
  pipe.InitBuffer(small, kCount - 32);
  LocalTensor<float> whole = large.Get<float>(), rest = small.Get<float>();
  Duplicate(whole, 1.0f, kCount);
  Duplicate(rest, 1.0f, (kCount - 32) / 4);
  PadTiling padding;
  padding.srcHeight = 4, padding.srcWidth = padding.srcOriWidth = 8;
  PadParams columns = {0, 8, 0};
  UnPadTiling tiling;
  tiling.srcHeight = 4, tiling.srcWidth = 16;
  UnPadParams without = {0, 0};
  const SoftMaxTiling rows = SoftMaxFlashV2TilingFunc(kShape, 4, 4, 0);
  LocalTensor<uint8_t> tmp;
  if (kind == 0) AscendQuant(rest.ReinterpretCast<int8_t>(), whole, 1.0f, 0.0f);
  if (kind == 1) AscendDequant(rest, whole.ReinterpretCast<int32_t>(), 1.0f, tmp, {4, 8, 0});
  if (kind == 2)
    AscendAntiQuant<int8_t, half, false>(rest.ReinterpretCast<half>(), whole.ReinterpretCast<int8_t>()[0], half(0), half(1),
                                         tmp, 4);
  if (kind == 3) SelectWithBytesMask(whole, whole, 0.0f, rest.ReinterpretCast<uint8_t>(), tmp, {4, 32, 32});
  if (kind == 4) DropOut(rest, whole, whole.ReinterpretCast<uint8_t>(), 0.5f, {4, 32, 32});
  if (kind == 5) Pad(rest, whole, columns, padding);
  if (kind == 6) UnPad(whole, rest, without, tiling);
  if (kind == 7) SoftmaxGrad<float>(whole, rest, whole, rows);
  if (kind == 8) SoftmaxGradFront<float>(rest[20], whole, whole, rows);
  if (kind == 9) AdjustSoftMaxRes<float, float>(rest, whole, 0, 1.0f, kShape);
}

// Each reads what was copied without waiting for the copy.
extern "C" __global__ __aicore__ void in_no_order(GM_ADDR x, int32_t kind) {
  TPipe pipe;
  Tile<float> in(pipe, x, kCount), out(pipe, x, kCount);
  PadTiling padding;
  padding.srcHeight = 4, padding.srcWidth = padding.srcOriWidth = 8;
  PadParams columns = {0, 8, 0};
  const uint32_t shape[] = {16, 8};
  LocalTensor<uint8_t> tmp;
  DataCopy(in.local(), in.global, kCount);
  LocalTensor<float> a = in.local(), o = out.local();
  if (kind == 0) AscendQuant(o.ReinterpretCast<int8_t>(), a, 1.0f, 0.0f);
  if (kind == 1) AscendDequant(o, a.ReinterpretCast<int32_t>(), 1.0f, tmp, {4, 8, 0});
  if (kind == 2) SelectWithBytesMask(o, a, 0.0f, a.ReinterpretCast<uint8_t>(), tmp, {4, 32, 32});
  if (kind == 3) DropOut(o, a, a.ReinterpretCast<uint8_t>(), 0.5f, {4, 32, 32});
  if (kind == 4) Pad(o, a, columns, padding);
  if (kind == 5) SoftmaxGrad<float>(o, a, a, SoftMaxFlashV2TilingFunc(kShape, 4, 4, 0));
  if (kind == 6) ReduceMax<float, Pattern::Reduce::AR>(o, a, shape, true);
  if (kind == 7) Digamma(o, a, kCount);
}

extern "C" __global__ __aicore__ void communicates(GM_ADDR x) {
  Hccl<HCCL_SERVER_TYPE_AICPU> hccl;
  hccl.Init(GetHcclContext<HCCL_GROUP_ID_0>());
}
extern "C" __global__ __aicore__ void communicates_alone(GM_ADDR x, int32_t kind) {
  Hccl<> hccl;
  int32_t counts[2] = {};
  if (kind == 0) hccl.Init(x);
  if (kind == 1) hccl.Init(x, (__gm__ void*)x);
  if (kind == 2) hccl.InitV2(x, counts);
  if (kind == 3) hccl.SetCcTiling((__gm__ void*)x);
  if (kind == 4) hccl.SetCcTilingV2(8);
  if (kind == 5) hccl.AllReduce<true>(x, x, 8, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM);
  if (kind == 6) hccl.AllGather(x, x, 8, HcclDataType::HCCL_DATA_TYPE_FP16, 0, 2);
  if (kind == 7) hccl.ReduceScatter<false>(x, x, 8, HCCL_DATA_TYPE_BFP16, HCCL_REDUCE_MAX, 0);
  if (kind == 8) hccl.AlltoAll(x, x, 8, HCCL_DATA_TYPE_INT8);
  if (kind == 9) hccl.AlltoAllV<true>(x, counts, counts, HCCL_DATA_TYPE_INT32, x, counts, counts, HCCL_DATA_TYPE_INT32);
  if (kind == 10) hccl.BatchWrite<true>(x, 1);
  if (kind == 11) hccl.Commit(HcclHandle(0));
  if (kind == 12) counts[0] = hccl.Wait(HcclHandle(0));
  if (kind == 13) counts[0] = hccl.Query(HcclHandle(0));
  if (kind == 14) counts[0] = hccl.GetRankId();
  if (kind == 15) counts[0] = hccl.GetRankDim();
  if (kind == 16) x = hccl.GetWindowsInAddr(0);
  if (kind == 17) x = hccl.GetWindowsOutAddr(0);
  if (kind == 18) hccl.InterHcclGroupSync(int8_t(0), HcclHandle(0));
  if (kind == 19) counts[0] = hccl.Iterate<false>(HcclHandle(0), (uint16_t*)counts, 1);
  if (kind == 20) hccl.Finalize();
  if (kind == 21) hccl.QueueBarrier<ScopeType::ALL>(uint16_t(0));
  if (kind == 22) hccl.SetReduceDataTypeAbility(HCCL_REDUCE_SUM, HCCL_DATA_TYPE_FP32, HCCL_DATA_TYPE_FP32);
  if (kind == 23) hccl.AlltoAllvWrite(x, x, x, uint64_t(8));
}
extern "C" __global__ __aicore__ void multiplies_sparse(GM_ADDR x, bool load) {
  LocalTensor<int8_t> a;
  if (load) LoadDataWithSparse(a, a, a.ReinterpretCast<uint8_t>(), 0);
  MmadWithSparse(a.ReinterpretCast<int32_t>(), a, a, MmadParams());
}
