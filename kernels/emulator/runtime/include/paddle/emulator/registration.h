// PD_BUILD_OP and its relatives: an op's function is called with arguments from the C interface.
#pragma once

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "emulator/op_table.h"
#include "paddle/emulator/tensor.h"

namespace emulator {

// The tensors of one call: an argument given twice is one tensor, and every tensor is a copy of
// exactly the caller's size, so that a sanitizer sees its ends. `write_back` gives the contents back.
class CallTensors {
 public:
  paddle::Tensor get(const Argument& argument) {
    for (const auto& [known, tensor] : pairs_) {
      if (known->data == argument.data && argument.data != nullptr) return tensor;
    }
    std::vector<int64_t> shape(argument.shape, argument.shape + argument.rank);
    auto place = argument.on_host ? phi::AllocationType::CPU : phi::AllocationType::GPU;
    paddle::Tensor tensor(shape, static_cast<phi::DataType>(argument.dtype), phi::Place(place));
    std::memcpy(tensor.data(), argument.data, tensor.bytes());
    pairs_.emplace_back(&argument, tensor);
    return tensor;
  }
  void write_back() const {
    wait_for_device();
    for (const auto& [argument, tensor] : pairs_) {
      std::memcpy(argument->data, tensor.data(), tensor.bytes());
    }
  }

 private:
  std::vector<std::pair<const Argument*, paddle::Tensor>> pairs_;
};

[[noreturn]] inline void wrong_kind(const char* wanted) {
  throw std::invalid_argument(std::string("an argument is no ") + wanted);
}

template <class T, class = void>
struct Convert {
  static T from(const Argument& argument, CallTensors&) {
    static_assert(std::is_arithmetic<T>::value, "an op takes an argument of a type that is not emulated");
    if (argument.kind == static_cast<int>(ArgumentKind::kReal)) return static_cast<T>(argument.real);
    if (argument.kind != static_cast<int>(ArgumentKind::kInteger)) wrong_kind("number");
    return static_cast<T>(argument.integer);
  }
};
template <>
struct Convert<paddle::Tensor> {
  static paddle::Tensor from(const Argument& argument, CallTensors& tensors) {
    if (argument.kind != static_cast<int>(ArgumentKind::kTensor)) wrong_kind("tensor");
    return tensors.get(argument);
  }
};
template <>
struct Convert<std::string> {
  static std::string from(const Argument& argument, CallTensors&) {
    if (argument.kind != static_cast<int>(ArgumentKind::kText)) wrong_kind("text");
    return argument.text;
  }
};
template <class T>
struct Convert<paddle::optional<T>> {
  static paddle::optional<T> from(const Argument& argument, CallTensors& tensors) {
    if (argument.kind == static_cast<int>(ArgumentKind::kNone)) return {};
    return Convert<T>::from(argument, tensors);
  }
};
template <class T>
struct Convert<std::optional<T>> {
  static std::optional<T> from(const Argument& argument, CallTensors& tensors) {
    if (argument.kind == static_cast<int>(ArgumentKind::kNone)) return {};
    return Convert<T>::from(argument, tensors);
  }
};
template <class T>
struct Convert<std::vector<T>> {
  static std::vector<T> from(const Argument& argument, CallTensors& tensors) {
    if (argument.kind != static_cast<int>(ArgumentKind::kList)) wrong_kind("list");
    std::vector<T> items;
    for (int64_t i = 0; i < argument.rank; ++i) items.push_back(Convert<T>::from(argument.items[i], tensors));
    return items;
  }
};

inline Result to_result(const paddle::Tensor& tensor) {
  Result result;
  result.shape = tensor.shape();
  result.strides = tensor.strides();
  result.dtype = static_cast<int32_t>(tensor.dtype());
  result.memory = tensor.memory();
  result.bytes = tensor.bytes();
  return result;
}
template <class Number, class = std::enable_if_t<std::is_arithmetic<Number>::value>>
Result to_result(Number number) {
  Result result;
  bool real = std::is_floating_point<Number>::value;
  result.kind = real ? ArgumentKind::kReal : ArgumentKind::kInteger;
  result.real = static_cast<double>(number);
  result.integer = static_cast<int64_t>(number);
  return result;
}
inline std::vector<Result> to_results(const std::vector<paddle::Tensor>& tensors) {
  std::vector<Result> results;
  for (const auto& tensor : tensors) results.push_back(to_result(tensor));
  return results;
}
template <class T>
std::vector<Result> to_results(const T& value) { return {to_result(value)}; }
template <class... T, size_t... I>
std::vector<Result> to_results_of(const std::tuple<T...>& values, std::index_sequence<I...>) {
  return {to_result(std::get<I>(values))...};
}
template <class... T>
std::vector<Result> to_results(const std::tuple<T...>& values) {
  return to_results_of(values, std::index_sequence_for<T...>());
}

template <class Return, class... Parameters, size_t... Index>
std::vector<Result> call_function(Return (*function)(Parameters...), const Argument* arguments, int count,
                                  std::index_sequence<Index...>) {
  if (count != static_cast<int>(sizeof...(Parameters))) {
    throw std::invalid_argument("takes " + std::to_string(sizeof...(Parameters)) + " arguments, not " +
                                std::to_string(count));
  }
  CallTensors tensors;
  std::tuple<std::decay_t<Parameters>...> values{Convert<std::decay_t<Parameters>>::from(arguments[Index], tensors)...};
  std::vector<Result> results;
  if constexpr (std::is_void_v<Return>) {
    function(std::get<Index>(values)...);
  } else {
    results = to_results(function(std::get<Index>(values)...));
  }
  tensors.write_back();
  return results;
}

template <class Return, class... Parameters>
OpFunction wrap(Return (*function)(Parameters...)) {
  return [function](const Argument* arguments, int count) {
    return call_function(function, arguments, count, std::index_sequence_for<Parameters...>());
  };
}

// Collects what follows PD_BUILD_OP. Parameters are the inputs, then the attributes.
class OpBuilder {
 public:
  explicit OpBuilder(const char* name) { entry_.name = name; }
  OpBuilder& Inputs(std::vector<std::string> names) { return add(names); }
  OpBuilder& Outputs(std::vector<std::string> names) {
    outputs_ = std::move(names);
    return *this;
  }
  OpBuilder& Attrs(std::vector<std::string> names) { return add(names); }
  OpBuilder& SetInplaceMap(std::vector<std::pair<std::string, std::string>> pairs) {
    for (const auto& output : outputs_) {
      for (const auto& [input, given_back] : pairs) {
        if (given_back == output) entry_.in_place.push_back(plain_name(input));
      }
    }
    return *this;
  }
  template <class F> OpBuilder& SetInferShapeFn(F) { return *this; }
  template <class F> OpBuilder& SetInferDtypeFn(F) { return *this; }
  template <class F> OpBuilder& SetInferSpmdFn(F) { return *this; }
  OpBuilder& SetKernelFn(OpFunction function) {
    entry_.function = std::move(function);
    register_op(entry_);
    return *this;
  }

 private:
  OpBuilder& add(const std::vector<std::string>& names) {
    for (const auto& name : names) entry_.parameters.push_back(plain_name(name));
    return *this;
  }
  // An attribute is written `name: type`, an optional input `name@OPTIONAL`.
  static std::string plain_name(const std::string& name) {
    return name.substr(0, name.find_first_of(":@ "));
  }
  OpEntry entry_;
  std::vector<std::string> outputs_;
};

struct FunctionBinding {
  FunctionBinding(const char* name, OpFunction function) { register_op({name, {}, {}, std::move(function)}); }
};

}  // namespace emulator

namespace paddle {
inline std::string Optional(const std::string& name) { return name + "@OPTIONAL"; }
inline std::string Vec(const std::string& name) { return name + "@VECTOR"; }
inline std::string Grad(const std::string& name) { return name + "@GRAD"; }
inline std::string Inplace(const std::string& name) { return name; }
}  // namespace paddle

#define PD_KERNEL(...) ::emulator::wrap(&__VA_ARGS__)
#define PD_INFER_SHAPE(...) 0
#define PD_INFER_DTYPE(...) 0
#define EMULATOR_JOIN_(a, b) a##b
#define EMULATOR_JOIN(a, b) EMULATOR_JOIN_(a, b)
#define PD_BUILD_OP(name) \
  static ::emulator::OpBuilder EMULATOR_JOIN(emulator_op_, __COUNTER__) = ::emulator::OpBuilder(#name)
#define PD_BUILD_STATIC_OP(name) PD_BUILD_OP(name)
// Added by the rewriter for a function that a pybind module of the repository offers.
#define EMULATOR_BIND(name, function) \
  static ::emulator::FunctionBinding EMULATOR_JOIN(emulator_binding_, __COUNTER__)(#name, ::emulator::wrap(&function))
