// Matmul<>: a block's part of C = A * B + bias, as a whole or one base block of it at a time. The vector core that asks
// computes it itself; the cube core of a mixed kernel, which on the chip serves these requests, has nothing to do.
#pragma once

#include <cmath>
#include <vector>

#include "cube.h"
#include "group.h"
#include "matmul_config.h"
#include "pipe.h"

namespace mtsim {

/// A matrix anywhere: where it starts, how many bytes there are, and where an element of it lies.
template <typename T>
struct Matrix {
  T* data = nullptr;
  int64_t bytes = 0;
  uint64_t rows = 0;     // of the whole matrix as it is stored
  uint64_t columns = 0;  // likewise
  bool transposed = false;
  uint64_t fractal = 0;  // how many columns a fractal has, in the format NZ

  uint64_t at(uint64_t row, uint64_t column) const {
    if (transposed) std::swap(row, column);
    if (fractal == 0) return row * columns + column;
    return (column / fractal * align_up(rows, kFractalRows) + row) * fractal + column % fractal;
  }
  void check(uint64_t row_end, uint64_t column_end, const char* name) const {
    if (data == nullptr) fault(kVectorCoreException, "Matmul: %s is not set", name);
    const auto needed = static_cast<int64_t>((at(row_end - 1, column_end - 1) + 1) * sizeof(T));
    if (needed > bytes)
      fault(kVectorCoreException, "Matmul: %s reaches %lld bytes past the end of its memory", name,
            static_cast<long long>(needed - bytes));
  }
};

/// While it lives, stores to global memory combine as Matmul's enAtomic says: 0 not at all, 1 add, 2 max, 3 min.
class AtomicStores {
 public:
  explicit AtomicStores(uint8_t kind) : before_(core().atomic) {
    if (kind != 0) core().atomic = static_cast<Atomic>(kind);
  }
  ~AtomicStores() { core().atomic = before_; }
  AtomicStores(const AtomicStores&) = delete;
  AtomicStores& operator=(const AtomicStores&) = delete;

 private:
  const Atomic before_;
};
static_assert(static_cast<int>(Atomic::Add) == 1 && static_cast<int>(Atomic::Max) == 2 &&
              static_cast<int>(Atomic::Min) == 3);

}  // namespace mtsim

namespace AscendC {

template <typename A, typename B, typename C, typename Bias = C, const auto& config = CFG_NORM, typename... Policies>
class Matmul {
  using AT = typename A::T;
  using BT = typename B::T;
  using CT = typename C::T;
  using BiasT = typename Bias::T;
  using Sum = std::conditional_t<std::is_same_v<AT, int8_t>, int32_t, float>;
  static constexpr const MatmulConfig& kConfig = mtsim::config_of(config);
  static_assert(!kConfig.isPartialOutput && !kConfig.intraBlockPartSum && !kConfig.enableRelu,
                "Matmul: isPartialOutput, intraBlockPartSum and enableRelu are not simulated");
  static_assert((mtsim::copies_itself<Policies> && ...), "Matmul: copies by functions of one's own are not simulated");
  // Of a result in the format NZ: the cube's fractals are 16 x 16, twice as wide for bytes, half as wide if it is asked.
  static constexpr uint64_t kFractal = C::format != CubeFormat::NZ                                   ? 0
                                       : sizeof(CT) == 1                                             ? 32
                                       : kConfig.isEnableChannelSplit && std::is_same_v<CT, float> ? 8
                                                                                                     : 16;

 public:
  /// Without a tiling, what the config holds is known alone; a config that is no tiling waits for another Init.
  void Init(const TCubeTiling* tiling, TPipe* = nullptr) {
    if (tiling == nullptr && !mtsim::holds_base_block(config)) return;
    tiling_ = mtsim::with_constants(tiling == nullptr ? TCubeTiling{} : *tiling, config);
    check_base_block();
    SetOrgShape(tiling_.M, tiling_.N, tiling_.Ka, tiling_.Kb);
    SetSingleShape(tiling_.singleCoreM, tiling_.singleCoreN, tiling_.singleCoreK);
  }
  void SetOrgShape(int orgM, int orgN, int orgK) { SetOrgShape(orgM, orgN, orgK, orgK); }
  void SetOrgShape(int orgM, int orgN, int orgKa, int orgKb, int orgKc = 0) {
    org_m_ = orgM, org_n_ = orgN, org_ka_ = orgKa, org_kb_ = orgKb, org_c_ = orgKc != 0 ? orgKc : orgN;
  }
  void SetSingleShape(int singleM, int singleN, int singleK) {
    m_ = singleM, n_ = singleN, k_ = singleK;
    next_ = 0;
  }
  void SetTail(int tailM = -1, int tailN = -1, int tailK = -1) {
    SetSingleShape(tailM != -1 ? tailM : m_, tailN != -1 ? tailN : n_, tailK != -1 ? tailK : k_);
  }

  template <typename Tensor>
  void SetTensorA(const Tensor& tensor, bool isTransposeA = false) {
    set(a_, tensor, isTransposeA, A::format);
    next_ = 0;
  }
  template <typename Tensor>
  void SetTensorB(const Tensor& tensor, bool isTransposeB = false) {
    set(b_, tensor, isTransposeB, B::format);
    next_ = 0;
  }
  template <typename Tensor>
  void SetBias(const Tensor& tensor) {
    set(bias_, tensor, false, CubeFormat::ND);
  }
  void ClearBias() { bias_ = {}; }
  void DisableBias() { ClearBias(); }
  template <typename Tensor>
  void SetLocalWorkspace(const Tensor&) {}
  template <typename Tensor>
  void SetWorkspace(const Tensor&) {}
  void SetHF32(bool, int32_t = 0) {}
  void SetSubBlockIdx(uint8_t) {}
  void SetSelfDefineData(uint64_t) {}
  void SetUserDefInfo(uint64_t) {}
  /// A float's bits: what an int8 product is multiplied with.
  void SetQuantScalar(uint64_t bits) { scale_ = mtsim::scale_of(bits); }
  /// The same for each column.
  void SetQuantVector(const GlobalTensor<uint64_t>& tensor) { set(scales_, tensor, false, CubeFormat::ND); }

  /// The next base block; false when there is none left.
  template <bool sync = true>
  bool Iterate(bool enPartialSum = false) {
    if (enPartialSum) mtsim::fault(mtsim::kVectorCoreException, "Matmul: enPartialSum is not simulated");
    require_init();
    const uint32_t down = blocks(m_, tiling_.baseM), across = blocks(n_, tiling_.baseN);
    if (next_ >= down * across) return false;
    const bool m_first = tiling_.iterateOrder == 0;
    row_ = (m_first ? next_ % down : next_ / across) * tiling_.baseM;
    column_ = (m_first ? next_ / down : next_ % across) * tiling_.baseN;
    ++next_;
    compute(row_, column_, std::min<uint32_t>(tiling_.baseM, m_ - row_),
            std::min<uint32_t>(tiling_.baseN, n_ - column_));
    return true;
  }
  template <bool sync = true>
  void GetTensorC(const GlobalTensor<CT>& gm, uint8_t enAtomic = 0, bool enSequentialWrite = false) {
    const mtsim::AtomicStores atomic(enAtomic);
    if (enSequentialWrite) store(packed(view(gm)), 0, 0);
    else store(whole(view(gm)), row_, column_);
  }
  /// A base block's rows lie baseN apart.
  template <bool sync = true>
  void GetTensorC(const LocalTensor<CT>& local, uint8_t = 0, bool = false) {
    store(packed(view(local)), 0, 0);
  }
  template <bool sync = true, typename Tensor>
  void IterateAll(const Tensor& c, uint8_t enAtomic = 0, bool enSequentialWrite = false, bool = false, bool = false) {
    const mtsim::AtomicStores atomic(enAtomic);
    compute(0, 0, m_, n_);
    store(whole(view(c)), 0, 0);
  }
  void WaitIterateAll() {}
  void WaitGetTensorC() {}
  void End() {
    a_ = {};
    b_ = {};
    bias_ = {};
    next_ = 0;
  }

 private:
  /// The cube core does the work and the vector core waits for it: what comes before and after is in order.
  struct Synchronous {
    Synchronous() {
      if constexpr (mtsim::kChecked) mtsim_check_barrier();
    }
    ~Synchronous() {
      if constexpr (mtsim::kChecked) mtsim_check_barrier();
    }
  };

  static uint32_t blocks(int64_t size, int64_t base) { return static_cast<uint32_t>((size + base - 1) / base); }

  void check_base_block() const {
    const auto fits = [](const char* what, int64_t bytes, mtsim::Memory memory) {
      if (bytes > mtsim::chip().bytes[memory])
        mtsim::fault(mtsim::kVectorCoreException, "Matmul: a base block of %s takes %lld bytes, %s has %u", what,
                     static_cast<long long>(bytes), mtsim::kMemoryNames[memory], mtsim::chip().bytes[memory]);
    };
    if (tiling_.baseM <= 0 || tiling_.baseN <= 0 || tiling_.baseK <= 0)
      mtsim::fault(mtsim::kVectorCoreException, "Matmul: the tiling's base block is %d x %d x %d: all must be positive",
                   tiling_.baseM, tiling_.baseN, tiling_.baseK);
    fits("A", int64_t{tiling_.baseM} * tiling_.baseK * sizeof(AT), mtsim::kL0A);
    fits("B", int64_t{tiling_.baseK} * tiling_.baseN * sizeof(BT), mtsim::kL0B);
    fits("C", int64_t{tiling_.baseM} * tiling_.baseN * sizeof(Sum), mtsim::kL0C);
  }

  template <typename T>
  static mtsim::Matrix<T> view(const GlobalTensor<T>& tensor) {
    return {tensor.GetPhyAddr(), tensor.available()};
  }
  template <typename T>
  static mtsim::Matrix<T> view(const LocalTensor<T>& tensor) {
    return {tensor.GetPhyAddr(), static_cast<int64_t>(tensor.capacity())};
  }
  template <typename T, typename Tensor>
  static void set(mtsim::Matrix<T>& matrix, const Tensor& tensor, bool transposed, CubeFormat format) {
    matrix = view(tensor);
    matrix.transposed = transposed;
    matrix.fractal = format == CubeFormat::NZ ? mtsim::kC0<T> : 0;
  }
  mtsim::Matrix<CT> whole(mtsim::Matrix<CT> c) const {
    c.rows = org_m_, c.columns = org_c_;
    c.fractal = kFractal;
    return c;
  }
  mtsim::Matrix<CT> packed(mtsim::Matrix<CT> c) const {
    c.rows = tiling_.baseM, c.columns = tiling_.baseN;
    c.fractal = kFractal;
    return c;
  }

  /// Rows and columns of a matrix as numbers of the accumulator's type.
  template <typename T>
  static std::vector<Sum> load(const mtsim::Matrix<T>& matrix, uint32_t row, uint32_t column, uint32_t rows,
                               uint32_t columns, const char* name) {
    matrix.check(row + rows, column + columns, name);
    mtsim::touch_matrix(matrix.data, rows, columns, "Matmul", name, MTSIM_READS,
                        [&](uint32_t i, uint32_t j) { return matrix.at(row + i, column + j); });
    std::vector<Sum> values(uint64_t{rows} * columns);
    for (uint32_t i = 0; i < rows; ++i)
      for (uint32_t j = 0; j < columns; ++j)
        values[uint64_t{i} * columns + j] = static_cast<Sum>(matrix.data[matrix.at(row + i, column + j)]);
    return values;
  }

  void require_init() const {
    if (tiling_.baseM == 0)
      mtsim::fault(mtsim::kVectorCoreException, "Matmul: Init, or a tiling in REGIST_MATMUL_OBJ, comes first");
  }

  void compute(uint32_t row, uint32_t column, uint32_t rows, uint32_t columns) {
    require_init();
    const Synchronous synchronous;
    const mtsim::Instruction instruction("Matmul", PIPE_M, mtsim::Flow::Uses);
    // What is stored of a transposed operand has its sizes the other way round.
    a_.rows = a_.transposed ? org_ka_ : org_m_, a_.columns = a_.transposed ? org_m_ : org_ka_;
    b_.rows = b_.transposed ? org_n_ : org_kb_, b_.columns = b_.transposed ? org_kb_ : org_n_;
    const auto depth = static_cast<uint32_t>(k_);
    const std::vector<Sum> a = load(a_, row, 0, rows, depth, "A");
    const std::vector<Sum> b = load(b_, 0, column, depth, columns, "B");
    computed_rows_ = rows, computed_columns_ = columns, first_column_ = column;
    if (scales_.data != nullptr) {
      scales_.rows = 1, scales_.columns = org_n_;
      scales_.check(1, column + columns, "the scales");
      mtsim::touch_elements(scales_.data + column, columns, "Matmul", "the scales", MTSIM_READS);
    }
    result_.assign(uint64_t{rows} * columns, Sum{0});
    if (bias_.data != nullptr) {
      bias_.rows = 1, bias_.columns = org_n_;
      bias_.check(1, column + columns, "the bias");
      mtsim::touch_elements(bias_.data + column, columns, "Matmul", "the bias", MTSIM_READS);
      for (uint32_t i = 0; i < rows; ++i)
        for (uint32_t j = 0; j < columns; ++j)
          result_[uint64_t{i} * columns + j] = static_cast<Sum>(bias_.data[column + j]);
    }
    mtsim::multiply(result_.data(), a.data(), b.data(), rows, columns, depth);
  }

  CT finished(Sum value, uint32_t column) const {
    if constexpr (std::is_same_v<CT, Sum>) return value;
    const float scale = scales_.data == nullptr ? scale_ : mtsim::scale_of(scales_.data[column]);
    return static_cast<CT>(static_cast<float>(value) * scale);
  }

  void store(const mtsim::Matrix<CT>& c, uint32_t row, uint32_t column) {
    const Synchronous synchronous;
    const mtsim::Instruction instruction("Matmul", PIPE_FIX, mtsim::Flow::Uses);
    c.check(row + computed_rows_, column + computed_columns_, "C");
    mtsim::touch_matrix(c.data, computed_rows_, computed_columns_, "Matmul", "C", mtsim::store_access(),
                        [&](uint32_t i, uint32_t j) { return c.at(row + i, column + j); });
    const uint32_t step = kFractal != 0 ? kFractal : computed_columns_;
    std::vector<CT> piece(step);
    for (uint32_t i = 0; i < computed_rows_; ++i)
      for (uint32_t j = 0; j < computed_columns_; j += step) {
        const uint32_t count = std::min(step, computed_columns_ - j);
        for (uint32_t x = 0; x < count; ++x) piece[x] = finished(result_[uint64_t{i} * computed_columns_ + j + x], first_column_ + j + x);
        mtsim::store_global(c.data + c.at(row + i, column + j), piece.data(), count * sizeof(CT));
      }
  }

  TCubeTiling tiling_{};
  int org_m_ = 0, org_n_ = 0, org_ka_ = 0, org_kb_ = 0, org_c_ = 0;
  int m_ = 0, n_ = 0, k_ = 0;
  uint32_t next_ = 0, row_ = 0, column_ = 0;
  uint32_t computed_rows_ = 0, computed_columns_ = 0, first_column_ = 0;
  float scale_ = 1;
  mtsim::Matrix<AT> a_;
  mtsim::Matrix<BT> b_;
  mtsim::Matrix<BiasT> bias_;
  mtsim::Matrix<uint64_t> scales_;
  std::vector<Sum> result_;
};

template <typename A, typename B, typename C, typename Bias = C, const auto& config = CFG_NORM, typename... Policies>
using MatmulImpl = Matmul<A, B, C, Bias, config, Policies...>;

}  // namespace AscendC

// The names under which kernels of several generations of CANN know them.
namespace matmul {
using namespace AscendC;
}
namespace mtsim {

inline void register_matmuls() {}
template <typename Object>
void register_matmuls(Object& object) {
  object.Init(nullptr);
}
/// Objects, each with its tiling behind it or without.
template <typename Object, typename Next, typename... Rest>
void register_matmuls(Object& object, Next&& next, Rest&&... rest) {
  if constexpr (std::is_convertible_v<Next, const TCubeTiling*>) {
    object.Init(next);
    register_matmuls(rest...);
  } else {
    object.Init(nullptr);
    register_matmuls(next, rest...);
  }
}

/// The cube core of a mixed kernel serves its vector cores, who here do the work themselves. A kernel that does not say
/// what it runs on is such a kernel by its Matmul, with two vector cores a block.
inline bool only_serves(bool cube_only) {
  if (cube_only) return false;
  declare_task(KERNEL_TYPE_MIX_AIC_1_2);
  return core().group != nullptr && runs_cube();
}

}  // namespace mtsim

// Where a source defines ASCENDC_CUBE_ONLY, the cube core multiplies for itself, and nobody serves.
#define MTSIM_SPELLED(...) #__VA_ARGS__
#define MTSIM_SPELL(...) MTSIM_SPELLED(__VA_ARGS__)
#define REGIST_MATMUL_OBJ(pipe, workspace, ...)                                                                  \
  if (::mtsim::only_serves(MTSIM_SPELL(ASCENDC_CUBE_ONLY)[0] != 'A')) return;                                    \
  ::mtsim::register_matmuls(__VA_ARGS__)
