// A session: what one run at a time needs. Sessions of a model share its program and weights.
#ifndef PTC_EXECUTOR_SESSION_H
#define PTC_EXECUTOR_SESSION_H

#include "memory.h"
#include "program.h"
#include "ptc_abi.h"

namespace ptc::exec {

class ControlRun;

constexpr const char* kGenerator = "default_generator";  // the buffer of torch's own generator

struct Model {
  std::unique_ptr<Program> program;
  Pool* pool = nullptr;
  int64_t memory_limit = 0;
  std::string manifest;
  ~Model();
};

class Session {
 public:
  explicit Session(Model* model);
  // Of a graph in a program: memory, scratch and cancelling are those of the session `outer`.
  Session(const Program* program, Session* outer);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // One value for each of the program's `call_inputs`; tensors may borrow memory of the caller. Gives the values of the
  // `return`s, and `written` those of the `write`s into inputs of the call, by number of the input. Results may share
  // memory with inputs and with each other.
  std::vector<Value> run(std::vector<Value> inputs, std::vector<std::pair<int, Tensor>>* written);
  // The same for a graph; `known` has the sizes of the program around it.
  std::vector<Value> run_graph(std::vector<Value> inputs, const std::vector<int64_t>& known,
                               std::vector<std::pair<int, Tensor>>* written);
  void reset();                 // buffers as in a new session
  void seed(uint64_t seed);     // what is drawn from torch's own generator
  void cancel() { cancelled_.store(true); }
  int64_t peak_memory() const { return memory_->peak(); }
  Memory* memory() { return memory_; }
  const Model& model() const { return *model_; }
  // Where prints, log records and warnings go; null: standard output, the others to standard error.
  void set_emit(ptc_emit emit, void* user) {
    emit_ = emit;
    emit_user_ = user;
  }
  void emit(int channel, const std::string& label, const std::string& text);
  // Which of the structures of its results the last run gave.
  int variant() const { return variant_; }

 private:
  friend class ControlRun;
  bool is_cancelled() const { return (outer_ ? outer_ : this)->cancelled_.load(std::memory_order_relaxed); }
  void bind_inputs(std::vector<Value> inputs);
  void bind_tensor(const Input& input, const Tensor& tensor);
  void run_step(const Step& step);
  Value operand(const Operand& operand);
  void check_result(const Type& type, const Value& value);
  void check_size(const Index& stated, int64_t actual, const char* what);
  void write_back(std::vector<std::pair<int, Tensor>>* written, std::vector<Value>* results);

  std::vector<Value> evaluate_graph(std::vector<Value> inputs, std::vector<std::pair<int, Tensor>>* written);

  Model* model_ = nullptr;
  const Program* program_;
  Session* outer_ = nullptr;
  Memory* memory_;
  ptc::Run own_run_;
  ptc::Run* run_ = &own_run_;
  std::vector<Value> values_;
  std::vector<int64_t> symbols_;
  std::vector<Value> arguments_;
  std::unique_ptr<ControlRun> control_;
  std::atomic<bool> cancelled_{false};
  ptc_emit emit_ = nullptr;
  void* emit_user_ = nullptr;
  int variant_ = 0;
};

}  // namespace ptc::exec

#endif
