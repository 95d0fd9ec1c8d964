// AscendC::Std: the standard library's types and functions of types that kernels take from there.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

namespace AscendC::Std {

using std::bool_constant;
using std::conditional;
using std::conditional_t;
using std::decay_t;
using std::enable_if;
using std::enable_if_t;
using std::false_type;
using std::forward;
using std::get;
using std::index_sequence;
using std::integral_constant;
using std::is_base_of;
using std::is_base_of_v;
using std::is_convertible_v;
using std::is_integral;
using std::is_integral_v;
using std::is_same;
using std::is_same_v;
using std::make_index_sequence;
using std::make_tuple;
using std::move;
using std::remove_cv_t;
using std::remove_reference_t;
using std::true_type;
using std::tuple;
using std::tuple_element_t;
using std::tuple_size;
using std::tuple_size_v;
using std::void_t;
template <typename T>
using remove_cvref_t = std::remove_cv_t<std::remove_reference_t<T>>;  // std has it from C++20 on
template <int value>
using Int = std::integral_constant<int, value>;
template <typename...>
inline constexpr bool always_false_v = false;

/// The smaller and the larger of two numbers, of the type that both convert to.
template <typename T, typename U>
constexpr std::common_type_t<T, U> min(T a, U b) {
  return static_cast<std::common_type_t<T, U>>(b) < static_cast<std::common_type_t<T, U>>(a) ? b : a;
}
template <typename T, typename U>
constexpr std::common_type_t<T, U> max(T a, U b) {
  return static_cast<std::common_type_t<T, U>>(a) < static_cast<std::common_type_t<T, U>>(b) ? b : a;
}

}  // namespace AscendC::Std

// The chip's compiler has them built in.
using AscendC::Std::max;
using AscendC::Std::min;
