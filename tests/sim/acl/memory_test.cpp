// Allocation, protection, copies and fills.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <numeric>
#include <random>

#include "check.hpp"

static void* allocate(std::size_t size) {
    void* pointer = nullptr;
    CHECK_OK(aclrtMalloc(&pointer, size, ACL_MEM_MALLOC_HUGE_FIRST));
    return pointer;
}

static std::size_t free_bytes() {
    std::size_t free = 0, total = 0;
    CHECK_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total));
    CHECK_EQ(total, std::size_t{4} << 30);
    return free;
}

TEST(sizes_are_rounded_up_and_accounted) {
    const std::size_t before = free_bytes();
    void* pointer = allocate(33);
    CHECK_EQ(reinterpret_cast<std::uintptr_t>(pointer) % 64, 0u);
    CHECK_EQ(before - free_bytes(), 96u);  // 33 -> 64, plus 32
    CHECK_EQ(mtsim_bytes_available(pointer), 96u);
    CHECK_EQ(mtsim_bytes_available(static_cast<char*>(pointer) + 90), 6u);
    CHECK_EQ(mtsim_bytes_available(static_cast<char*>(mtsim_kernel_alias(pointer)) + 90), 6u);
    CHECK_OK(aclrtFree(pointer));
    CHECK_EQ(free_bytes(), before);
    CHECK_EQ(mtsim_bytes_available(pointer), 0u);
}

TEST(bad_allocations_are_refused) {
    void* pointer = nullptr;
    CHECK_FAILS(aclrtMalloc(&pointer, 0, ACL_MEM_MALLOC_HUGE_FIRST), 107000,
                "aclrtMalloc: argument size: expected at least 1 byte, got 0");
    CHECK_FAILS(aclrtMalloc(nullptr, 8, ACL_MEM_MALLOC_HUGE_FIRST), 107000,
                "aclrtMalloc: argument devPtr: expected an address, got NULL");
    CHECK_FAILS(aclrtMalloc(&pointer, 8, static_cast<aclrtMemMallocPolicy>(3)), 107000,
                "aclrtMalloc: argument policy: expected 0, 1 or 2, got 3");
    CHECK_FAILS(aclrtMalloc(&pointer, std::size_t{5} << 30, ACL_MEM_MALLOC_HUGE_FIRST), 207001,
                "aclrtMalloc: out of memory on device 0: requested 5368709120 bytes, 4294967296 of 4294967296 bytes "
                "are free");
    CHECK_EQ(aclrtMalloc(&pointer, SIZE_MAX, ACL_MEM_MALLOC_HUGE_FIRST), 207001);
}

TEST(bad_frees_are_refused) {
    char* pointer = static_cast<char*>(allocate(64));
    int local = 0;
    const std::string start = "aclrtFree: argument devPtr: expected an address that aclrtMalloc returned, got ";
    CHECK_FAILS(aclrtFree(pointer + 8), 107000, start + text("%p, which is inside of an allocation", pointer + 8));
    CHECK_FAILS(aclrtFree(&local), 107000, start + text("%p, which is not device memory", &local));
    CHECK_OK(aclrtFree(pointer));
    CHECK_FAILS(aclrtFree(pointer), 107000, start + text("%p, which was freed or never allocated", pointer));
}

static int signal_of_child(void (*body)(volatile char*), volatile char* pointer) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);  // a sanitizer's handler would turn the signal into an exit status
        body(pointer);
        _exit(0);
    }
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST(the_host_faults_on_device_memory_and_kernels_do_not) {
    void* pointer = allocate(64);
    auto* device = static_cast<volatile char*>(pointer);
    auto* alias = static_cast<volatile char*>(mtsim_kernel_alias(pointer));
    CHECK_EQ(signal_of_child([](volatile char* p) { (void)*p; }, device), SIGSEGV);
    CHECK_EQ(signal_of_child([](volatile char* p) { *p = 1; }, device), SIGSEGV);
    CHECK_EQ(signal_of_child([](volatile char* p) { *p = 1; }, alias), 0);
    CHECK_EQ(mtsim_kernel_alias(const_cast<char*>(alias)), const_cast<char*>(alias));
    CHECK_EQ(mtsim_kernel_alias(nullptr), static_cast<void*>(nullptr));
}

TEST(fresh_and_freed_memory_is_poisoned) {
    auto* pointer = static_cast<unsigned char*>(allocate(5000));
    CHECK_EQ(download(pointer, 5000) == std::vector<unsigned char>(5000, 0xFF), true);
    CHECK_OK(aclrtMemset(pointer, 5000, 7, 5000));
    const auto* alias = static_cast<const unsigned char*>(mtsim_kernel_alias(pointer));
    CHECK_EQ(int{alias[100]}, 7);
    CHECK_OK(aclrtFree(pointer));
    CHECK_EQ(int{alias[100]}, 0xFF);
    CHECK_EQ(int{alias[4999]}, 0);  // beyond the first page the memory went back to the system
    auto* again = static_cast<unsigned char*>(allocate(5000));
    CHECK_EQ(again, pointer);
    CHECK_EQ(download(again, 5000) == std::vector<unsigned char>(5000, 0xFF), true);
}

TEST(copies_of_every_kind_move_the_bytes) {
    std::vector<int> values(1000);
    std::iota(values.begin(), values.end(), 0);
    const std::size_t bytes = values.size() * sizeof(int);
    int* first = upload(values);
    CHECK_OK(aclrtSetDevice(1));
    auto* second = static_cast<int*>(allocate(bytes));  // of the other device
    CHECK_OK(aclrtMemcpy(second, bytes, first, bytes, ACL_MEMCPY_DEVICE_TO_DEVICE));
    CHECK_EQ(download(second, 1000) == values, true);
    std::vector<int> host(1000, -1), other(1000, -1);
    CHECK_OK(aclrtMemcpy(host.data(), bytes, second, bytes, ACL_MEMCPY_DEFAULT));
    CHECK_OK(aclrtMemcpy(other.data(), bytes, host.data(), bytes, ACL_MEMCPY_HOST_TO_HOST));
    CHECK_EQ(other == values, true);
    CHECK_EQ(download(first + 10, 5) == std::vector<int>({10, 11, 12, 13, 14}), true);
    CHECK_OK(aclrtMemcpy(host.data(), 0, first, 0, ACL_MEMCPY_DEVICE_TO_HOST));
    CHECK_OK(aclrtResetDevice(1));
}

TEST(copies_check_sides_bounds_and_liveness) {
    char* device = static_cast<char*>(allocate(100));
    char host[200] = {};
    CHECK_FAILS(aclrtMemcpy(host, 200, device, 8, ACL_MEMCPY_HOST_TO_DEVICE), 107000,
                text("aclrtMemcpy: argument dst: expected device memory, got %p, which is host memory", host));
    CHECK_FAILS(aclrtMemcpy(host, 200, device, 8, ACL_MEMCPY_HOST_TO_HOST), 107000,
                text("aclrtMemcpy: argument src: expected host memory, got %p, which is device memory", device));
    CHECK_FAILS(aclrtMemcpy(host, 200, device, 8, static_cast<aclrtMemcpyKind>(7)), 107000,
                "aclrtMemcpy: argument kind: expected 0 to 4, got 7");
    CHECK_FAILS(aclrtMemcpy(host, 4, device, 8, ACL_MEMCPY_DEVICE_TO_HOST), 107000,
                "aclrtMemcpy: argument count: expected at most destMax = 4, got 8");
    CHECK_FAILS(aclrtMemcpy(host, 200, device + 60, 41, ACL_MEMCPY_DEVICE_TO_HOST), 107000,
                text("aclrtMemcpy: argument count: expected at most 40, the bytes from src = %p to the end of its "
                     "allocation, got 41", device + 60));
    CHECK_FAILS(aclrtMemcpy(nullptr, 8, device, 8, ACL_MEMCPY_DEVICE_TO_HOST), 107000,
                "aclrtMemcpy: argument dst: expected an address, got NULL");
    CHECK_FAILS(aclrtMemset(device, 100, 0, 101), 107000,
                "aclrtMemset: argument count: expected at most maxCount = 100, got 101");
    CHECK_OK(aclrtFree(device));
    CHECK_FAILS(aclrtMemcpyAsync(host, 200, device, 8, ACL_MEMCPY_DEVICE_TO_HOST, nullptr), 107000,
                text("aclrtMemcpyAsync: argument src: expected an address in live memory, got %p, which was freed or "
                     "never allocated", device));
}

TEST(pinned_memory_is_known_by_its_bounds) {
    void* pinned = nullptr;
    char* device = static_cast<char*>(allocate(100));
    CHECK_OK(aclrtMallocHost(&pinned, 10));
    std::memset(pinned, 1, 10);
    CHECK_FAILS(aclrtMemcpyAsync(device, 100, pinned, 11, ACL_MEMCPY_HOST_TO_DEVICE, nullptr), 107000,
                text("aclrtMemcpyAsync: argument count: expected at most 10, the bytes from src = %p to the end of its "
                     "allocation, got 11", pinned));
    CHECK_FAILS(aclrtFreeHost(device), 107000,
                text("aclrtFreeHost: argument hostPtr: expected an address that aclrtMallocHost returned and that was "
                     "not freed, got %p", device));
    CHECK_OK(aclrtFreeHost(pinned));
    CHECK_EQ(aclrtFreeHost(pinned), 107000);
    CHECK_FAILS(aclrtMallocHost(&pinned, 0), 107000, "aclrtMallocHost: argument size: expected at least 1 byte, got 0");
}

TEST(random_allocations_never_overlap) {
    std::mt19937 random(7);
    std::map<unsigned char*, std::pair<std::size_t, unsigned char>> live;
    const std::size_t before = free_bytes();
    for (int step = 0; step < 2000; ++step) {
        if (live.size() < 100 || random() % 2 == 0) {
            const std::size_t size = 1 + random() % 20000;
            const auto mark = static_cast<unsigned char>(random());
            auto* pointer = static_cast<unsigned char*>(allocate(size));
            CHECK_OK(aclrtMemset(pointer, size, mark, size));
            live[pointer] = {size, mark};
        } else {
            auto chosen = std::next(live.begin(), static_cast<long>(random() % live.size()));
            const auto [size, mark] = chosen->second;
            CHECK_EQ(download(chosen->first, size) == std::vector<unsigned char>(size, mark), true);
            CHECK_OK(aclrtFree(chosen->first));
            live.erase(chosen);
        }
    }
    for (const auto& entry : live) {
        CHECK_OK(aclrtFree(entry.first));
    }
    CHECK_EQ(free_bytes(), before);
    CHECK_OK(aclrtFree(allocate((std::size_t{4} << 30) - 32)));  // the whole device: nothing was lost to fragments
}
