// What goes wrong in the executor, as one exception class. None crosses the C interface: capi.cpp turns it into a status and
// a message.
#ifndef PTC_EXECUTOR_ERROR_H
#define PTC_EXECUTOR_ERROR_H

#include <stdarg.h>
#include <stdint.h>

#include <exception>
#include <string>

namespace ptc::exec {

// Values of ptc_status in ptc_abi.h.
enum class Status : int {
  Ok = 0,
  Argument = 1,   // the host called wrongly
  Shape = 2,      // an input's dimension differs or is out of its range
  Dtype = 3,
  Layout = 4,
  Device = 5,
  Memory = 6,
  Cpu = 7,
  File = 8,       // the file is damaged, hostile, or newer than this executor
  Runtime = 9,    // a check of an operator failed: index out of range, a shape that does not fit
  Cancelled = 10,
  Raised = 11     // the program raised an exception of the user's
};

class Error : public std::exception {
 public:
  Error(Status status, std::string text) : status_(status), text_(std::move(text)) {}
  // An exception that the program raises: `type` is the class (`ValueError`, `package.Custom`).
  Error(std::string type, std::string text)
      : status_(Status::Raised), type_(std::move(type)), text_(std::move(text)) {}

  Status status() const { return status_; }
  const std::string& exception_type() const { return type_; }  // "" unless Raised
  const std::string& text() const { return text_; }
  const char* what() const noexcept override { return text_.c_str(); }
  // Puts where it happened before the text, once: the innermost place is the one that helps.
  void locate(const std::string& where) {
    if (located_ || status_ == Status::Raised || status_ == Status::Cancelled) return;
    located_ = true;
    text_ = where + ": " + text_;
  }

 private:
  Status status_;
  std::string type_, text_;
  bool located_ = false;
};

// printf into a string.
std::string format(const char* text, ...) __attribute__((format(printf, 1, 2)));
std::string format_list(const char* text, va_list list);

// Status::Runtime: what an operator finds wrong with its operands. The dispatcher adds the operator's name and the user's line.
[[noreturn]] void fail(const char* text, ...) __attribute__((format(printf, 1, 2)));
// Status::File: what the loader finds wrong.
[[noreturn]] void bad_file(const char* text, ...) __attribute__((format(printf, 1, 2)));
// Any status.
[[noreturn]] void fail_with(Status status, const char* text, ...) __attribute__((format(printf, 2, 3)));

}  // namespace ptc::exec

#endif
