// Every name is an operator here: fuzzing the loader runs none, and builds without the kernels.
#include "operators.h"

namespace ptc::exec {

static Value nothing(Call&) { return Value(); }

Kernel find_operator(const std::string&) { return nothing; }
std::vector<std::string> operator_names() { return {}; }

}  // namespace ptc::exec
