// Error codes with a message: what ACL functions return, and what aclGetRecentErrMsg explains afterwards.
#pragma once

#include <chrono>
#include <string>

#include "acl/acl.h"

// Returns from the calling function with the code of `expression` unless that is ACL_SUCCESS.
#define MTSIM_TRY(expression)                       \
    do {                                            \
        if (aclError mtsim_code_ = (expression)) {  \
            return mtsim_code_;                     \
        }                                           \
    } while (false)

namespace mtsim {

// Formats like printf.
__attribute__((format(printf, 1, 2))) std::string format(const char* pattern, ...);

// Makes "<function>: <text>" the thread's recent message and returns `code`, so that callers write `return fail(...)`.
__attribute__((format(printf, 3, 4))) aclError fail(aclError code, const char* function, const char* pattern, ...);

// What to tell of a kernel that is not waited for any longer.
std::string describe_timeout(const char* kernel, std::chrono::seconds limit);

// 107000 unless `pointer` is set; `argument` is its name in the prototype.
aclError require_pointer(const char* function, const char* argument, const void* pointer);

}  // namespace mtsim
