// Calls of launch functions whose parameters are known at run time only: the text of mtsim_signature_<kernel>.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mtsim {

struct Parameter {
    enum Kind { kPointer, kSigned, kUnsigned, kFloat, kStruct } kind;
    std::size_t size;  // bytes of its value; of a struct, those that the launch function reads through a pointer
    std::string word;  // "ptr", "f32", "struct:24"
};

using Bytes = std::vector<unsigned char>;

// "ptr,f32,struct:24" as parameters; empty when a word is unknown or there are more than a call can pass.
std::optional<std::vector<Parameter>> parse_signature(const char* text);

// Where each parameter is in the argument buffer of aclrtLaunchKernelWithHostArgs, and the buffer's size at the end: in
// order, each aligned to its size, but to at least 4 bytes and a struct to 8.
std::vector<std::size_t> argument_offsets(const std::vector<Parameter>& parameters);

// function(blocks, stream, values...); values[i] has parameters[i].size bytes.
std::uint32_t call_launch_function(void* function, std::uint32_t blocks, void* stream,
                                   const std::vector<Parameter>& parameters, const std::vector<Bytes>& values);

}  // namespace mtsim
