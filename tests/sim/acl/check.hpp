// Just enough of a test framework: tests that register themselves, and checks that say what differed.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "mtsim.h"

struct Test {
    const char* file;
    const char* name;
    void (*body)();
};

inline std::vector<Test>& tests() {
    static std::vector<Test> all;
    return all;
}

// Runs in a process of its own when some test calls run_scenario(name); returns the process's status.
struct Scenario {
    const char* name;
    int (*body)();
};

inline std::vector<Scenario>& scenarios() {
    static std::vector<Scenario> all;
    return all;
}

[[noreturn]] inline void give_up(const char* file, int line, const std::string& text) {
    std::cerr << file << ":" << line << ": " << text << std::endl;
    std::_Exit(1);
}

template <class A, class B>
void check_equal(const char* file, int line, const char* expression, const A& got, const B& expected) {
    if (!(got == expected)) {
        std::ostringstream text;
        text << expression << "\n  got:      " << got << "\n  expected: " << expected;
        give_up(file, line, text.str());
    }
}

#define CHECK(condition) ((condition) ? (void)0 : give_up(__FILE__, __LINE__, "false: " #condition))
#define CHECK_EQ(got, expected) check_equal(__FILE__, __LINE__, #got, got, expected)
#define CHECK_OK(call)                                                                                         \
    do {                                                                                                       \
        if (aclError code_ = static_cast<aclError>(call)) {                                                    \
            give_up(__FILE__, __LINE__, #call " returned " + std::to_string(code_) + ": " + aclGetRecentErrMsg()); \
        }                                                                                                      \
    } while (false)
// The call returns `code` and leaves exactly `message`.
#define CHECK_FAILS(call, code, message)                       \
    do {                                                       \
        CHECK_EQ(static_cast<aclError>(call), code);           \
        CHECK_EQ(std::string(aclGetRecentErrMsg()), message);  \
    } while (false)

#define TEST(name)                                                                        \
    static void name();                                                                   \
    static const bool registered_##name = (tests().push_back({__FILE__, #name, name}), true); \
    static void name()
#define SCENARIO(name)                                                                     \
    static int name();                                                                     \
    static const bool registered_##name = (scenarios().push_back({#name, name}), true);    \
    static int name()

// printf into a string, for expected messages.
template <class... Args>
std::string text(const char* pattern, Args... args) {
    char buffer[1024];
    std::snprintf(buffer, sizeof buffer, pattern, args...);
    return buffer;
}

// Device memory with the given values, and back.
template <class T>
T* upload(const std::vector<T>& values) {
    void* pointer = nullptr;
    const std::size_t bytes = values.size() * sizeof(T);
    CHECK_OK(aclrtMalloc(&pointer, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_OK(aclrtMemcpy(pointer, bytes, values.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    return static_cast<T*>(pointer);
}

template <class T>
std::vector<T> download(const T* pointer, std::size_t count) {
    std::vector<T> values(count);
    CHECK_OK(aclrtMemcpy(values.data(), count * sizeof(T), pointer, count * sizeof(T), ACL_MEMCPY_DEVICE_TO_HOST));
    return values;
}
