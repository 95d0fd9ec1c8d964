#include "error.hpp"

#include <cstdarg>
#include <cstdio>
#include <utility>

namespace mtsim {
namespace {

thread_local std::string recent_message;
thread_local std::string returned_message;  // keeps the text alive that the caller was given

std::string format_list(const char* pattern, va_list arguments) {
    va_list measured;
    va_copy(measured, arguments);
    const int length = std::vsnprintf(nullptr, 0, pattern, measured);
    va_end(measured);
    std::string text(static_cast<std::size_t>(length), '\0');
    std::vsnprintf(text.data(), text.size() + 1, pattern, arguments);
    return text;
}

}  // namespace

std::string format(const char* pattern, ...) {
    va_list arguments;
    va_start(arguments, pattern);
    std::string text = format_list(pattern, arguments);
    va_end(arguments);
    return text;
}

aclError fail(aclError code, const char* function, const char* pattern, ...) {
    va_list arguments;
    va_start(arguments, pattern);
    recent_message = std::string(function) + ": " + format_list(pattern, arguments);
    va_end(arguments);
    return code;
}

aclError require_pointer(const char* function, const char* argument, const void* pointer) {
    if (pointer != nullptr) {
        return ACL_SUCCESS;
    }
    return fail(ACL_ERROR_RT_PARAM_INVALID, function, "argument %s: expected an address, got NULL", argument);
}

std::string describe_timeout(const char* kernel, std::chrono::seconds limit) {
    return format("kernel %s: still running after %lld s: a flag that nobody sets, or a loop without an end "
                  "(MINDTORCH_SIM_TIMEOUT is the limit in seconds, 0 for none)", kernel,
                  static_cast<long long>(limit.count()));
}

}  // namespace mtsim

const char* aclGetRecentErrMsg() {
    mtsim::returned_message = std::exchange(mtsim::recent_message, std::string());
    return mtsim::returned_message.c_str();
}
