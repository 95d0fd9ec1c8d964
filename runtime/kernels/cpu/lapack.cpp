// How many threads the library of LAPACK has while kernels call it.
#include "lapack.h"

#include <pthread.h>

#include <atomic>
#include <mutex>

namespace mt {
namespace {

constexpr int64_t kLarge = 512;  // rows and columns from which on a matrix is worth threads: below, to wake them costs more than they save

// The library's functions, where it is OpenBLAS; 0 before `mt_lapack_threads`, and where it is another.
std::atomic<int (*)()> get_threads{nullptr};
std::atomic<void (*)(int)> set_threads{nullptr};

// Who is in the library, and what its number was before the first of them came. A forked child begins anew: another thread may have held the lock.
struct Callers {
  std::mutex lock;
  int count = 0, before = 0;
};
std::atomic<Callers*> callers{nullptr};

Callers* callers_now() {
  Callers* found = callers.load(std::memory_order_acquire);
  if (found != nullptr) return found;
  static const int registered = pthread_atfork(nullptr, nullptr, [] { callers.store(nullptr); });
  (void)registered;
  Callers* made = new (std::nothrow) Callers;
  if (made == nullptr || callers.compare_exchange_strong(found, made, std::memory_order_acq_rel)) return made;
  delete made;
  return found;
}

}  // namespace

LapackThreads::LapackThreads(const mt_tensor* matrices) {
  const auto get = get_threads.load(std::memory_order_relaxed);
  const auto set = set_threads.load(std::memory_order_relaxed);
  Callers* const others = matrices == nullptr || get == nullptr || set == nullptr ? nullptr : callers_now();
  if (others == nullptr) return;
  const int64_t least = std::min(matrices->shape[matrices->ndim - 2], matrices->shape[matrices->ndim - 1]);
  const int wanted = least >= kLarge && items_of(matrices) == 1 ? threads() : 1;
  const std::lock_guard<std::mutex> held(others->lock);
  if (others->count++ == 0) others->before = get();
  if (get() != wanted) set(wanted);
  entered_ = true;
}

LapackThreads::~LapackThreads() {
  Callers* const others = entered_ ? callers_now() : nullptr;
  if (others == nullptr) return;
  const std::lock_guard<std::mutex> held(others->lock);
  if (--others->count == 0) set_threads.load(std::memory_order_relaxed)(others->before);
}

}  // namespace mt

// Tells of the functions by which OpenBLAS's number of threads is asked for and set.
MT_EXPORT int mt_lapack_threads(int64_t get, int64_t set) {
  mt::get_threads = reinterpret_cast<int (*)()>(get);
  mt::set_threads = reinterpret_cast<void (*)(int)>(set);
  return MT_OK;
}
