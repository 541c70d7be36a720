// Runs of a program with control flow in one session: variables in slots, sizes, what is kept from call to call.
#ifndef PTC_EXECUTOR_CONTROL_RUN_H
#define PTC_EXECUTOR_CONTROL_RUN_H

#include <map>

#include "control_program.h"
#include "ptc_pynum.h"
#include "session.h"

namespace ptc::exec {

class ControlRun {
 public:
  explicit ControlRun(Session* session);
  // What is kept, as in a new session.
  void reset();
  // Of torch's own generator, if the program draws from it.
  void set_generator(const Tensor& state);
  // `values`: of the program's inputs, by number; `symbols`: the sizes that they tell.
  std::vector<Value> run(std::vector<Value>& values, const std::vector<int64_t>& symbols);

  // --- for the actions of statements
  // The value of an operand; what is no variable's is put into `*made`. Errors where a variable has none.
  const Value& value(const ControlOperand& operand, Value* made) const;
  Value value(const ControlOperand& operand) const {
    Value made;
    return value(operand, &made);
  }
  const Tensor& tensor(const ControlOperand& operand) const;
  int64_t integer(const ControlOperand& operand) const;
  std::vector<Value>& list(const ControlOperand& operand) const;
  // Whether it is a variable without a value.
  bool has_none(const ControlOperand& operand) const;
  void set(const Reference& target, Value value);
  void forget(const Reference& target);
  void call_graph(const Statement& statement);
  std::string text(const Statement& statement, size_t first) const;
  Session& session() { return *session_; }
  ptc::Run* scratch() { return session_->run_; }

 private:
  void block(const Block& block);
  void plain(const Statement& statement);
  void region(const Statement& statement);
  void bind_size(int symbol, int64_t size);
  void store_results(const GraphProgram& graph, std::vector<Value> results, std::vector<std::pair<int, Tensor>> written);
  void write_tensor(const Tensor& target, const Tensor& content);
  void leave();
  Value keep(const Value& value, std::map<const Storage*, Tensor>* copies) const;
  std::vector<Value> results();
  int64_t size_of(int symbol) const;

  Session* session_;
  const Program& program_;
  const ControlProgram& control_;
  std::vector<std::unique_ptr<Session>> graphs_;
  std::vector<Value> slots_;
  std::vector<int64_t> symbols_;
  std::vector<std::pair<int, Value>> kept_;  // by slot
  std::vector<StorageRef> writable_;         // memory of the caller that the program may write to
};

// What a plain statement does. Null where there is no such operation.
struct ActionRow {
  const char* name;
  int least, most;      // operands; most < 0: any number
  int targets;          // -1: one or three
  Action action;
};
const ActionRow* find_action(const std::string& name);
const ActionRow* find_list_action(const std::string& name);
const ActionRow* find_table_action(const std::string& name);

}  // namespace ptc::exec

#endif
