// Shapes, strides and layouts as types, and tensors that carry one.
#pragma once

#include "standard.h"
#include "tensor.h"

namespace AscendC {

template <typename... T>
using Shape = Std::tuple<T...>;
template <typename... T>
using Stride = Std::tuple<T...>;
template <typename... T>
using Coord = Std::tuple<T...>;
template <typename... T>
constexpr Shape<T...> MakeShape(const T&... sizes) {
  return {sizes...};
}
template <typename... T>
constexpr Stride<T...> MakeStride(const T&... steps) {
  return {steps...};
}
template <typename... T>
constexpr Coord<T...> MakeCoord(const T&... places) {
  return {places...};
}

template <typename ShapeType, typename StrideType>
struct Layout {
  constexpr Layout(const ShapeType& shape = {}, const StrideType& stride = {}) : shape_(shape), stride_(stride) {}
  constexpr const ShapeType& GetShape() const { return shape_; }
  constexpr const StrideType& GetStride() const { return stride_; }
  /// The element of a coordinate.
  template <typename... Place>
  constexpr uint64_t operator()(const Coord<Place...>& coordinate) const {
    static_assert(sizeof...(Place) == Std::tuple_size_v<StrideType>, "a coordinate has as many places as the layout");
    return at(coordinate, Std::make_index_sequence<sizeof...(Place)>{});
  }

 private:
  template <typename Place, size_t... axis>
  constexpr uint64_t at(const Place& place, Std::index_sequence<axis...>) const {
    return (uint64_t{0} + ... + (static_cast<uint64_t>(Std::get<axis>(place)) * static_cast<uint64_t>(Std::get<axis>(stride_))));
  }
  ShapeType shape_;
  StrideType stride_;
};
template <typename ShapeType, typename StrideType>
constexpr Layout<ShapeType, StrideType> MakeLayout(const ShapeType& shape, const StrideType& stride) {
  return {shape, stride};
}
template <typename T>
struct is_layout : Std::false_type {};
template <typename ShapeType, typename StrideType>
struct is_layout<Layout<ShapeType, StrideType>> : Std::true_type {};
template <typename T>
inline constexpr bool is_layout_v = is_layout<T>::value;

}  // namespace AscendC

namespace mtsim {

/// The type of a tensor with a layout.
template <typename T, AscendC::TPosition position, typename LayoutType>
class TensorWithLayout {
 public:
  using LiteType = T;
  static constexpr AscendC::TPosition tPos = position;
  constexpr TensorWithLayout(const LayoutType& layout = {}) : layout_(layout) {}
  constexpr LayoutType& GetLayout() { return layout_; }
  constexpr const LayoutType& GetLayout() const { return layout_; }
  constexpr void SetLayout(const LayoutType& layout) { layout_ = layout; }

 private:
  LayoutType layout_;
};

template <typename T, AscendC::TPosition position, typename LayoutType>
inline constexpr bool has_layout<TensorWithLayout<T, position, LayoutType>> = true;

/// Without a layout it is the element's own type: instructions take such tensors as all others.
template <typename T, AscendC::TPosition position, typename LayoutType>
struct Trait {
  using type = TensorWithLayout<T, position, LayoutType>;
};
template <typename T, AscendC::TPosition position>
struct Trait<T, position, AscendC::Layout<AscendC::Shape<>, AscendC::Stride<>>> {
  using type = T;
};

template <typename... Size>
constexpr uint64_t elements_of(const std::tuple<Size...>& shape) {
  return std::apply([](const auto&... size) { return (uint64_t{1} * ... * static_cast<uint64_t>(size)); }, shape);
}

}  // namespace mtsim

namespace AscendC {

template <typename T, TPosition pos = TPosition::GM, typename LayoutType = Layout<Shape<>, Stride<>>>
using TensorTrait = typename mtsim::Trait<T, pos, LayoutType>::type;

template <typename T, TPosition pos, typename LayoutType>
constexpr auto MakeTensorTrait(const LayoutType& layout) {
  static_assert(is_layout_v<LayoutType>, "MakeTensorTrait takes a layout");
  return mtsim::TensorWithLayout<T, pos, LayoutType>(layout);
}
template <typename T>
struct is_tensorTrait : Std::false_type {};
template <typename T, TPosition pos, typename LayoutType>
struct is_tensorTrait<mtsim::TensorWithLayout<T, pos, LayoutType>> : Std::true_type {};

/// A tensor and its layout. Instructions over layouts are not simulated: they take the tensor without, its base.
template <typename T, TPosition pos, typename LayoutType>
class LocalTensor<mtsim::TensorWithLayout<T, pos, LayoutType>> : public LocalTensor<T> {
 public:
  using Trait = mtsim::TensorWithLayout<T, pos, LayoutType>;
  LocalTensor() = default;
  /// As many elements as the layout's shape has, from byte `address` of the memory that serves `pos`.
  explicit LocalTensor(uint32_t address)
      : LocalTensor<T>(pos, address, static_cast<uint32_t>(mtsim::elements_of(LayoutType{}.GetShape()))) {}
  void SetTensorTrait(const Trait& trait) { trait_ = trait; }
  const Trait& GetTensorTrait() const { return trait_; }
  const LayoutType& GetLayout() const { return trait_.GetLayout(); }

 private:
  Trait trait_;
};
template <typename T, TPosition pos, typename LayoutType>
class GlobalTensor<mtsim::TensorWithLayout<T, pos, LayoutType>> : public GlobalTensor<T> {
 public:
  using Trait = mtsim::TensorWithLayout<T, pos, LayoutType>;
  void SetTensorTrait(const Trait& trait) { trait_ = trait; }
  const Trait& GetTensorTrait() const { return trait_; }
  const LayoutType& GetLayout() const { return trait_.GetLayout(); }

 private:
  Trait trait_;
};

}  // namespace AscendC
