// What a generated launch stub needs: the kernel's parameters as the launch ABI passes them, packed for the queue
// and unpacked for each block, and the text that tells a launcher their types.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "kernel_operator.h"

#define MTSIM_EXPORT __attribute__((visibility("default")))

namespace mtsim {

/// A kernel's parameter in the launch ABI: device pointers as they are, numbers by value (16-bit floats as their
/// bits), a struct as a pointer to host memory that is copied at launch. `load` gives what the blocks get.
template <typename T, typename = void>
struct Parameter {
  static_assert(std::is_trivially_copyable_v<T>, "a kernel's struct parameter must be a plain struct");
  using Abi = std::conditional_t<std::is_class_v<T>, const void*, T>;
  static uint32_t load(const char*, uint32_t, Abi from, T& to) {
    if constexpr (!std::is_class_v<T>) {
      to = from;
    } else {
      if (from == nullptr) return kInvalidParameter;
      std::memcpy(static_cast<void*>(&to), from, sizeof to);
    }
    return ACL_SUCCESS;
  }
  static Abi pass(const T& value) {
    if constexpr (std::is_class_v<T>) return &value;
    else return value;
  }

 private:
  static constexpr uint32_t kInvalidParameter = 107000;
};

template <typename T>
struct Parameter<T*> {
  using Abi = void*;
  static uint32_t load(const char* kernel, uint32_t index, Abi from, T*& to) {
    void* alias = nullptr;
    const uint32_t status = mtsim_kernel_arg(kernel, index, from, &alias);
    to = static_cast<T*>(alias);
    return status;
  }
  static Abi pass(T* pointer) { return const_cast<std::remove_cv_t<T>*>(pointer); }
};

template <typename T>
struct Parameter<T, std::enable_if_t<one_of<T, half, bfloat16_t>>> {
  using Abi = uint16_t;
  static uint32_t load(const char*, uint32_t, Abi bits, T& to) {
    std::memcpy(&to, &bits, sizeof to);
    return ACL_SUCCESS;
  }
  static Abi pass(T value) { return bits_of(value); }
};

template <typename Kernel>
struct Signature;

template <typename... T>
struct Signature<void (*)(T...)> {
  using Arguments = std::tuple<T...>;
  template <size_t index>
  using Abi = typename Parameter<std::tuple_element_t<index, Arguments>>::Abi;
};

/// The kernel's name, as the compiler spells it.
template <auto kernel>
const char* name_of() {
  constexpr std::string_view spelled = __PRETTY_FUNCTION__;  // "... [with auto kernel = name]", or "[kernel = &name]"
  static const std::string name = [](std::string_view text) {
    const size_t start = text.find("kernel = ") + 9;
    const std::string found(text.substr(start, text.rfind(']') - start));
    return found.compare(0, 1, "&") == 0 ? found.substr(1) : found;
  }(spelled);
  return name.c_str();
}

/// What a kernel runs on, where the builder read it; templates go by their name without arguments.
template <auto kernel>
const KernelMetaType* type_of() {
  static const KernelMetaType* const found = []() -> const KernelMetaType* {
    std::string_view name(name_of<kernel>());
    name = name.substr(0, name.find('<'));
    for (const TaskTypes& known : task_types())
      if (name == known.name) return &known.type;
    return nullptr;
  }();
  return found;
}

/// Queues every block of `kernel` with a copy of the arguments; returns an aclError. `queue` is mtsim_launch, or
/// mtsim_launch_concurrent for a kernel whose blocks wait for each other.
template <auto kernel, typename... T>
struct Launcher {
  using Arguments = std::tuple<T...>;

  static void block(const void* raw) {
    run_block({[](const void* given) { std::apply(kernel, *static_cast<const Arguments*>(given)); }, raw},
              type_of<kernel>());
  }

  static uint32_t launch(decltype(&mtsim_launch) queue, const char* name, uint32_t block_dim, void* stream,
                         typename Parameter<T>::Abi... values) {
    Arguments arguments;
    const uint32_t status = load(name, arguments, std::index_sequence_for<T...>{}, values...);
    return status != ACL_SUCCESS ? status : queue(name, block_dim, stream, block, &arguments, sizeof arguments);
  }

 private:
  template <size_t... index>
  static uint32_t load(const char* name, Arguments& to, std::index_sequence<index...>,
      typename Parameter<T>::Abi... from) {
    uint32_t status = ACL_SUCCESS;
    // The first refused argument ends the fold, and its status is the launch's.
    (void)((status = Parameter<T>::load(name, index, from, std::get<index>(to)), status == ACL_SUCCESS) && ...);
    return status;
  }
};

/// `kernel<<<blocks, control, stream>>>(...)` in the source, which the builder spells
/// `mtsim::on_stream<kernel>(queue, blocks, control, stream)(...)`. A pointer may come as a void pointer.
template <auto kernel>
struct OnStream;

template <typename... T, void (*kernel)(T...)>
struct OnStream<kernel> {
  decltype(&mtsim_launch) queue;
  const char* name;
  uint32_t block_dim;
  void* stream;

  template <typename... Given>
  uint32_t operator()(Given... values) const {
    static_assert(sizeof...(Given) == sizeof...(T), "the launch gives the kernel another number of arguments than it has");
    return Launcher<kernel, T...>::launch(queue, name, block_dim, stream, Parameter<T>::pass(as<T>(values))...);
  }

 private:
  template <typename To, typename From>
  static To as(From value) {
    if constexpr (std::is_pointer_v<To> && std::is_pointer_v<From>) return (To)value;  // NOLINT: may drop const, too
    else return static_cast<To>(value);
  }
};

template <auto kernel, typename Control>
OnStream<kernel> on_stream(decltype(&mtsim_launch) queue, uint32_t block_dim, Control, void* stream) {
  return {queue, name_of<kernel>(), block_dim, stream};
}

template <auto kernel, typename... T>
Launcher<kernel, T...> launcher_of(void (*)(T...));

template <auto kernel>
using LauncherOf = decltype(launcher_of<kernel>(kernel));

/// "ptr,f32,u32,struct:24": one word a parameter, a struct with its size in bytes.
template <size_t capacity>
struct Text {
  char characters[capacity] = {};
  size_t length = 0;

  constexpr void put(const char* word) {
    for (; *word; ++word) characters[length++] = *word;
  }
  constexpr void put(size_t number) {
    if (number >= 10) put(number / 10);
    characters[length++] = static_cast<char>('0' + number % 10);
  }
  template <typename T>
  constexpr void put_type() {
    if (length > 0) put(",");
    if constexpr (std::is_pointer_v<T>) {
      put("ptr");
    } else if constexpr (std::is_same_v<T, half>) {
      put("f16");
    } else if constexpr (std::is_same_v<T, bfloat16_t>) {
      put("bf16");
    } else if constexpr (std::is_same_v<T, bool>) {
      put("bool");
    } else if constexpr (std::is_class_v<T>) {
      put("struct:");
      put(sizeof(T));
    } else if constexpr (std::is_enum_v<T>) {
      put(std::is_signed_v<std::underlying_type_t<T>> ? "i" : "u");
      put(sizeof(T) * 8);
    } else {
      put(std::is_floating_point_v<T> ? "f" : std::is_signed_v<T> ? "i" : "u");
      put(sizeof(T) * 8);
    }
  }
};

template <typename... T>
constexpr auto describe(void (*)(T...)) {
  Text<32 * (sizeof...(T) + 1)> text;
  (text.template put_type<T>(), ...);
  return text;
}

}  // namespace mtsim
