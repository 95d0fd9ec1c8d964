#include "kernel_call.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <utility>

namespace mtsim {
namespace {

// In the C calling conventions of Linux on x86-64 and AArch64, whole numbers and floating-point numbers fill registers
// of their own, each in order, and what finds none left goes to the stack, 8 bytes each. So one call with every
// register and a full stack passes any list of arguments: the callee reads those that its prototype tells it to.
#if defined(__x86_64__)
constexpr std::size_t kIntegers = 6;
#elif defined(__aarch64__)
constexpr std::size_t kIntegers = 8;
#else
#error "kernels are called by the conventions of x86-64 and AArch64"
#endif
constexpr std::size_t kFloats = 8;
constexpr std::size_t kStack = 32;
constexpr std::size_t kMostParameters = kStack;  // so that they fit whatever their types

template <std::size_t, class Type>
using Repeated = Type;

class Frame {
public:
    void put_integer(std::uint64_t value) {
        if (integers_ < kIntegers) {
            integer_[integers_++] = value;
        } else {
            stack_[stacked_++] = value;
        }
    }
    void put_float(std::uint64_t bits) {
        if (floats_ < kFloats) {
            std::memcpy(&float_[floats_++], &bits, sizeof bits);
        } else {
            stack_[stacked_++] = bits;
        }
    }
    std::uint32_t call(void* function) const {
        return call(function, std::make_index_sequence<kIntegers>(), std::make_index_sequence<kFloats>(),
                    std::make_index_sequence<kStack>());
    }

private:
    template <std::size_t... i, std::size_t... f, std::size_t... s>
    std::uint32_t call(void* function, std::index_sequence<i...>, std::index_sequence<f...>,
                       std::index_sequence<s...>) const {
        using Any =
            std::uint32_t (*)(Repeated<i, std::uint64_t>..., Repeated<f, double>..., Repeated<s, std::uint64_t>...);
        return reinterpret_cast<Any>(function)(integer_[i]..., float_[f]..., stack_[s]...);
    }

    std::uint64_t integer_[kIntegers] = {};
    double float_[kFloats] = {};
    std::uint64_t stack_[kStack] = {};
    std::size_t integers_ = 0, floats_ = 0, stacked_ = 0;
};

struct Word {
    const char* text;
    Parameter::Kind kind;
    std::size_t size;
};

// 16-bit floats are passed as their bits.
constexpr Word kWords[] = {
    {"ptr", Parameter::kPointer, 8}, {"bool", Parameter::kUnsigned, 1}, {"f16", Parameter::kUnsigned, 2},
    {"bf16", Parameter::kUnsigned, 2}, {"f32", Parameter::kFloat, 4}, {"f64", Parameter::kFloat, 8},
    {"i8", Parameter::kSigned, 1}, {"i16", Parameter::kSigned, 2}, {"i32", Parameter::kSigned, 4},
    {"i64", Parameter::kSigned, 8}, {"u8", Parameter::kUnsigned, 1}, {"u16", Parameter::kUnsigned, 2},
    {"u32", Parameter::kUnsigned, 4}, {"u64", Parameter::kUnsigned, 8}};

std::optional<Parameter> parse_word(const std::string& word) {
    constexpr const char* kStruct = "struct:";
    if (word.rfind(kStruct, 0) == 0) {
        const std::size_t size = std::strtoull(word.c_str() + std::strlen(kStruct), nullptr, 10);
        return size > 0 ? std::optional(Parameter{Parameter::kStruct, size, word}) : std::nullopt;
    }
    for (const Word& known : kWords) {
        if (word == known.text) {
            return Parameter{known.kind, known.size, word};
        }
    }
    return std::nullopt;
}

// The value in 64 bits, with its sign: some compilers rely on the caller to extend small numbers.
std::uint64_t widen(const Parameter& parameter, const Bytes& value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, value.data(), parameter.size);
    const unsigned unused = static_cast<unsigned>(64 - 8 * parameter.size);
    if (parameter.kind == Parameter::kSigned) {
        return static_cast<std::uint64_t>(static_cast<std::int64_t>(bits << unused) >> unused);
    }
    return bits;
}

}  // namespace

std::optional<std::vector<Parameter>> parse_signature(const char* text) {
    std::vector<Parameter> parameters;
    std::istringstream words(text);
    for (std::string word; std::getline(words, word, ',');) {
        std::optional<Parameter> parameter = parse_word(word);
        if (!parameter || parameters.size() == kMostParameters) {
            return std::nullopt;
        }
        parameters.push_back(std::move(*parameter));
    }
    return parameters;
}

std::vector<std::size_t> argument_offsets(const std::vector<Parameter>& parameters) {
    std::vector<std::size_t> offsets;
    std::size_t end = 0;
    for (const Parameter& parameter : parameters) {
        const std::size_t alignment =
            parameter.kind == Parameter::kStruct ? 8 : std::max<std::size_t>(parameter.size, 4);
        end = (end + alignment - 1) / alignment * alignment;
        offsets.push_back(end);
        end += parameter.size;
    }
    offsets.push_back(end);
    return offsets;
}

std::uint32_t call_launch_function(void* function, std::uint32_t blocks, void* stream,
                                   const std::vector<Parameter>& parameters, const std::vector<Bytes>& values) {
    Frame frame;
    frame.put_integer(blocks);
    frame.put_integer(reinterpret_cast<std::uint64_t>(stream));
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        if (parameters[i].kind == Parameter::kStruct) {
            frame.put_integer(reinterpret_cast<std::uint64_t>(values[i].data()));
        } else if (parameters[i].kind == Parameter::kFloat) {
            frame.put_float(widen(parameters[i], values[i]));
        } else {
            frame.put_integer(widen(parameters[i], values[i]));
        }
    }
    return frame.call(function);
}

}  // namespace mtsim
