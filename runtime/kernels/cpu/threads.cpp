// The pool: threads start when a range is first cut, and sleep between ranges. A forked child begins with a pool of its own.
#include "threads.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <thread>

#include "mindtorch_kernel.h"
#include "tensor.h"

namespace mt {
namespace {

constexpr int kMostThreads = 1024;
constexpr int kPartsEach = 4;     // of a range, so that a thread that is slowed down leaves its share to the others
constexpr int kMostShares = 64;   // of a range: threads beyond them begin with the share of another one
// How long a thread looks for work, or for the end of it, before it sleeps: to be woken takes it longer than most work does, and it may
// be woken on the core that its caller is on. OpenMP's threads look for some milliseconds.
constexpr std::chrono::microseconds kAwake{1000};
constexpr int kSpins = 32;        // between two looks at the clock

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// Waits without sleeping until `found()`, but no longer than kAwake.
template <class F>
void look_for(F&& found) {
  const auto end = std::chrono::steady_clock::now() + kAwake;
  do {
    for (int i = 0; i < kSpins; ++i) {
      if (found()) return;
      relax();
    }
  } while (std::chrono::steady_clock::now() < end);
}

// A range that is being worked on, on its caller's stack: cut into parts, of which each thread has a share, as in the call before
// (what it wrote then lies in its core's cache), and takes what others have left of theirs when it is done.
struct Job {
  struct alignas(64) Share {
    std::atomic<int64_t> next;
    int64_t end;
  };

  Job(RangeFn f, void* data, int64_t count, int64_t parts, int64_t threads) : fn(f), body(data), n(count), part((count + parts - 1) / parts) {
    const int64_t whole = (n + part - 1) / part;  // parts there are
    shares = int(std::min<int64_t>({threads, whole, kMostShares}));
    for (int i = 0; i < shares; ++i) {
      share[i].next = whole * i / shares;
      share[i].end = whole * (i + 1) / shares;
    }
  }

  // What a thread does of it, by its place among them: first its share, then those after it.
  void work(int place) {
    for (int i = 0; i < shares; ++i) {
      Share& from = share[(place + i) % shares];
      while (status.load(std::memory_order_relaxed) == MT_OK) {
        const int64_t at = from.next.fetch_add(1, std::memory_order_relaxed);
        if (at >= from.end) break;
        const int found = fn(body, at * part, std::min(n, (at + 1) * part));
        int fine = MT_OK;
        if (found != MT_OK) status.compare_exchange_strong(fine, found);
      }
    }
  }

  RangeFn fn;
  void* body;
  int64_t n, part;
  int shares;
  std::atomic<int> status{MT_OK};
  Share share[kMostShares];
};

thread_local Job* mine = nullptr;  // what the thread has a part of

// Callers and threads meet by atomics alone while they look for each other; they lock where one of them sleeps. Each of three pairs
// writes one variable and then reads the other's, in one order for all (sequential consistency), so that one of both sees it.
class Pool {
 public:
  // Works on a job with up to `threads` threads. False: another caller has the pool.
  bool run(Job* job, int threads) {
    std::unique_lock<std::mutex> caller(callers_, std::try_to_lock);
    if (!caller.owns_lock()) return false;
    places_.store(start(threads - 1));
    job_.store(job);
    round_.fetch_add(1);
    if (sleepers_.load() > 0) {  // or the sleeper sees the round
      std::lock_guard<std::mutex> guard(mutex_);
      leave_core(sched_getcpu());
      wake_.notify_all();
    }
    mine = job;
    job->work(0);
    mine = nullptr;
    job_.store(nullptr);  // threads that wake up now come too late: or they are busy, and waited for
    look_for([this] { return busy_.load(std::memory_order_acquire) == 0; });
    if (busy_.load() > 0) {
      std::unique_lock<std::mutex> guard(mutex_);
      waiting_.store(true);
      done_.wait(guard, [this] { return busy_.load() == 0; });
      waiting_.store(false);
    }
    return true;
  }

 private:
  // How many of the threads wanted there are, now that those missing were started. Signals are for the threads of the program.
  int start(int count) {
    if (started_ >= count) return count;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      for (; started_ < count; ++started_)
        std::thread([this, round = round_.load(), place = started_ + 1] { serve(round, place); }).detach();
    } catch (const std::system_error&) {  // the system has no more: those that there are will do
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return std::min(started_, count);
  }

  void serve(uint64_t seen, int place) {
    for (;;) {
      look_for([&] { return round_.load(std::memory_order_acquire) != seen; });
      if (round_.load() == seen) sleep(seen);
      seen = round_.load();
      busy_.fetch_add(1);
      Job* job = job_.load();  // or the caller sees that this thread is busy
      if (job != nullptr && places_.fetch_sub(1) > 0) {
        mine = job;
        job->work(place);
        mine = nullptr;
      }
      if (busy_.fetch_sub(1) > 1 || !waiting_.load()) continue;
      std::lock_guard<std::mutex> guard(mutex_);
      done_.notify_one();
    }
  }

  // A thread that sleeps, on its stack, and the cores that it may run on once it is awake, where it is `moved`.
  struct Sleeper {
    pthread_t thread;
    Sleeper* next;
    cpu_set_t allowed;
    bool moved = false;
  };

  void sleep(uint64_t seen) {
    Sleeper self{pthread_self(), nullptr, {}};
    {
      std::unique_lock<std::mutex> guard(mutex_);
      self.next = asleep_;
      asleep_ = &self;
      sleepers_.fetch_add(1);
      wake_.wait(guard, [&] { return round_.load() != seen; });
      sleepers_.fetch_sub(1);
      Sleeper** link = &asleep_;
      while (*link != &self) link = &(*link)->next;
      *link = self.next;
    }
    if (self.moved) pthread_setaffinity_np(self.thread, sizeof self.allowed, &self.allowed);
  }

  // A thread that is woken on its caller's core waits there for the caller to end its own part, some milliseconds long, while another core has
  // nothing to do. Systems do that: a core of a virtual machine that has halted counts as taken. So until they are awake threads may run on any
  // other core. Needs the lock.
  void leave_core(int core) {
    for (Sleeper* each = asleep_; each != nullptr; each = each->next) {
      if (each->moved || pthread_getaffinity_np(each->thread, sizeof each->allowed, &each->allowed) != 0) continue;
      cpu_set_t others = each->allowed;
      CPU_CLR(core, &others);
      each->moved = CPU_COUNT(&others) > 0 && pthread_setaffinity_np(each->thread, sizeof others, &others) == 0;
    }
  }

  std::mutex callers_, mutex_;
  std::condition_variable wake_, done_;
  Sleeper* asleep_ = nullptr;
  std::atomic<uint64_t> round_{0};
  std::atomic<int> busy_{0}, places_{0}, sleepers_{0};
  std::atomic<bool> waiting_{false};
  std::atomic<Job*> job_{nullptr};
  int started_ = 0;
};

// Pools are never destroyed: their threads may outlive the library's other data at the end of the process.
std::atomic<Pool*> pool{nullptr};

Pool* the_pool() {
  Pool* found = pool.load(std::memory_order_acquire);
  if (found != nullptr) return found;
  static const int registered = pthread_atfork(nullptr, nullptr, [] { pool.store(nullptr); });
  (void)registered;
  Pool* made = new Pool;
  if (pool.compare_exchange_strong(found, made, std::memory_order_acq_rel)) return made;
  delete made;
  return found;
}

int default_threads() {
  if (const char* wanted = std::getenv("OMP_NUM_THREADS")) {
    const long count = std::strtol(wanted, nullptr, 10);
    if (count > 0) return int(std::min<long>(count, kMostThreads));
  }
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return std::max(1, CPU_COUNT(&allowed));
  return int(std::max(1u, std::thread::hardware_concurrency()));
}

std::atomic<int>& thread_count() {
  static std::atomic<int> count{default_threads()};
  return count;
}

}  // namespace

bool is_stopped() { return mine != nullptr && mine->status.load(std::memory_order_relaxed) != MT_OK; }

int threads() { return mine != nullptr ? 1 : thread_count().load(std::memory_order_relaxed); }

int run_parallel(int64_t n, int64_t grain, RangeFn fn, void* body) {
  const int64_t most = threads();
  const int64_t parts = std::min(n / std::max<int64_t>(grain, 1), most * kPartsEach);
  if (most < 2 || parts < 2) return fn(body, 0, n);
  Job job(fn, body, n, parts, most);
  if (!the_pool()->run(&job, int(std::min(most, parts)))) return fn(body, 0, n);
  return job.status.load();
}

}  // namespace mt

// How many threads a kernel uses at most, its caller's among them.
MT_EXPORT int64_t mt_get_num_threads() { return mt::thread_count().load(); }
MT_EXPORT void mt_set_num_threads(int64_t count) {
  mt::thread_count().store(int(std::clamp<int64_t>(count, 1, mt::kMostThreads)));
}
