// Kernels compiled for the host: queueing them, running their blocks, and what a running block may ask.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <system_error>

#include "check_launch.hpp"
#include "error.hpp"
#include "isolation.hpp"
#include "mtsim.h"
#include "mtsim_check.h"
#include "runtime.hpp"

using namespace mtsim;

namespace {

constexpr std::uint32_t kMaxBlocks = 65535;

// Blocks that wait for each other. A block that ends is no longer waited for.
class Barrier {
public:
    explicit Barrier(std::uint32_t members) : members_(members) {}

    void arrive() {
        std::unique_lock<std::mutex> lock(mutex_);
        const std::uint64_t round = round_;
        ++arrived_;
        open_if_complete();
        opened_.wait(lock, [&] { return round_ != round; });
    }

    void leave() {
        std::lock_guard<std::mutex> lock(mutex_);
        --members_;
        open_if_complete();
    }

private:
    void open_if_complete() {
        if (arrived_ == members_) {
            arrived_ = 0;
            ++round_;
            opened_.notify_all();
        }
    }

    std::mutex mutex_;
    std::condition_variable opened_;
    std::uint32_t members_;
    std::uint32_t arrived_ = 0;
    std::uint64_t round_ = 0;
};

// What a thread needs to know of the block it runs.
struct Block {
    std::uint32_t index = 0;
    std::uint32_t count = 1;
    const char* kernel = nullptr;  // NULL: the thread runs no kernel
    Stream* stream = nullptr;
    Barrier* barrier = nullptr;
    bool faulted = false;
    check::LaunchSlot* check = nullptr;
};

thread_local Block block;

void report(Stream& stream, aclError code, std::string message) {
    if (!report_to_parent(code, message)) {
        stream.set_failure(code, std::move(message));
    }
}

void record_fault(aclError code, const char* message) {
    block.faulted = true;
    std::string text =
        format("kernel %s, block %u of %u: %s", block.kernel, block.index, block.count, message);
    report(*block.stream, code, std::move(text));
}

BlockPlace place_of_thread() { return {block.index, block.count}; }

class KernelTask {
public:
    static constexpr bool kAlways = false;
    static constexpr const char* kKind = "kernel";

    KernelTask(const char* name, std::uint32_t blocks, mtsim_kernel_fn function, const void* arguments,
               std::size_t size, bool concurrent)
        : function_(function),
          arguments_(static_cast<std::uint32_t>(size)),
          blocks_(static_cast<std::uint16_t>(blocks)),
          concurrent_(concurrent),
          on_heap_(size > kInline - kMostName) {
        void* copy = inline_;
        if (on_heap_) {
            copy = new unsigned char[size + kMostName];
            std::memcpy(inline_, &copy, sizeof copy);
        }
        if (size > 0) {
            std::memcpy(copy, arguments, size);
        }
        char* const end = static_cast<char*>(copy) + size;
        const std::size_t length = strnlen(name, kMostName - 1);
        std::memcpy(end, name, length);
        end[length] = '\0';
    }
    KernelTask(const KernelTask&) = delete;
    ~KernelTask() {
        if (on_heap_) {
            delete[] copy();
        }
    }

    void run(Stream& stream) {
        Runtime& runtime = Runtime::get();
        const std::chrono::seconds limit(runtime.config.timeout);
        if (runtime.config.isolate) {
            const auto blocks = [&] { run_alone(stream); };
            if (std::optional<Failure> failure = run_isolated(name(), limit, place_of_thread, blocks)) {
                stream.set_failure(failure->code, std::move(failure->message));
            }
        } else if (runtime.watchdog.enabled()) {
            runtime.watchdog.start();
            const std::uint64_t kernel = stream.begin_kernel(name());
            run_blocks(stream);
            stream.end_kernel(kernel);
        } else {
            run_blocks(stream);
        }
    }

    Label label() const { return Label{kKind, name(), blocks_}; }

private:
    // In a child, which has no thread but this one.
    void run_alone(Stream& stream) const {
        check::LaunchSlot check(name(), blocks_);
        if (concurrent_) {
            run_concurrent(stream, check);
        } else {
            for (std::uint32_t index = 0; index < blocks_; ++index) {
                run_block(stream, index, nullptr, check);
            }
        }
        tell(stream, check);
    }

    void run_blocks(Stream& stream) const {
        check::LaunchSlot check(name(), blocks_);
        if (concurrent_) {
            run_concurrent(stream, check);
        } else if (blocks_ == 1) {
            run_block(stream, 0, nullptr, check);
        } else {
            Runtime::get().blocks.run(blocks_,
                                      [&](std::uint32_t index) { run_block(stream, index, nullptr, check); });
        }
        tell(stream, check);
    }

    // What the checker found, if it watched.
    static void tell(Stream& stream, check::LaunchSlot& check) {
        check::Launch* checked = check.existing();
        if (checked == nullptr) {
            return;
        }
        if (const auto found = checked->report(); found && !report_to_parent(found->code, found->text)) {
            stream.add_report(found->code, found->text);
        }
    }

    const unsigned char* copy() const {
        if (!on_heap_) {
            return inline_;
        }
        const unsigned char* heap = nullptr;
        std::memcpy(&heap, inline_, sizeof heap);
        return heap;
    }
    const char* name() const { return reinterpret_cast<const char*>(copy()) + arguments_; }

    void run_block(Stream& stream, std::uint32_t index, Barrier* barrier, check::LaunchSlot& check) const {
        Block& own = block;
        own = Block{index, blocks_, name(), &stream, barrier, false, &check};
        try {
            function_(copy());
        } catch (const std::exception& error) {
            if (!own.faulted) {  // else the exception is how the kernel left the block after its fault
                record_fault(ACL_ERROR_RT_VECTOR_CORE_EXCEPTION, error.what());
            }
        } catch (...) {  // of any type: nothing may leave the worker thread
            if (!own.faulted) {
                record_fault(ACL_ERROR_RT_VECTOR_CORE_EXCEPTION, "an exception of an unknown type left the kernel");
            }
        }
        own = Block{};
        if (barrier != nullptr) {
            barrier->leave();
        }
    }

    void run_concurrent(Stream& stream, check::LaunchSlot& check) const {
        Barrier barrier(blocks_);
        std::vector<std::thread> threads;
        threads.reserve(blocks_);
        std::uint32_t index = 1;
        try {
            for (; index < blocks_; ++index) {
                threads.emplace_back([&, index] { run_block(stream, index, &barrier, check); });
            }
        } catch (const std::system_error& error) {
            report(stream, ACL_ERROR_RT_INTERNAL_ERROR,
                   format("kernel %s: cannot start a thread for block %u: %s", name(), index, error.what()));
            for (; index < blocks_; ++index) {
                barrier.leave();
            }
        }
        run_block(stream, 0, &barrier, check);
        for (std::thread& thread : threads) {
            thread.join();
        }
    }

    static constexpr std::size_t kMostName = 64;  // with the zero at its end
    static constexpr std::size_t kInline = Slot::kCapacity - 16;

    const mtsim_kernel_fn function_;
    const std::uint32_t arguments_;  // bytes
    const std::uint16_t blocks_;
    const bool concurrent_, on_heap_;
    // The arguments and behind them the name, or where these are: most fit, and then a launch allocates nothing and
    // fills one or two cache lines.
    alignas(16) unsigned char inline_[kInline];
};

aclError launch(const char* function, const char* name, std::uint32_t blocks, std::uint32_t limit, void* stream,
                mtsim_kernel_fn kernel, const void* arguments, std::size_t size, bool concurrent) {
    MTSIM_TRY(require_pointer(function, "name", name));
    MTSIM_TRY(require_pointer(function, "fn", reinterpret_cast<const void*>(kernel)));
    if (blocks < 1 || blocks > limit) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, function, "kernel %s: argument block_dim: expected 1 to %u, got %u",
                    name, limit, blocks);
    }
    if (size > 0 && arguments == nullptr) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, function, "kernel %s: argument args: expected %zu bytes, got NULL",
                    name, size);
    }
    Stream* target = nullptr;
    MTSIM_TRY(borrow_stream(function, stream, &target));
    return target->emplace<KernelTask>(function, nullptr, name, blocks, kernel, arguments, size, concurrent);
}

// The device whose memory `pointer` is in, by either alias.
const Device* device_by_either_alias(const void* pointer) {
    for (const auto& device : Runtime::get().devices) {
        if (device->memory.in_kernel_alias(pointer) || device->memory.in_host_alias(pointer)) {
            return device.get();
        }
    }
    return nullptr;
}

}  // namespace

uint32_t mtsim_launch(const char* name, uint32_t block_dim, void* stream, mtsim_kernel_fn fn, const void* args,
                      size_t args_size) {
    return static_cast<uint32_t>(
        launch("mtsim_launch", name, block_dim, kMaxBlocks, stream, fn, args, args_size, false));
}

uint32_t mtsim_launch_concurrent(const char* name, uint32_t block_dim, void* stream, mtsim_kernel_fn fn,
                                 const void* args, size_t args_size) {
    return static_cast<uint32_t>(
        launch("mtsim_launch_concurrent", name, block_dim, MTSIM_CORES, stream, fn, args, args_size, true));
}

uint32_t mtsim_kernel_arg(const char* kernel, uint32_t index, const void* device_ptr, void** alias) {
    *alias = nullptr;
    if (device_ptr == nullptr) {
        return ACL_SUCCESS;
    }
    const Context* context = nullptr;
    ThreadState& thread = ThreadState::get();
    MTSIM_TRY(require_context(kernel, &context, thread));
    const DeviceMemory& memory = context->device->memory;
    if (memory.in_host_alias(device_ptr) && memory.find(device_ptr, thread.memory)) {
        *alias = memory.kernel_alias(device_ptr);
        return ACL_SUCCESS;
    }
    const Device* other = device_of(device_ptr);
    const std::string got = other == nullptr            ? "host memory"
                            : other == context->device  ? "freed or was never allocated"
                                                        : format("memory of device %d", other->id);
    return static_cast<uint32_t>(fail(ACL_ERROR_RT_PARAM_INVALID, kernel,
                                      "argument %u: expected memory of device %d, got %p, which is %s", index,
                                      context->device->id, device_ptr, got.c_str()));
}

uint32_t mtsim_block_idx() { return block.index; }

uint32_t mtsim_block_num() { return block.count; }

void* mtsim_kernel_alias(const void* device_ptr) {
    const Device* device = device_of(device_ptr);
    return device != nullptr ? device->memory.kernel_alias(device_ptr) : const_cast<void*>(device_ptr);
}

size_t mtsim_bytes_available(const void* ptr) {
    const Device* device = device_by_either_alias(ptr);
    if (device == nullptr) {
        return 0;
    }
    const std::optional<Allocation> allocation = device->memory.find(ptr);
    return allocation ? allocation->offset + allocation->usable - device->memory.offset(ptr) : 0;
}

void mtsim_kernel_fault(uint32_t code, const char* message) {
    const char* text = message != nullptr ? message : "no message";
    if (block.kernel == nullptr) {
        std::fprintf(stderr, "mtsim_kernel_fault: called outside of a kernel: %u: %s\n", code, text);
        return;
    }
    record_fault(code != 0 ? static_cast<aclError>(code) : ACL_ERROR_RT_VECTOR_CORE_EXCEPTION, text);
}

void mtsim_block_barrier() {
    if (block.barrier != nullptr) {
        block.barrier->arrive();
    } else if (block.count > 1) {
        record_fault(ACL_ERROR_RT_VECTOR_CORE_TIMEOUT,
                     "blocks wait for each other, but the kernel was not launched with all of them alive: use "
                     "mtsim_launch_concurrent");
    }
}

size_t mtsim_check_bytes_available(const void* ptr) {
    constexpr std::size_t kBlock = 32;
    const Device* device = device_by_either_alias(ptr);
    if (device == nullptr) {
        return 0;
    }
    const std::optional<Allocation> allocation = device->memory.find(ptr);
    const std::size_t from = device->memory.offset(ptr);
    const std::size_t end =
        allocation ? allocation->offset + (allocation->requested + kBlock - 1) / kBlock * kBlock : 0;
    return from < end ? end - from : 0;
}

void* mtsim_check_launch() { return block.check != nullptr ? block.check->get() : nullptr; }
