// The tables of operators, one line a file of kernels.
#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "operators.h"

namespace ptc::exec {

// Each table is `extern const OperatorTable NAME;` in the file that has its kernels.
#define PTC_EXEC_TABLES(X) \
  X(view_operators) \
  X(creation_operators) \
  X(move_operators) \
  X(gather_operators) \
  X(scatter_operators) \
  X(random_operators) \
  X(number_operators) \
  X(pointwise_operators) \
  X(row_operators) \
  X(norm_operators) \
  X(linear_operators) \
  X(attention_operators) \
  X(recurrent_operators) \
  X(sort_operators) \
  X(linear_algebra_operators) \
  X(fourier_operators) \
  X(distance_operators) \
  X(resample_operators) \
  X(convolution_operators) \
  X(pool_operators)

#define PTC_EXEC_DECLARE(NAME) extern const OperatorTable NAME;
PTC_EXEC_TABLES(PTC_EXEC_DECLARE)
#undef PTC_EXEC_DECLARE

#define PTC_EXEC_ADDRESS(NAME) &NAME,
static const OperatorTable* const tables[] = {PTC_EXEC_TABLES(PTC_EXEC_ADDRESS)};
#undef PTC_EXEC_ADDRESS

static const std::unordered_map<std::string_view, Kernel>& all_operators() {
  static const std::unordered_map<std::string_view, Kernel> found = [] {
    std::unordered_map<std::string_view, Kernel> map;
    for (const OperatorTable* table : tables)
      for (int i = 0; i < table->count; ++i) map.emplace(table->rows[i].name, table->rows[i].kernel);
    return map;
  }();
  return found;
}

Kernel find_operator(const std::string& name) {
  const auto at = all_operators().find(name);
  return at == all_operators().end() ? nullptr : at->second;
}

std::vector<std::string> operator_names() {
  std::vector<std::string> names;
  for (const auto& row : all_operators()) names.emplace_back(row.first);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace ptc::exec
