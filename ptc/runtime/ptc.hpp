// A compiled model in C++: models, sessions and tensors that free themselves, errors as exceptions.
//
//   #include "NAME.h"
//   #include "ptc.hpp"
//
//   ptc::Model model(NAME_ptc_api());
//   ptc::Session session(model);
//   ptc::Array<float> x({8, 784});            // fill x.data()
//   std::vector<ptc::Result> y = session.run("forward", {x});
//   float first = y[0].data<float>()[0];
//
// Needs C++17. A model may be shared by threads, a session belongs to one at a time.
#ifndef PTC_HPP
#define PTC_HPP

#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#ifndef PTC_ABI_H
#error "include the model's NAME.h before ptc.hpp"
#endif

namespace ptc {

// What the library refused, or what the model raised: `type` is then the exception's class in Python.
class Error : public std::runtime_error {
 public:
  Error(ptc_status status, const std::string& text, std::string type = "")
      : std::runtime_error(text), status(status), type(std::move(type)) {}
  ptc_status status;
  std::string type;
};

template <class T> constexpr DLDataType data_type() {
  static_assert(std::is_arithmetic<T>::value, "tensors hold numbers");
  const bool real = std::is_floating_point<T>::value, is_signed = std::is_signed<T>::value;
  const uint8_t code = std::is_same<T, bool>::value ? 6 : real ? 2 : is_signed ? 0 : 1;
  return DLDataType{code, (uint8_t)(8 * sizeof(T)), 1};
}

// A tensor in memory of its own, row after row.
template <class T> class Array {
 public:
  explicit Array(std::vector<int64_t> shape) : shape_(std::move(shape)), size_(1) {
    for (int64_t extent : shape_) size_ *= (size_t)extent;
    data_.reset(new T[size_ ? size_ : 1]());
  }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  size_t size() const { return size_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  T& operator[](size_t i) { return data_[i]; }
  // How the C interface sees it, while this object lives.
  DLTensor view() { return DLTensor{data(), {1, 0}, (int32_t)shape_.size(), data_type<T>(), shape_.data(), nullptr, 0}; }
  operator DLTensor() { return view(); }

 private:
  std::vector<int64_t> shape_;
  size_t size_;
  std::unique_ptr<T[]> data_;
};

// An opened model: its weights. Destroy its sessions first.
class Model {
 public:
  // `weights`: a safetensors file in place of the library's own; `threads`: 0 is one a core.
  explicit Model(const ptc_api* api, int threads = 0, const char* weights = nullptr) : api_(api) {
    if (!api || api->abi_version != PTC_ABI_VERSION) throw Error(PTC_E_ARGUMENT, "another version of the interface");
    ptc_open_options options = {};
    options.struct_size = sizeof options;
    options.threads = threads;
    options.weights_path = weights;
    char text[512] = "";
    if (ptc_status status = api->open(&options, &model_, text, sizeof text)) throw Error(status, text);
  }
  ~Model() { api_->close(model_); }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // New weights, also while sessions run: see `update_weights` in ptc_abi.h.
  void update_weights(const std::string& path) {
    char text[512] = "";
    if (ptc_status status = api_->update_weights(model_, path.c_str(), text, sizeof text)) throw Error(status, text);
  }
  // The manifest: JSON.
  std::string manifest() const { return api_->manifest(); }
  const ptc_api* api() const { return api_; }
  ptc_model* handle() const { return model_; }

 private:
  const ptc_api* api_;
  ptc_model* model_ = nullptr;
};

class Session;

// An output in the library's memory. It ends before its session.
class Result {
 public:
  Result(const ptc_api* api, ptc_session* session) : api_(api), session_(session), tensor_(new DLTensor()) {
    tensor_->device.device_type = 1;
    tensor_->shape = nullptr;
  }
  ~Result() {
    if (tensor_ && tensor_->data) api_->release(session_, tensor_.get());
  }
  Result(Result&&) = default;
  Result& operator=(Result&&) = delete;

  template <class T> const T* data() const {
    const DLDataType wanted = data_type<T>();
    if (wanted.code != tensor_->dtype.code || wanted.bits != tensor_->dtype.bits)
      throw Error(PTC_E_DTYPE, "the output has another element type");
    return (const T*)((const char*)tensor_->data + tensor_->byte_offset);
  }
  std::vector<int64_t> shape() const { return {tensor_->shape, tensor_->shape + tensor_->ndim}; }
  size_t size() const {
    size_t size = 1;
    for (int32_t i = 0; i < tensor_->ndim; ++i) size *= (size_t)tensor_->shape[i];
    return size;
  }
  // False for one that has no part in the variant of the result that the run gave.
  bool is_given() const { return tensor_->data != nullptr; }
  DLTensor* tensor() const { return tensor_.get(); }

 private:
  const ptc_api* api_;
  ptc_session* session_;
  std::unique_ptr<DLTensor> tensor_;
};

// Working memory for one run at a time, and what the model keeps from call to call.
class Session {
 public:
  explicit Session(Model& model) : api_(model.api()) {
    if (ptc_status status = api_->session_new(model.handle(), &session_)) throw Error(status, "no memory for a session");
  }
  ~Session() { api_->session_free(session_); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Run an entry; inputs and outputs are in the manifest's order. `outputs` is how many the entry gives.
  std::vector<Result> run(const char* entry, std::vector<DLTensor> inputs, size_t outputs = 1) {
    const int32_t index = api_->entry_index(entry);
    if (index < 0) throw Error(PTC_E_ARGUMENT, std::string("there is no entry ") + entry);
    std::vector<DLTensor*> given, places;
    for (DLTensor& tensor : inputs) given.push_back(&tensor);
    std::vector<Result> results;
    results.reserve(outputs);
    for (size_t i = 0; i < outputs; ++i) {
      results.emplace_back(api_, session_);
      places.push_back(results.back().tensor());
    }
    const ptc_status status = api_->run(session_, (uint32_t)index, given.data(), given.size(), places.data(), outputs);
    if (status) throw Error(status, api_->last_error(session_), api_->exception_type(session_));
    return results;
  }
  void reset() { api_->reset(session_); }
  void seed(uint64_t seed) { api_->seed(session_, seed); }
  ptc_session* handle() const { return session_; }

 private:
  const ptc_api* api_;
  ptc_session* session_ = nullptr;
};

}  // namespace ptc

#endif
