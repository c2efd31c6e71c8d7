#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_fp8.h"
#include "cuda_runtime.h"
#include "emulator/memory.h"
#include "emulator/op_table.h"
#include "paddle/emulator/errors.h"

#define HOSTDEVICE __host__ __device__
#define DEVICE __device__
#define HOST __host__
#define PADDLE_API
#define UNUSED __attribute__((unused))

typedef cudaStream_t gpuStream_t;

namespace common {

class DDim {
 public:
  DDim() = default;
  DDim(std::vector<int64_t> sizes) : sizes_(std::move(sizes)) {}
  DDim(std::initializer_list<int64_t> sizes) : sizes_(sizes) {}
  int64_t operator[](int i) const { return sizes_[static_cast<size_t>(i)]; }
  int64_t& operator[](int i) { return sizes_[static_cast<size_t>(i)]; }
  int size() const { return static_cast<int>(sizes_.size()); }
  const int64_t* Get() const { return sizes_.data(); }
  const std::vector<int64_t>& vector() const { return sizes_; }
  operator std::vector<int64_t>() const { return sizes_; }
  std::string to_str() const { return std::to_string(sizes_.size()) + " dimensions"; }
  bool operator==(const DDim& other) const { return sizes_ == other.sizes_; }
  bool operator!=(const DDim& other) const { return sizes_ != other.sizes_; }

 private:
  std::vector<int64_t> sizes_;
};

inline DDim make_ddim(const std::vector<int64_t>& sizes) { return DDim(sizes); }
template <class T = int64_t>
std::vector<T> vectorize(const DDim& dims) {
  return {dims.vector().begin(), dims.vector().end()};
}
inline int64_t product(const DDim& dims) {
  int64_t result = 1;
  for (int64_t size : dims.vector()) result *= size;
  return result;
}

}  // namespace common

namespace phi {
namespace dtype {
typedef __half float16_base;
// Paddle's types are used beside CUDA's, and cast to them by address.
struct float16 : __half {
  using __half::__half;
  float16() = default;
  HOSTDEVICE float16(__half v) : __half(v) {}
  HOSTDEVICE __half to_half() const { return *this; }
};
struct bfloat16 : __nv_bfloat16 {
  using __nv_bfloat16::__nv_bfloat16;
  bfloat16() = default;
  HOSTDEVICE bfloat16(__nv_bfloat16 v) : __nv_bfloat16(v) {}
  HOSTDEVICE __nv_bfloat16 to_nv_bfloat16() const { return *this; }
};
struct float8_e4m3fn {
  uint8_t x;
  float8_e4m3fn() = default;
  HOSTDEVICE explicit float8_e4m3fn(float v) : x(emulator::Float8E4m3::from_double(v)) {}
  HOSTDEVICE operator float() const { return emulator::Float8E4m3::to_float(x); }
};
struct float8_e5m2 {
  uint8_t x;
};
}  // namespace dtype

// In Paddle's own order: the numbers go over the C interface.
enum class DataType {
  UNDEFINED = 0, BOOL, UINT8, INT8, UINT16, INT16, UINT32, INT32, UINT64, INT64, FLOAT32, FLOAT64,
  COMPLEX64, COMPLEX128, PSTRING, FLOAT16, BFLOAT16, FLOAT8_E4M3FN, FLOAT8_E5M2,
};

inline size_t SizeOf(DataType type) {
  switch (type) {
    case DataType::BOOL: case DataType::UINT8: case DataType::INT8:
    case DataType::FLOAT8_E4M3FN: case DataType::FLOAT8_E5M2: return 1;
    case DataType::UINT16: case DataType::INT16: case DataType::FLOAT16: case DataType::BFLOAT16: return 2;
    case DataType::UINT32: case DataType::INT32: case DataType::FLOAT32: return 4;
    case DataType::COMPLEX128: return 16;
    default: return 8;
  }
}
inline std::string DataTypeToString(DataType type) { return std::to_string(static_cast<int>(type)); }
inline std::ostream& operator<<(std::ostream& out, DataType type) { return out << DataTypeToString(type); }

template <class T> struct CppTypeToDataType;
#define EMULATOR_TYPE(T, NAME)                                                                  \
  template <> struct CppTypeToDataType<T> {                                                     \
    static constexpr DataType Type() { return DataType::NAME; }                                 \
  };
EMULATOR_TYPE(bool, BOOL)
EMULATOR_TYPE(uint8_t, UINT8)
EMULATOR_TYPE(int8_t, INT8)
EMULATOR_TYPE(int16_t, INT16)
EMULATOR_TYPE(int32_t, INT32)
EMULATOR_TYPE(int64_t, INT64)
EMULATOR_TYPE(float, FLOAT32)
EMULATOR_TYPE(double, FLOAT64)
EMULATOR_TYPE(dtype::float16, FLOAT16)
EMULATOR_TYPE(dtype::bfloat16, BFLOAT16)
EMULATOR_TYPE(dtype::float8_e4m3fn, FLOAT8_E4M3FN)
#undef EMULATOR_TYPE

enum class AllocationType : int8_t { UNDEFINED = 0, CPU = 1, GPU = 2, GPUPINNED = 3 };

class Place {
 public:
  Place() = default;
  Place(AllocationType type, int device = 0) : type_(type), device_(device) {}
  AllocationType GetType() const { return type_; }
  int GetDeviceId() const { return device_; }
  int8_t device_id() const { return static_cast<int8_t>(device_); }
  bool operator==(const Place& other) const { return type_ == other.type_; }
  bool operator!=(const Place& other) const { return type_ != other.type_; }

 private:
  AllocationType type_ = AllocationType::GPU;
  int device_ = 0;
};
struct CPUPlace : Place { CPUPlace() : Place(AllocationType::CPU) {} };
struct GPUPlace : Place { explicit GPUPlace(int device = 0) : Place(AllocationType::GPU, device) {} };
struct GPUPinnedPlace : Place { GPUPinnedPlace() : Place(AllocationType::GPUPINNED) {} };

using common::DDim;
using common::make_ddim;
using common::product;
using common::vectorize;

}  // namespace phi

namespace paddle {

using phi::CPUPlace;
using phi::DataType;
using phi::GPUPinnedPlace;
using phi::GPUPlace;
using phi::Place;
typedef phi::dtype::float16 float16;
typedef phi::dtype::bfloat16 bfloat16;
typedef phi::dtype::float8_e4m3fn float8_e4m3fn;

class Tensor {
 public:
  Tensor() = default;
  Tensor(std::vector<int64_t> shape, DataType type, Place place = Place())
      : shape_(std::move(shape)), type_(type), place_(place) {
    memory_ = emulator::fresh_memory(bytes());
  }
  Tensor(std::vector<int64_t> shape, DataType type, Place place, std::shared_ptr<unsigned char> memory)
      : shape_(std::move(shape)), type_(type), place_(place), memory_(std::move(memory)) {}
  template <class Dense>
  explicit Tensor(const std::shared_ptr<Dense>& dense) { *this = dense->tensor(); }

  const std::vector<int64_t>& shape() const { return shape_; }
  common::DDim dims() const { return shape_; }
  std::vector<int64_t> strides() const {
    if (!strides_.empty()) return strides_;
    std::vector<int64_t> result(shape_.size(), 1);
    for (size_t i = shape_.size(); i-- > 1;) result[i - 1] = result[i] * shape_[i];
    return result;
  }
  int64_t numel() const {
    int64_t result = 1;
    for (int64_t size : shape_) result *= size;
    return result;
  }
  int64_t size() const { return numel(); }
  size_t bytes() const { return static_cast<size_t>(numel()) * phi::SizeOf(type_); }
  DataType dtype() const { return type_; }
  DataType type() const { return type_; }
  const Place& place() const { return place_; }
  cudaStream_t stream() const { return nullptr; }
  bool is_gpu() const { return place_.GetType() == phi::AllocationType::GPU; }
  bool is_cpu() const { return place_.GetType() == phi::AllocationType::CPU; }
  bool is_gpu_pinned() const { return place_.GetType() == phi::AllocationType::GPUPINNED; }
  bool is_contiguous() const { return strides_.empty(); }
  // Another order of the numbers in the same memory.
  void set_strides(const std::vector<int64_t>& strides) {
    int64_t last = 0;
    for (size_t i = 0; i < shape_.size(); ++i) last += (shape_[i] - 1) * strides.at(i);
    if (last >= numel() && numel() > 0) throw emulator::NotEmulated("strides that leave a tensor's own memory");
    strides_.clear();
    if (strides != this->strides()) strides_ = strides;
  }
  bool initialized() const { return memory_ != nullptr; }
  bool defined() const { return initialized(); }
  bool has_allocation() const { return initialized(); }
  operator bool() const { return initialized(); }

  template <class T> T* data() const {
    if (emulator::types_are_checked()) check_type<T>();
    return reinterpret_cast<T*>(memory_.get());
  }
  void* data() const { return memory_.get(); }
  template <class T> T* mutable_data(Place = Place()) { return data<T>(); }

  Tensor copy_to(const Place& place, bool = false) const {
    need_rows();
    emulator::wait_for_device();
    Tensor copy(shape_, type_, place);
    std::memcpy(copy.data(), data(), bytes());
    return copy;
  }
  template <class T> Tensor copy_to(const Place& place) const { return copy_to(place); }
  void copy_(const Tensor& from, const Place&, bool) {
    need_rows();
    from.need_rows();
    emulator::wait_for_device();
    std::memcpy(data(), from.data(), bytes());
  }
  // The rows from `begin` to `end`, in the same memory.
  Tensor slice(int64_t begin, int64_t end) const {
    need_rows();
    auto shape = shape_;
    size_t row = shape_[0] == 0 ? 0 : bytes() / static_cast<size_t>(shape_[0]);
    shape[0] = end - begin;
    return {shape, type_, place_,
            std::shared_ptr<unsigned char>(memory_, memory_.get() + static_cast<size_t>(begin) * row)};
  }
  void reshape(const std::vector<int64_t>& shape) {
    need_rows();
    shape_ = shape;
  }
  const std::shared_ptr<unsigned char>& memory() const { return memory_; }
  std::string name() const { return ""; }

 private:
  void need_rows() const {
    if (!is_contiguous()) throw emulator::NotEmulated("a part or a copy of a tensor with strides of its own");
  }
  // Bytes are a view of anything.
  template <class T> void check_type() const {
    bool is_same = sizeof(T) == phi::SizeOf(type_) &&
                   std::is_base_of<__half, T>::value == (type_ == DataType::FLOAT16) &&
                   std::is_base_of<__nv_bfloat16, T>::value == (type_ == DataType::BFLOAT16);
    if (sizeof(T) > 1 && !is_same) emulator::fail_check("a tensor is read as if it had another type: ", type_);
  }

  std::vector<int64_t> shape_;
  // None where the numbers lie row by row.
  std::vector<int64_t> strides_;
  DataType type_ = DataType::UNDEFINED;
  Place place_;
  std::shared_ptr<unsigned char> memory_;
};

struct none_t {};
constexpr none_t none;
template <class T>
class optional {
 public:
  optional() = default;
  optional(none_t) {}
  optional(std::nullptr_t) {}
  optional(const T& value) : value_(value) {}
  explicit operator bool() const { return value_.has_value(); }
  bool operator!() const { return !value_.has_value(); }
  bool is_initialized() const { return value_.has_value(); }
  T& get() { return value_.value(); }
  const T& get() const { return value_.value(); }
  T* get_ptr() { return value_ ? &*value_ : nullptr; }
  const T* get_ptr() const { return value_ ? &*value_ : nullptr; }
  T* operator->() { return &value_.value(); }
  const T* operator->() const { return &value_.value(); }
  T& operator*() { return value_.value(); }
  const T& operator*() const { return value_.value(); }
  void reset() { value_.reset(); }

 private:
  std::optional<T> value_;
};
template <class T>
optional<T> make_optional(const T& value) { return value; }

// A number of any type, which a tensor's type is made of.
class Scalar {
 public:
  template <class Number>
  Scalar(Number value)
      : is_real_(!std::is_integral<Number>::value),
        real_(static_cast<double>(value)),
        integer_(is_real_ ? 0 : static_cast<int64_t>(value)) {}
  template <class Number> Number to() const {
    return is_real_ ? static_cast<Number>(real_) : static_cast<Number>(integer_);
  }

 private:
  bool is_real_;
  double real_;
  int64_t integer_;
};

inline void fill_tensor(Tensor& tensor, const Scalar& value) {
  emulator::wait_for_device();
  int64_t n = tensor.numel();
  switch (tensor.dtype()) {
#define EMULATOR_FILL(NAME, T) \
    case DataType::NAME: std::fill_n(tensor.data<T>(), n, value.to<T>()); break;
    EMULATOR_FILL(BOOL, bool)
    EMULATOR_FILL(UINT8, uint8_t)
    EMULATOR_FILL(INT8, int8_t)
    EMULATOR_FILL(INT16, int16_t)
    EMULATOR_FILL(INT32, int32_t)
    EMULATOR_FILL(UINT32, uint32_t)
    EMULATOR_FILL(INT64, int64_t)
    EMULATOR_FILL(FLOAT32, float)
    EMULATOR_FILL(FLOAT64, double)
#undef EMULATOR_FILL
    case DataType::FLOAT16: std::fill_n(tensor.data<float16>(), n, float16(value.to<float>())); break;
    case DataType::BFLOAT16: std::fill_n(tensor.data<bfloat16>(), n, bfloat16(value.to<float>())); break;
    default: throw emulator::NotEmulated("a tensor of this type that is filled");
  }
}
inline Tensor empty(const std::vector<int64_t>& shape, DataType type = DataType::FLOAT32, Place place = Place()) {
  return Tensor(shape, type, place);
}
inline Tensor full(const std::vector<int64_t>& shape, const Scalar& value, DataType type = DataType::FLOAT32, Place place = Place()) {
  Tensor tensor(shape, type, place);
  fill_tensor(tensor, value);
  return tensor;
}
inline Tensor zeros(const std::vector<int64_t>& shape, DataType type = DataType::FLOAT32, Place place = Place()) {
  return full(shape, 0, type, place);
}
inline Tensor ones(const std::vector<int64_t>& shape, DataType type = DataType::FLOAT32, Place place = Place()) {
  return full(shape, 1, type, place);
}
inline Tensor empty_like(const Tensor& like, DataType type = DataType::UNDEFINED, Place = Place()) {
  return Tensor(like.shape(), type == DataType::UNDEFINED ? like.dtype() : type, like.place());
}
inline Tensor full_like(const Tensor& like, const Scalar& value, DataType type = DataType::UNDEFINED) {
  return full(like.shape(), value, type == DataType::UNDEFINED ? like.dtype() : type, like.place());
}
inline Tensor zeros_like(const Tensor& like) { return full_like(like, 0); }
inline Tensor from_blob(void* data, const std::vector<int64_t>& shape, DataType type, Place place = Place()) {
  return {shape, type, place, std::shared_ptr<unsigned char>(static_cast<unsigned char*>(data), [](unsigned char*) {})};
}
inline Tensor from_blob(void* data, const std::vector<int>& shape, DataType type, Place place = Place()) {
  return from_blob(data, std::vector<int64_t>(shape.begin(), shape.end()), type, place);
}
inline cudaStream_t GetCurrentCUDAStream(const Place&) { return nullptr; }

namespace experimental {
using paddle::empty;
using paddle::empty_like;
using paddle::full;
using paddle::zeros;
inline Tensor copy_to(const Tensor& t, const Place& place, bool) { return t.copy_to(place); }
}  // namespace experimental

}  // namespace paddle

namespace phi {

class Allocation {
 public:
  explicit Allocation(size_t bytes) : memory_(emulator::fresh_memory(bytes)), size_(bytes) {}
  void* ptr() const { return memory_.get(); }
  size_t size() const { return size_; }

 private:
  std::shared_ptr<unsigned char> memory_;
  size_t size_;
};
class Allocator {
 public:
  typedef std::unique_ptr<Allocation> AllocationPtr;
  AllocationPtr Allocate(size_t bytes) { return std::make_unique<Allocation>(bytes); }
};

typedef uint64_t StreamId;
class Stream {
 public:
  explicit Stream(StreamId) {}
};
namespace memory_utils {
inline Allocator::AllocationPtr Alloc(const Place&, size_t bytes) { return std::make_unique<Allocation>(bytes); }
inline Allocator::AllocationPtr Alloc(const Place& place, size_t bytes, Stream) { return Alloc(place, bytes); }
}  // namespace memory_utils

// A tensor that is given its memory later.
class DenseTensor {
 public:
  void Resize(const DDim& dims) { dims_ = dims; }
  int64_t numel() const { return product(dims_); }
  void AllocateFrom(Allocator*, DataType type, size_t = 0) { tensor_ = paddle::Tensor(dims_.vector(), type); }
  void set_strides(const DDim& strides) { tensor_.set_strides(strides.vector()); }
  const paddle::Tensor& tensor() const { return tensor_; }

 private:
  DDim dims_;
  paddle::Tensor tensor_;
};

// Random numbers of the device: one seed, and a place in its stream that every use moves on.
class Generator {
 public:
  std::pair<uint64_t, uint64_t> IncrementOffset(uint64_t count) {
    uint64_t before = offset_;
    offset_ += count;
    return {kSeed, before};
  }

 private:
  static constexpr uint64_t kSeed = 34342423252;
  uint64_t offset_ = 0;
};

class GPUContext {
 public:
  Generator* GetGenerator() const {
    static Generator generator;
    return &generator;
  }
  cudaStream_t stream() const { return nullptr; }
  int GetSMCount() const { return emulator::multiprocessors(); }
  int GetComputeCapability() const { return 90; }
  void Wait() const {}
};
typedef GPUContext DeviceContext;
class DeviceContextPool {
 public:
  static DeviceContextPool& Instance() {
    static DeviceContextPool pool;
    return pool;
  }
  DeviceContext* Get(const Place&) { return &context_; }

 private:
  DeviceContext context_;
};

namespace backends {
namespace gpu {
inline int GetCurrentDeviceId() { return 0; }
inline int GetGPUComputeCapability(int) { return 90; }
inline int GetGPUMultiProcessors(int) { return emulator::multiprocessors(); }
inline bool IsCUDAGraphCapturing() { return false; }
}  // namespace gpu
}  // namespace backends

}  // namespace phi

namespace paddle {
inline phi::Allocator* GetAllocator(const Place&) {
  static phi::Allocator allocator;
  return &allocator;
}
namespace experimental {
using phi::DeviceContextPool;
}
}  // namespace paddle
