// Tensors: counted memory and how it is looked at. Element types, shapes, views, copies between layouts and types.
//
// A Tensor is a value: copying it shares the memory. Strides and offset are in elements; strides may be 0 (broadcast) or
// negative never. Operators are functional: a kernel writes only into memory that it made (`empty`...), or into an operand
// whose `only_owner()` says that nobody else will look at it.
#ifndef PTC_EXECUTOR_TENSOR_H
#define PTC_EXECUTOR_TENSOR_H

#include <stdint.h>
#include <string.h>

#include <atomic>
#include <complex>
#include <initializer_list>
#include <string>
#include <type_traits>

#include "error.h"
#include "ptc_convert.h"  // bf16, f16 and `convert`
#include "ptc_memory.h"
#include "ptc_vec.h"

namespace ptc::exec {

using ptc::bf16;
using ptc::f16;
using c64 = std::complex<float>;
using c128 = std::complex<double>;

// --- element types --------------------------------------------------------------------------------------------------

enum class DType : uint8_t { F64, F32, F16, BF16, I64, I32, I16, I8, U8, Bool, C64, C128, U16, U32, U64 };
constexpr int kDTypes = 15;

int64_t itemsize(DType dtype);
const char* dtype_name(DType dtype);                   // "f32", as the text has it
bool dtype_from_name(const char* name, size_t length, DType* dtype);
inline bool is_complex(DType d) { return d == DType::C64 || d == DType::C128; }
inline bool is_floating(DType d) { return d <= DType::BF16; }
inline bool is_integral(DType d) { return !is_floating(d) && !is_complex(d) && d != DType::Bool; }
inline bool is_signed(DType d) { return is_floating(d) || is_complex(d) || (d >= DType::I64 && d <= DType::I8); }
// torch.promote_types. Rules about numbers and tensors without dimensions are in promotion (operators/promote.h).
DType promote_types(DType a, DType b);
inline DType real_of(DType d) { return d == DType::C64 ? DType::F32 : d == DType::C128 ? DType::F64 : d; }

template <class T> struct dtype_of_type;
#define PTC_EXEC_TYPES(X)                                                                              \
  X(double, F64) X(float, F32) X(f16, F16) X(bf16, BF16) X(int64_t, I64) X(int32_t, I32)               \
  X(int16_t, I16) X(int8_t, I8) X(uint8_t, U8) X(bool, Bool) X(c64, C64) X(c128, C128)                 \
  X(uint16_t, U16) X(uint32_t, U32) X(uint64_t, U64)
#define PTC_EXEC_OF(TYPE, NAME) \
  template <> struct dtype_of_type<TYPE> { static constexpr DType value = DType::NAME; };
PTC_EXEC_TYPES(PTC_EXEC_OF)
#undef PTC_EXEC_OF
template <class T> constexpr DType dtype_of = dtype_of_type<T>::value;

template <class T> struct type_tag { using type = T; };
#define PTC_EXEC_CASE(TYPE, NAME) \
  case DType::NAME: return body(type_tag<TYPE>());
// visit(dtype, [&](auto tag) { using T = typename decltype(tag)::type; ... }) for all types, or a family of them
// (`fail`s for the others).
template <class F> inline decltype(auto) visit_all(DType dtype, const F& body) {
  switch (dtype) { PTC_EXEC_TYPES(PTC_EXEC_CASE) }
  __builtin_unreachable();
}
template <class F> inline decltype(auto) visit_floating(DType dtype, const F& body) {
  switch (dtype) {
    PTC_EXEC_CASE(double, F64) PTC_EXEC_CASE(float, F32) PTC_EXEC_CASE(f16, F16) PTC_EXEC_CASE(bf16, BF16)
    default: fail("elements of type %s", dtype_name(dtype));
  }
}
// Floating and integral types and bool.
template <class F> inline decltype(auto) visit_real(DType dtype, const F& body) {
  switch (dtype) {
    PTC_EXEC_CASE(double, F64) PTC_EXEC_CASE(float, F32) PTC_EXEC_CASE(f16, F16) PTC_EXEC_CASE(bf16, BF16)
    PTC_EXEC_CASE(int64_t, I64) PTC_EXEC_CASE(int32_t, I32) PTC_EXEC_CASE(int16_t, I16) PTC_EXEC_CASE(int8_t, I8)
    PTC_EXEC_CASE(uint8_t, U8) PTC_EXEC_CASE(bool, Bool) PTC_EXEC_CASE(uint16_t, U16) PTC_EXEC_CASE(uint32_t, U32)
    PTC_EXEC_CASE(uint64_t, U64)
    default: fail("elements of type %s", dtype_name(dtype));
  }
}
template <class F> inline decltype(auto) visit_integral(DType dtype, const F& body) {
  switch (dtype) {
    PTC_EXEC_CASE(int64_t, I64) PTC_EXEC_CASE(int32_t, I32) PTC_EXEC_CASE(int16_t, I16) PTC_EXEC_CASE(int8_t, I8)
    PTC_EXEC_CASE(uint8_t, U8) PTC_EXEC_CASE(uint16_t, U16) PTC_EXEC_CASE(uint32_t, U32) PTC_EXEC_CASE(uint64_t, U64)
    default: fail("elements of type %s", dtype_name(dtype));
  }
}
// By size alone, for kernels that only move elements: uint8_t, uint16_t, uint32_t, uint64_t, c128.
template <class F> inline decltype(auto) visit_size(DType dtype, const F& body) {
  switch (itemsize(dtype)) {
    case 1: return body(type_tag<uint8_t>());
    case 2: return body(type_tag<uint16_t>());
    case 4: return body(type_tag<uint32_t>());
    case 8: return body(type_tag<uint64_t>());
    default: return body(type_tag<c128>());
  }
}
#undef PTC_EXEC_CASE

// The type that arithmetic on T happens in: float for 16-bit floats, T otherwise.
template <class T> struct compute_type { using type = T; };
template <> struct compute_type<f16> { using type = float; };
template <> struct compute_type<bf16> { using type = float; };
template <class T> using compute_t = typename compute_type<T>::type;

template <class T> constexpr bool is_complex_type = std::is_same_v<T, c64> || std::is_same_v<T, c128>;
// Conversion of one element as torch's `to`. Complex to real takes the real part; to bool is != 0 (NaN is true).
template <class U, class T> inline U cast(T x) {
  if constexpr (std::is_same_v<U, T>) {
    return x;
  } else if constexpr (std::is_same_v<U, bool>) {
    if constexpr (is_complex_type<T>) return x.real() != 0 || x.imag() != 0;
    else return cast<compute_t<T>>(x) != compute_t<T>(0);
  } else if constexpr (is_complex_type<U>) {
    using R = typename U::value_type;
    if constexpr (is_complex_type<T>) return U((R)x.real(), (R)x.imag());
    else return U(cast<R>(x), R(0));
  } else if constexpr (is_complex_type<T>) {
    return cast<U>(x.real());
  } else {
    return ptc::convert<U>(x);
  }
}

// --- shapes ---------------------------------------------------------------------------------------------------------

constexpr int kMaxRank = 16;

// Up to kMaxRank numbers, in place; used as std::vector is. Shape::Runtime error beyond that.
class Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<int64_t> values) { for (int64_t v : values) push_back(v); }
  Dims(int64_t count, int64_t value) { for (int64_t i = 0; i < count; ++i) push_back(value); }
  Dims(const int64_t* begin, const int64_t* end) { for (; begin < end; ++begin) push_back(*begin); }
  Dims(const Dims& o) : count_(o.count_) { memcpy(values_, o.values_, sizeof(int64_t) * (size_t)count_); }
  Dims& operator=(const Dims& o) {
    count_ = o.count_;
    memmove(values_, o.values_, sizeof(int64_t) * (size_t)count_);
    return *this;
  }
  int size() const { return count_; }
  bool empty() const { return count_ == 0; }
  int64_t& operator[](int i) { return values_[i]; }
  const int64_t& operator[](int i) const { return values_[i]; }
  int64_t& back() { return values_[count_ - 1]; }
  const int64_t& back() const { return values_[count_ - 1]; }
  int64_t* begin() { return values_; }
  int64_t* end() { return values_ + count_; }
  const int64_t* begin() const { return values_; }
  const int64_t* end() const { return values_ + count_; }
  const int64_t* data() const { return values_; }
  void push_back(int64_t value) {
    if (count_ == kMaxRank) fail("more than %d dimensions", kMaxRank);
    values_[count_++] = value;
  }
  void insert(int at, int64_t value) {
    push_back(0);
    for (int i = count_ - 1; i > at; --i) values_[i] = values_[i - 1];
    values_[at] = value;
  }
  void erase(int at) {
    for (int i = at; i + 1 < count_; ++i) values_[i] = values_[i + 1];
    --count_;
  }
  void resize(int count, int64_t value = 0) {
    while (count_ < count) push_back(value);
    count_ = count;
  }
  bool operator==(const Dims& o) const {
    return count_ == o.count_ && !memcmp(values_, o.values_, sizeof(int64_t) * (size_t)count_);
  }
  bool operator!=(const Dims& o) const { return !(*this == o); }

 private:
  int count_ = 0;
  int64_t values_[kMaxRank];
};

// The product; `fail`s for negative sizes and where it does not fit in 62 bits.
int64_t product(const Dims& sizes);
Dims compact_strides(const Dims& sizes);
// torch.broadcast_shapes; `fail`s where sizes contradict.
Dims broadcast_sizes(const Dims& a, const Dims& b);
// -1 for the last dimension and so on; `fail`s out of range. A tensor without dimensions takes 0 and -1.
int wrap_dim(int64_t dim, int rank);
std::string dims_text(const Dims& sizes);  // "[2, 3]"

// --- memory ---------------------------------------------------------------------------------------------------------

class Memory;

// A counted block. Blocks of a session's Memory go back to its free lists; others are borrowed (weights in the mapped file,
// inputs of the caller), never written to.
struct Storage {
  std::atomic<int32_t> references{1};
  bool borrowed = false;
  int size_class = -1;
  int64_t bytes = 0;
  char* data = nullptr;
  Memory* owner = nullptr;
  Storage* next_free = nullptr;
};
void free_storage(Storage* storage);  // called when the last reference goes

class StorageRef {
 public:
  StorageRef() = default;
  explicit StorageRef(Storage* taken) : at_(taken) {}
  StorageRef(const StorageRef& o) : at_(o.at_) { if (at_) at_->references.fetch_add(1, std::memory_order_relaxed); }
  StorageRef(StorageRef&& o) noexcept : at_(o.at_) { o.at_ = nullptr; }
  StorageRef& operator=(StorageRef o) noexcept {
    Storage* held = at_;
    at_ = o.at_;
    o.at_ = held;
    return *this;
  }
  ~StorageRef() {
    if (at_ && at_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) free_storage(at_);
  }
  Storage* operator->() const { return at_; }
  explicit operator bool() const { return at_ != nullptr; }
  bool operator==(const StorageRef& o) const { return at_ == o.at_; }
  bool unique() const { return at_ && at_->references.load(std::memory_order_acquire) == 1; }

 private:
  Storage* at_ = nullptr;
};

// `bytes` from the memory of the session that runs on this thread (memory.h), aligned to 64, contents undefined, with at
// least 64 readable bytes behind the end. Error Memory when there is none or the session's limit is reached.
StorageRef allocate_storage(int64_t bytes);

// --- tensors --------------------------------------------------------------------------------------------------------

struct Tensor {
  DType dtype = DType::F32;
  Dims sizes, strides;
  int64_t offset = 0;  // in elements
  StorageRef storage;

  int rank() const { return sizes.size(); }
  int64_t size(int64_t dim) const { return sizes[wrap_dim(dim, rank())]; }
  int64_t numel() const { return product(sizes); }
  int64_t bytes() const { return numel() * itemsize(dtype); }
  bool defined() const { return (bool)storage; }
  // The first element. T is any type of the elements' size.
  template <class T> T* data() const { return (T*)(void*)storage->data + offset; }
  char* raw() const { return storage->data + offset * itemsize(dtype); }
  bool is_contiguous() const;
  // Whether no other value shares the memory: with that a kernel may write its result into an operand it was given (the
  // executor moves operands into their last use). Never so for borrowed memory.
  bool only_owner() const { return storage.unique() && !storage->borrowed; }
  // The only element of a tensor of one, converted.
  template <class T> T item() const {
    if (numel() != 1) fail("a tensor with %lld elements is no number", (long long)numel());
    return visit_all(dtype, [&](auto tag) { return cast<T>(*data<typename decltype(tag)::type>()); });
  }
};

Tensor empty(DType dtype, const Dims& sizes);               // row-major, contents undefined
Tensor empty_like(const Tensor& t);                         // row-major with t's type and sizes
Tensor empty_strided(DType dtype, const Dims& sizes, const Dims& strides);
Tensor zeros(DType dtype, const Dims& sizes);
Tensor full(DType dtype, const Dims& sizes, double value);
template <class T> inline Tensor scalar_tensor(T value) {
  Tensor t = empty(dtype_of<T>, {});
  *t.data<T>() = value;
  return t;
}
Tensor contiguous(const Tensor& t);                         // itself when it is row-major already
Tensor clone(const Tensor& t);                              // always new memory, row-major
Tensor convert_to(const Tensor& t, DType dtype);            // itself when it has the type (any layout), else a new row-major one
Tensor contiguous_as(const Tensor& t, DType dtype);         // both
// Views. All check their arguments.
Tensor as_view(const Tensor& t, const Dims& sizes, const Dims& strides, int64_t offset);  // bounds checked
Tensor expand(const Tensor& t, const Dims& sizes);          // sizes may have -1, as torch's; strides 0 where broadcast
Tensor permute(const Tensor& t, const Dims& order);
Tensor transpose(const Tensor& t, int64_t a, int64_t b);
Tensor reshape(const Tensor& t, const Dims& sizes);         // one -1 allowed; a view where possible, else a copy
Tensor unsqueeze(const Tensor& t, int64_t dim);
Tensor squeeze(const Tensor& t, int64_t dim);
Tensor narrow(const Tensor& t, int64_t dim, int64_t start, int64_t length);
Tensor select(const Tensor& t, int64_t dim, int64_t index);
// dst[...] = src[...] of the same sizes, any layouts, converting elements.
void copy_into(const Tensor& dst, const Tensor& src);
void fill(const Tensor& dst, const c128& value);

// --- walking --------------------------------------------------------------------------------------------------------

// Rows of N tensors of the same sizes (expand them first), with neighbouring dimensions merged where all strides allow.
// for_rows<N>(tensors, sizes, pool-free): body(pointers-in-elements offsets[N], length, inner strides[N]).
//
//   RowWalk<2> walk(x.sizes, {&x.strides, &y.strides});
//   for (int64_t r = begin; r < end; ++r) { walk.seek(r); p = x.data<T>() + walk.offset[0]; ... walk.length, walk.stride[0] }
//
// Rows can be shared out over threads: each has its own copy of the walk. Numbers are in elements, relative to data().
template <int N> struct RowWalk {
  int64_t rows = 1, length = 1;
  int64_t stride[N] = {};   // of neighbours in a row
  int64_t offset[N] = {};   // where the current row begins
  int outer = 0;
  int64_t outer_sizes[kMaxRank];
  int64_t outer_strides[N][kMaxRank];
  int64_t index[kMaxRank] = {};
  int64_t row = 0;

  RowWalk(const Dims& sizes, const Dims* const (&strides)[N]) {
    // Dimensions from the innermost, merged where every tensor's strides continue.
    int64_t merged_sizes[kMaxRank], merged[N][kMaxRank];
    int count = 0;
    for (int d = sizes.size() - 1; d >= 0; --d) {
      if (sizes[d] == 1) continue;
      bool joins = count > 0;
      for (int k = 0; k < N && joins; ++k)
        joins = (*strides[k])[d] == merged[k][count - 1] * merged_sizes[count - 1];
      if (joins) {
        merged_sizes[count - 1] *= sizes[d];
        continue;
      }
      merged_sizes[count] = sizes[d];
      for (int k = 0; k < N; ++k) merged[k][count] = (*strides[k])[d];
      ++count;
    }
    if (count) {
      length = merged_sizes[0];
      for (int k = 0; k < N; ++k) stride[k] = merged[k][0];
    }
    outer = count ? count - 1 : 0;
    for (int d = 0; d < outer; ++d) {  // outer_sizes[0] is the outermost
      outer_sizes[d] = merged_sizes[outer - d];
      rows *= outer_sizes[d];
      for (int k = 0; k < N; ++k) outer_strides[k][d] = merged[k][outer - d];
    }
    for (int d = 0; d < sizes.size(); ++d)
      if (sizes[d] == 0) rows = 0;
  }
  void seek(int64_t to) {
    if (to == row + 1) {
      row = to;
      for (int d = outer - 1; d >= 0; --d) {
        for (int k = 0; k < N; ++k) offset[k] += outer_strides[k][d];
        if (++index[d] < outer_sizes[d]) return;
        for (int k = 0; k < N; ++k) offset[k] -= outer_strides[k][d] * outer_sizes[d];
        index[d] = 0;
      }
      return;
    }
    if (to == row) return;
    row = to;
    for (int k = 0; k < N; ++k) offset[k] = 0;
    int64_t rest = to;
    for (int d = outer - 1; d >= 0; --d) {
      index[d] = rest % outer_sizes[d];
      rest /= outer_sizes[d];
      for (int k = 0; k < N; ++k) offset[k] += index[d] * outer_strides[k][d];
    }
  }
};

}  // namespace ptc::exec

#endif
