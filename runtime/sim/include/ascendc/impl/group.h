// A block that runs on several cores at once, one cube and its vector cores: how it starts, and their flags.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "core.h"

// What a kernel may declare itself to be; 1_2 is one cube core with two vector cores.
enum KernelMetaType : uint8_t {
  KERNEL_TYPE_AIV_ONLY, KERNEL_TYPE_AIC_ONLY, KERNEL_TYPE_MIX_AIV_1_0, KERNEL_TYPE_MIX_AIC_1_0,
  KERNEL_TYPE_MIX_AIC_1_1, KERNEL_TYPE_MIX_AIC_1_2, KERNEL_TYPE_AICORE, KERNEL_TYPE_VECTORCORE, KERNEL_TYPE_MIX_AICORE,
  KERNEL_TYPE_MIX_VECTOR_CORE
};

namespace mtsim {

/// A block met its kernel's declaration: it starts again as what was declared.
struct Restart {
  KernelMetaType type;
};

/// The cores of one block. Waiting is over when the flag came, or when every core that still runs waits: a hang.
class Group {
 public:
  static constexpr uint32_t kFlags = 16;

  explicit Group(uint32_t vectors) : vectors_(vectors), live_(vectors + 1) {}

  /// The launch that the checker watches; asked for on the block's thread.
  void* const launch = kChecked ? mtsim_check_launch() : nullptr;

  uint32_t vectors() const { return vectors_; }

  /// Mode 1: the vector cores wait for each other. Mode 2: the cube and all of its vector cores.
  void set(uint32_t mode, uint32_t flag) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (core().role == Role::Cube) {
      for (uint32_t core = 0; core < vectors_; ++core) ++arrived_[1 + core][flag];
    } else {
      auto& pending = pending_[mode == 1];
      ++pending[core().sub_block][flag];
      if (all_pending(pending, flag)) {
        for (uint32_t core = 0; core < vectors_; ++core) --pending[core][flag];
        if (mode == 2) ++arrived_[0][flag];
        for (uint32_t core = 0; mode == 1 && core < vectors_; ++core) ++arrived_[1 + core][flag];
      }
    }
    changed_.notify_all();
  }

  void wait(uint32_t flag) {
    std::unique_lock<std::mutex> lock(mutex_);
    uint32_t& arrived = arrived_[core().role == Role::Cube ? 0 : 1 + core().sub_block][flag];
    sleep(lock, [&] { return arrived > 0; }, "CrossCoreWaitFlag", flag);
    --arrived;
  }

  /// All blocks' vector cores, or all cores, wait for each other; `others` is how the block's thread meets the others.
  template <typename Others>
  void sync_all(bool vectors_only, Others&& others) {
    std::unique_lock<std::mutex> lock(mutex_);
    const uint32_t members = vectors_ + (vectors_only ? 0 : 1);
    const uint64_t round = rounds_;
    ++met_;
    changed_.notify_all();
    if (core().fault != nullptr) {
      sleep(lock, [&] { return rounds_ != round; }, "SyncAll", 0);
      return;
    }
    sleep(lock, [&] { return met_ == members; }, "SyncAll", 0);
    ++outside_;
    lock.unlock();
    others();
    lock.lock();
    --outside_;
    met_ = 0;
    ++rounds_;
    changed_.notify_all();
  }

  void leave() {
    const std::lock_guard<std::mutex> lock(mutex_);
    --live_;
    changed_.notify_all();
  }

 private:
  using Counts = std::array<std::array<uint32_t, kFlags>, 3>;

  bool all_pending(const Counts& pending, uint32_t flag) const {
    for (uint32_t core = 0; core < vectors_; ++core)
      if (pending[core][flag] == 0) return false;
    return true;
  }

  // A core that wakes counts as running again before another may find that all wait, so `ready` is asked by all first.
  template <typename Ready>
  void sleep(std::unique_lock<std::mutex>& lock, Ready&& ready, const char* what, uint32_t flag) {
    Waiting self{std::function<bool()>(ready)};
    waiting_.push_back(&self);
    changed_.notify_all();
    changed_.wait(lock, [&] { return ready() || hangs(); });
    const bool hung = !ready();
    if (hung) hung_ = true;
    waiting_.erase(std::find(waiting_.begin(), waiting_.end(), &self));
    if (!hung) return;
    changed_.notify_all();
    lock.unlock();
    mtsim::fault(kVectorCoreTimeout, "%s: flag %u was never set: every core of the block waits or has ended", what,
                 flag);
  }

  bool hangs() const {
    if (hung_) return true;
    if (outside_ > 0 || waiting_.size() < live_) return false;
    return std::none_of(waiting_.begin(), waiting_.end(), [](const Waiting* waiting) { return waiting->ready(); });
  }

  struct Waiting {
    std::function<bool()> ready;
  };

  const uint32_t vectors_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint32_t live_;
  uint32_t met_ = 0;
  uint32_t outside_ = 0;
  uint64_t rounds_ = 0;
  bool hung_ = false;
  std::vector<Waiting*> waiting_;
  Counts arrived_{};
  std::array<Counts, 2> pending_{};
};

/// A kernel with its arguments. Not a template: what runs it is compiled once for all of a source's kernels.
struct Body {
  void (*call)(const void* arguments);
  const void* arguments;

  void operator()() const { call(arguments); }
};

/// A core while the checker watches it.
class WatchedCore {
 public:
  WatchedCore() {
    if constexpr (kChecked) {
      const Core& self = core();
      device_window.find();
      mtsim_check_begin_core(self.group != nullptr ? self.group->launch : mtsim_check_launch(), self.block,
                             static_cast<uint32_t>(self.role), self.sub_block, __FILE__);
      for (size_t kind = 0; kind < kMemories; ++kind)
        if (self.memories[kind]) self.show_memory(kind);
    }
  }
  ~WatchedCore() {
    if constexpr (kChecked) mtsim_check_end_core(gave_up_ || std::uncaught_exceptions() > unwinding_);
  }
  /// Runs the kernel, up to an access by a pointer of its own that must not happen.
  void run(const Body& body) {
    if constexpr (kChecked) {
      std::jmp_buf escape;
      core().escape = &escape;
      if (setjmp(escape) == 0) return finish(body);
      gave_up_ = true;
    } else {
      finish(body);
    }
  }
  WatchedCore(const WatchedCore&) = delete;
  WatchedCore& operator=(const WatchedCore&) = delete;

 private:
  static void finish(const Body& body) {
    body();
    core().check_key();
  }

  const int unwinding_ = std::uncaught_exceptions();
  bool gave_up_ = false;
};

inline void guarded(const Body& body) {
  try {
    WatchedCore watched;
    watched.run(body);
  } catch (const BlockFault&) {  // the block stops here, the stream's next synchronisation tells
  } catch (const std::exception& error) {
    report(kVectorCoreException, error.what());
  }
}

inline void become(Role role, uint32_t block, uint32_t blocks, uint32_t sub_block, Group* group, Fault* fault) {
  Core& self = core();
  self.start_block();
  self.role = role;
  self.block = block;
  self.blocks = blocks;
  self.sub_block = sub_block;
  self.group = group;
  self.fault = fault;
}

/// One cube core beside `vectors` vector cores; the first vector core stays on the block's thread.
inline void run_mixed(uint32_t vectors, const Body& body) {
  const uint32_t block = mtsim_block_idx();
  const uint32_t blocks = mtsim_block_num();
  Group group(vectors);
  std::array<Fault, 3> faults;
  std::vector<std::thread> threads;
  const auto run_core = [&](Role role, uint32_t sub_block, Fault* fault) {
    become(role, block, blocks, sub_block, &group, fault);
    guarded(body);
    group.leave();
  };
  const auto start = [&](Role role, uint32_t sub_block, Fault* fault) {
    try {
      threads.emplace_back(run_core, role, sub_block, fault);
    } catch (const std::system_error& error) {  // the others go on without it
      *fault = {kVectorCoreException, std::string("cannot start a thread for a core: ") + error.what()};
      group.leave();
    }
  };
  threads.reserve(vectors);
  start(Role::Cube, 0, &faults[0]);
  for (uint32_t core = 1; core < vectors; ++core) start(Role::Vector, core, &faults[core]);
  run_core(Role::Vector, 0, nullptr);
  for (std::thread& thread : threads) thread.join();
  for (const Fault& fault : faults)
    if (fault.code != 0) mtsim_kernel_fault(fault.code, fault.message.c_str());
}

inline void run_as(KernelMetaType type, const Body& body) {
  switch (type) {
    case KERNEL_TYPE_MIX_AIC_1_1:
      return run_mixed(1, body);
    case KERNEL_TYPE_MIX_AIC_1_2:
      return run_mixed(2, body);
    case KERNEL_TYPE_AIC_ONLY:
    case KERNEL_TYPE_MIX_AIC_1_0:
      become(Role::Cube, mtsim_block_idx(), mtsim_block_num(), 0, nullptr, nullptr);
      return guarded(body);
    default:
      become(Role::Vector, mtsim_block_idx(), mtsim_block_num(), 0, nullptr, nullptr);
      return guarded(body);
  }
}

/// What this source's kernels run on, by their names, as far as the builder could read it.
struct TaskTypes {
  const char* name;
  KernelMetaType type;
};
inline std::vector<TaskTypes>& task_types() {
  static std::vector<TaskTypes> types;
  return types;
}
inline bool declare_tasks(std::initializer_list<TaskTypes> types) {
  task_types().insert(task_types().end(), types);
  return true;
}

/// Runs one block of a kernel; a fault inside it has already been reported when this returns. `type` is what it runs on,
/// or nullptr where only the kernel itself says it.
inline void run_block(const Body& body, const KernelMetaType* type) {
  if (type != nullptr) return run_as(*type, body);
  core().start_block();
  try {
    guarded(body);
  } catch (const Restart& restart) {
    run_as(restart.type, body);
  }
}

/// What the macro KERNEL_TASK_TYPE_DEFAULT does where the builder did not see it.
inline void declare_task(KernelMetaType type) {
  if (core().role == Role::Any) throw Restart{type};
}

inline bool runs_cube() { return core().role == Role::Cube; }

}  // namespace mtsim
