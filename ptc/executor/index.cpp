// Values of size expressions.
#include "module.h"

namespace ptc::exec {

int64_t evaluate(const Index& index, const int64_t* symbols) {
  int64_t small[32] = {};
  std::vector<int64_t> large;
  int64_t* values = small;
  if (index.nodes.size() > 32) {
    large.resize(index.nodes.size());
    values = large.data();
  }
  for (size_t i = 0; i < index.nodes.size(); ++i) {
    const Index::Node& node = index.nodes[i];
    const int64_t a = node.left >= 0 ? values[node.left] : 0, b = node.right >= 0 ? values[node.right] : 0;
    int64_t result = 0;
    bool overflow = false;
    switch (node.op) {
      case Index::Op::Constant: result = node.value; break;
      case Index::Op::Symbol:
        result = symbols[node.value];
        if (result == kUnknownSize) fail("a size is used before a result has told it");
        break;
      case Index::Op::Negative: overflow = __builtin_sub_overflow((int64_t)0, a, &result); break;
      case Index::Op::Add: overflow = __builtin_add_overflow(a, b, &result); break;
      case Index::Op::Subtract: overflow = __builtin_sub_overflow(a, b, &result); break;
      case Index::Op::Multiply: overflow = __builtin_mul_overflow(a, b, &result); break;
      case Index::Op::FloorDivide:
      case Index::Op::Remainder: {
        if (b == 0) fail("a size is divided by zero");
        if (b == -1) {
          overflow = node.op == Index::Op::FloorDivide && __builtin_sub_overflow((int64_t)0, a, &result);
          break;
        }
        const int64_t remainder = a % b;
        const bool adjust = remainder != 0 && (remainder < 0) != (b < 0);
        result = node.op == Index::Op::FloorDivide ? a / b - adjust : remainder + (adjust ? b : 0);
        break;
      }
      case Index::Op::Min: result = a < b ? a : b; break;
      case Index::Op::Max: result = a > b ? a : b; break;
    }
    if (overflow) fail("a size beyond 64 bits");
    values[i] = result;
  }
  return values[index.nodes.size() - 1];
}

}  // namespace ptc::exec
