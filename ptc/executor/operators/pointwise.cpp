// Pointwise operators: operands come in pieces of a few hundred elements to the generated kernels, which compute in f32,
// f64, i64 or bool. Here is how pieces are gathered from operands of any type and layout, and where results go.
#include "pointwise.h"

#include <math.h>
#include <stdlib.h>

#include <atomic>
#include <string_view>
#include <unordered_map>

#include "generated.h"
#include "promote.h"
#include "rows.h"

namespace ptc::exec {

namespace {

constexpr int64_t kPiece = 512, kMultiple = 16;  // elements; kernels compute multiples of 16
constexpr int kMaxOperands = 6;

template <class T> constexpr bool is_float_type =
    std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, f16> || std::is_same_v<T, bf16>;

template <class To, class From> void convert_run(To* to, const From* from, int64_t stride, int64_t n) {
  if (std::is_same_v<To, From> && stride == 1) {
    memcpy(to, from, (size_t)n * sizeof(To));
    return;
  }
  if (stride == 0) {
    const To element = cast<To>(*from);
    for (int64_t i = 0; i < n; ++i) to[i] = element;
    return;
  }
  int64_t i = 0;
  if constexpr (is_float_type<To> && is_float_type<From> && !std::is_same_v<To, From>) {
    if (stride == 1)
      for (; i + PTC_VLEN <= n; i += PTC_VLEN) store(to + i, ptc::convert<To>(load<From, PTC_VLEN>(from + i)));
  }
  for (; i < n; ++i) to[i] = cast<To>(from[i * stride]);
}

// Elements of one type to another, in runs.
typedef void (*Loader)(void* to, const char* from, int64_t stride, int64_t n);
template <class To, class From> void load_run(void* to, const char* from, int64_t stride, int64_t n) {
  convert_run((To*)to, (const From*)(const void*)from, stride, n);
}
template <class To> Loader loader_to(DType from) {
  return visit_real(from, [](auto tag) -> Loader { return load_run<To, typename decltype(tag)::type>; });
}
Loader loader_of(DType from, int to) {
  switch (to) {
    case kF32: return loader_to<float>(from);
    case kF64: return loader_to<double>(from);
    case kI64: return loader_to<int64_t>(from);
    default: return loader_to<bool>(from);
  }
}
// Results of a class to the type of the tensor.
typedef void (*Storer)(char* to, const void* from, int64_t n);
template <class To, class From> void store_run(char* to, const void* from, int64_t n) {
  convert_run((To*)(void*)to, (const From*)from, 1, n);
}
template <class From> Storer storer_from(DType to) {
  return visit_real(to, [](auto tag) -> Storer { return store_run<typename decltype(tag)::type, From>; });
}
Storer storer_of(int from, DType to) {
  switch (from) {
    case kF32: return storer_from<float>(to);
    case kF64: return storer_from<double>(to);
    case kI64: return storer_from<int64_t>(to);
    default: return storer_from<bool>(to);
  }
}

struct Operand {
  Tensor tensor;        // expanded to the result's sizes
  Loader load = nullptr;
  bool constant = false;   // one element for all: `element`
  bool direct = false;     // already of the class: no copy where dense
  alignas(8) char element[8];
};

int64_t class_size(int of) { return of == kF32 ? 4 : of == kBool ? 1 : 8; }

void set_constant(Operand& o, int of, const Value& value, DType rounded_to) {
  o.constant = true;
  if (of == kI64 || of == kBool) {
    int64_t number = value.is_tensor() ? value.tensor().item<int64_t>() : value.is_float() ? (int64_t)value.number() : value.integer();
    if (of == kBool) {
      const bool truth = value.is_tensor() ? value.tensor().item<bool>() : value.is_float() ? value.number() != 0 : number != 0;
      memcpy(o.element, &truth, 1);
      return;
    }
    number = visit_real(rounded_to, [&](auto tag) { return cast<int64_t>(cast<typename decltype(tag)::type>(number)); });
    memcpy(o.element, &number, 8);
    return;
  }
  const bool whole = value.is_int() || value.is_bool();
  double number = value.is_tensor() ? value.tensor().item<double>() : whole ? (double)value.integer() : value.number();
  if (rounded_to == DType::F16) number = cast<double>(cast<f16>(number));
  if (rounded_to == DType::BF16) number = cast<double>(cast<bf16>(number));
  if (of == kF64) {
    memcpy(o.element, &number, 8);
  } else {
    const float narrow = whole ? (float)(rounded_to == DType::F32 ? (double)value.integer() : number) : (float)number;
    memcpy(o.element, &narrow, 4);
  }
}

void fill_piece(char* to, const char* element, int64_t size) {
  switch (size) {
    case 1: memset(to, element[0], kPiece); return;
    case 4: {
      uint32_t bits;
      memcpy(&bits, element, 4);
      for (int64_t i = 0; i < kPiece; ++i) ((uint32_t*)(void*)to)[i] = bits;
      return;
    }
    default: {
      uint64_t bits;
      memcpy(&bits, element, 8);
      for (int64_t i = 0; i < kPiece; ++i) ((uint64_t*)(void*)to)[i] = bits;
    }
  }
}

// Behind the last element, up to what a kernel computes: elements like it, so that checks say nothing new.
void pad_piece(char* piece, int64_t n, int64_t size) {
  for (int64_t i = n; i % kMultiple; ++i) memcpy(piece + i * size, piece + (n - 1) * size, (size_t)size);
}

struct Plan {
  GeneratedKernel* kernel;
  int of;                  // class
  int result_of;           // class of what the kernel writes
  Operand operands[kMaxOperands];
  int count = 0;           // operands
  int places[kMaxOperands];   // argument of each
  int slots[kMaxOperands];    // where the kernel has it: arguments that are not static are counted
  alignas(8) char numbers[kMaxOperands][8];
  int number_slots[kMaxOperands];
  int number_count = 0;
  Tensor out;
  Storer store = nullptr;
  bool direct_out = false;
};

// Rows [begin, end) of the walk.
template <int N> int compute_rows(const Plan& p, RowWalk<N> walk, int64_t begin, int64_t end, int64_t from, int64_t to) {
  alignas(64) char buffers[kMaxOperands + 1][kPiece * 8];
  void* a[2 * kMaxOperands + 1] = {};
  const int64_t size = class_size(p.of), out_size = class_size(p.result_of), out_item = itemsize(p.out.dtype);
  for (int i = 0; i < p.count; ++i)
    if (p.operands[i].constant) {
      fill_piece(buffers[i], p.operands[i].element, size);
      a[1 + p.slots[i]] = buffers[i];
    }
  for (int i = 0; i < p.number_count; ++i) a[1 + p.number_slots[i]] = (void*)p.numbers[i];
  ptc::Run run;
  for (int64_t r = begin; r < end; ++r) {
    walk.seek(r);
    const int64_t stop = to < walk.length ? to : walk.length;
    for (int64_t at = from; at < stop; at += kPiece) {
      const int64_t n = stop - at < kPiece ? stop - at : kPiece;
      const bool whole = n % kMultiple == 0;
      for (int i = 0; i < p.count; ++i) {
        const Operand& o = p.operands[i];
        if (o.constant) continue;
        const int64_t item = itemsize(o.tensor.dtype), stride = walk.stride[1 + i];
        char* source = o.tensor.raw() + (walk.offset[1 + i] + at * stride) * item;
        if (whole && o.direct && stride == 1) {
          a[1 + p.slots[i]] = source;
          continue;
        }
        o.load(buffers[i], source, stride, n);
        if (!whole) pad_piece(buffers[i], n, size);
        a[1 + p.slots[i]] = buffers[i];
      }
      char* target = p.out.raw() + (walk.offset[0] + at * walk.stride[0]) * out_item;
      const bool straight = whole && p.direct_out;
      a[0] = straight ? target : buffers[kMaxOperands];
      const int64_t sixteens = (n + kMultiple - 1) / kMultiple;
      if (p.kernel(&run, a, &sixteens)) return -1;
      if (straight) continue;
      if (p.direct_out) memcpy(target, buffers[kMaxOperands], (size_t)(n * out_size));
      else p.store(target, buffers[kMaxOperands], n);
    }
  }
  return 0;
}

// Dimensions in the order in which the result lies in memory, outermost first.
Dims memory_order(const Tensor& t) {
  Dims order;
  for (int d = 0; d < t.rank(); ++d) {
    int at = order.size();
    while (at > 0 && t.strides[(int)order[at - 1]] < t.strides[d]) --at;
    order.insert(at, d);
  }
  return order;
}
Dims reordered(const Dims& values, const Dims& order) {
  Dims result;
  for (int64_t d : order) result.push_back(values[(int)d]);
  return result;
}

void compute(const Plan& p, Pool* pool) {
  const Dims order = memory_order(p.out);
  Dims all[1 + kMaxOperands];
  const Dims* strides[1 + kMaxOperands];
  for (int i = 0; i <= kMaxOperands; ++i) {
    const bool varies = i > 0 && i <= p.count && !p.operands[i - 1].constant;
    all[i] = reordered(varies ? p.operands[i - 1].tensor.strides : p.out.strides, order);
    strides[i] = &all[i];
  }
  const Dims sizes = reordered(p.out.sizes, order);
  std::atomic<bool> failed{false};
  const auto run = [&](auto count) {
    constexpr int N = decltype(count)::value;
    const Dims* chosen[N];
    for (int i = 0; i < N; ++i) chosen[i] = strides[i];
    const RowWalk<N> walk(sizes, (const Dims* const(&)[N])chosen);
    if (walk.rows == 1) {
      const int64_t pieces = (walk.length + kPiece - 1) / kPiece;
      parallel(pool, pieces, kPiece * 2.0, [&](int64_t begin, int64_t end) {
        if (compute_rows<N>(p, walk, 0, 1, begin * kPiece, end * kPiece)) failed = true;
      });
    } else {
      parallel(pool, walk.rows, 2.0 * (double)walk.length + 40, [&](int64_t begin, int64_t end) {
        if (compute_rows<N>(p, walk, begin, end, 0, walk.length)) failed = true;
      });
    }
  };
  if (p.count <= 1) run(std::integral_constant<int, 2>());
  else if (p.count == 2) run(std::integral_constant<int, 3>());
  else run(std::integral_constant<int, 1 + kMaxOperands>());
  if (failed) fail("integer division by zero");
}

// --- rows of the table ----------------------------------------------------------------------------------------------

struct Variants {
  const PointwiseRow* first;
  int count;
};
const std::unordered_map<std::string_view, Variants>& variants() {
  static const std::unordered_map<std::string_view, Variants> found = [] {
    std::unordered_map<std::string_view, Variants> map;
    for (int i = 0; i < pointwise_row_count; ++i) {
      const auto [at, fresh] = map.try_emplace(pointwise_rows[i].name, Variants{pointwise_rows + i, 1});
      if (!fresh) ++at->second.count;
    }
    return map;
  }();
  return found;
}

bool static_matches(const Value& value, std::string_view text) {
  if (value.is_none()) return text == "None";
  if (value.is_text()) return value.text() == text;
  if (value.is_bool()) return text == (value.boolean() ? "True" : "False");
  if (value.is_number() && !value.is_complex()) {
    char* end;
    const std::string copy(text);
    const double number = strtod(copy.c_str(), &end);
    return end != copy.c_str() && number == value.number();
  }
  return false;
}

bool row_matches(const PointwiseRow& row, const Call& c) {
  std::string_view statics = row.statics;
  for (int i = 0; row.form[i]; ++i) {
    if (row.form[i] != 's') {
      if (row.form[i] == 'o' && c[i].is_none()) return false;
      continue;
    }
    const size_t end = statics.find('|');
    if (!static_matches(c[i], statics.substr(0, end))) return false;
    statics.remove_prefix(end == std::string_view::npos ? statics.size() : end + 1);
  }
  return true;
}

// Whether a tensor fills its memory without holes, in any order of dimensions.
bool is_dense(const Tensor& t) {
  int64_t expected = 1, left = 0;
  bool used[kMaxRank] = {};
  for (int d = 0; d < t.rank(); ++d) left += t.sizes[d] != 1;
  while (left > 0) {
    int found = -1;
    for (int d = 0; d < t.rank(); ++d)
      if (!used[d] && t.sizes[d] != 1 && t.strides[d] == expected) found = d;
    if (found < 0) return false;
    used[found] = true;
    expected *= t.sizes[found];
    --left;
  }
  return true;
}

// The result: over an operand that nobody else will look at, else with the layout that dense operands have. Before anything
// else holds the operands.
Tensor result_tensor(DType dtype, const Dims& sizes, const PointwiseRow& row, const Call& c) {
  const Tensor* like = nullptr;
  for (int i = 0; row.form[i]; ++i) {
    if (row.form[i] != 'o' || !c[i].is_tensor()) continue;
    const Tensor& t = c.tensor(i);
    if (t.sizes != sizes || !is_dense(t)) continue;
    if (t.dtype == dtype && t.only_owner()) return t;
    if (!like) like = &t;
  }
  return like ? empty_strided(dtype, sizes, like->strides) : empty(dtype, sizes);
}

// Rows of a few elements cost more than the copies that make one long row of them.
void join_short_rows(Plan& p) {
  constexpr int64_t kShort = 48;
  const int64_t total = p.out.numel();
  if (total <= kShort || !p.out.is_contiguous()) return;
  bool broken = false;
  for (int i = 0; i < p.count; ++i) {
    const Tensor& t = p.operands[i].tensor;
    if (p.operands[i].constant || t.is_contiguous()) continue;
    const RowWalk<2> walk(p.out.sizes, {&p.out.strides, &t.strides});
    broken |= walk.length < kShort;
  }
  for (int i = 0; broken && i < p.count; ++i)
    if (!p.operands[i].constant) p.operands[i].tensor = contiguous(p.operands[i].tensor);
}

Tensor run_row(const PointwiseRow& row, Call& c) {
  Plan p;
  Promotion promotion;
  Dims sizes;
  bool first = true;
  for (int i = 0; row.form[i]; ++i) {
    if (row.form[i] != 'o') continue;
    promotion.add(c[i]);
    if (c[i].is_tensor()) {
      sizes = first ? c.tensor(i).sizes : broadcast_sizes(sizes, c.tensor(i).sizes);
      first = false;
    }
  }
  DType common = row.flags & kSeparate ? DType::Bool : promotion.result();
  p.of = class_of(common);
  char kind = row.results[p.of];
  if (kind == 'f') {
    common = DType::F32;
    p.of = kF32;
    kind = row.results[p.of];
  }
  if ((row.flags & kNoHalf) && (common == DType::F16 || common == DType::BF16)) kind = '-';
  if (kind == '-') fail("elements of type %s", dtype_name(common));
  p.kernel = row.kernels[p.of];
  const DType out_type = kind == 'c' ? common : kind == 'b' ? DType::Bool : kind == 'l' ? DType::I64 : DType::F32;
  if (!p.kernel) {
    for (int i = 0; row.form[i]; ++i)
      if (row.form[i] == 'o') return convert_to(c.tensor(i), out_type);
  }
  p.result_of = kind == 'c' ? p.of : kind == 'b' ? kBool : kind == 'l' ? kI64 : kF32;
  p.out = result_tensor(out_type, sizes, row, c);
  for (int i = 0, slot = 0; row.form[i]; ++i) {
    if (row.form[i] == 's') continue;
    const int at = slot++;
    if (row.form[i] == 'n') {
      Operand number;
      set_constant(number, is_floating(class_type(p.of)) ? kF64 : kI64, c[i], row.rounded >> i & 1 ? common : DType::F64);
      if (!is_floating(class_type(p.of))) set_constant(number, kI64, c[i], common == DType::Bool ? DType::I64 : common);
      memcpy(p.numbers[p.number_count], number.element, 8);
      p.number_slots[p.number_count++] = at;
      continue;
    }
    Operand& o = p.operands[p.count];
    p.slots[p.count] = at;
    p.places[p.count++] = i;
    if (!c[i].is_tensor() || c.tensor(i).numel() == 1) {
      const bool number = !c[i].is_tensor() || c.tensor(i).rank() == 0;
      const bool exact = number && !(row.rounded >> i & 1) && is_floating(common);
      set_constant(o, p.of, c[i], exact ? DType::F64 : common);
      continue;
    }
    Tensor t = c.tensor(i);
    // An operand that loses something in the common type loses it before it is widened.
    if ((common == DType::F16 || common == DType::BF16) && t.dtype != common) t = convert_to(t, common);
    o.direct = t.dtype == class_type(p.of);
    o.load = loader_of(t.dtype, p.of);
    o.tensor = t.sizes == sizes ? t : expand(t, sizes);
  }
  join_short_rows(p);
  p.direct_out = out_type == class_type(p.result_of);
  p.store = storer_of(p.result_of, out_type);
  if (p.out.numel()) compute(p, c.pool);
  return p.out;
}

Value run_named(Call& c, std::string_view name) {
  const auto at = variants().find(name);
  if (at == variants().end()) fail("no generated kernel of this name");
  for (int i = 0; i < at->second.count; ++i)
    if (row_matches(at->second.first[i], c)) return run_row(at->second.first[i], c);
  fail("no kernel for these arguments");
}

Value run_generated(Call& c) { return run_named(c, c.name); }

// --- what is made of others, or has arguments that no kernel takes --------------------------------------------------

// Exponents like 2 that eager computes without pow are variants, of float bases only.
Value power(Call& c) {
  const bool whole = c[1].is_int() || c[1].is_bool();
  if (is_floating(c.tensor(0).dtype)) {
    if (!whole) return run_named(c, "aten::pow.Tensor_Scalar");
    return pointwise(c, "aten::pow.Tensor_Scalar", {c[0], c[1].number()});
  }
  if (whole) {
    if (c.integer(1) < 0) fail("integers to negative integer powers are not allowed");
    return pointwise(c, "aten::pow.Tensor_Tensor", {c[0], c[1]});
  }
  return run_named(c, "aten::pow.Tensor_Scalar");
}

Value log_sigmoid_forward(Call& c) {
  const Tensor result = pointwise(c, "aten::log_sigmoid", {c[0]});
  const Tensor magnitude = pointwise(c, "aten::abs", {c[0]});
  return Value::list({result, pointwise(c, "aten::exp", {pointwise(c, "aten::neg", {magnitude})})});
}

// body(x) of each element of a float tensor, in the type that it is computed in.
template <class F> Tensor each_float(const Tensor& x, Pool* pool, const F& body) {
  const Tensor in = contiguous(x);
  Tensor out = empty_like(in);
  visit_floating(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = in.data<T>();
    T* to = out.data<T>();
    parallel(pool, in.numel(), 4, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] = cast<T>(body(cast<compute_t<T>>(from[i])));
    });
  });
  return out;
}

Value logit(Call& c) {
  if (!c.has(1)) return run_named(c, "aten::logit");
  const double eps = c.number(1);
  const Tensor x = convert_to(c.tensor(0), float_type(c.tensor(0).dtype));
  return each_float(x, c.pool, [eps](auto v) {
    using C = decltype(v);
    const C low = (C)eps, high = (C)(1.0 - eps);
    v = v < low ? low : v > high ? high : v;
    return (C)log(v / ((C)1 - v));
  });
}

double largest(DType d) {
  switch (d) {
    case DType::F64: return 1.7976931348623157e308;
    case DType::F32: return 3.4028234663852886e38;
    case DType::F16: return 65504.0;
    default: return 3.3895313892515355e38;
  }
}

Value nan_to_num(Call& c) {
  const DType dtype = c.tensor(0).dtype;
  if (!is_floating(dtype)) return c.tensor(0);
  const double nan = c.number(1, 0.0), high = c.number(2, largest(dtype)), low = c.number(3, -largest(dtype));
  return each_float(c.tensor(0), c.pool, [=](auto v) {
    using C = decltype(v);
    if (v != v) return (C)nan;
    return v == (C)INFINITY ? (C)high : v == (C)-INFINITY ? (C)low : v;
  });
}

Value round_decimals(Call& c) {
  if (!is_floating(c.tensor(0).dtype)) return c.tensor(0);
  const int64_t decimals = c.integer(1);
  const double power = pow(10.0, (double)(decimals < 0 ? -decimals : decimals));
  return each_float(c.tensor(0), c.pool, [=](auto v) {
    using C = decltype(v);
    const C by = (C)power;
    return decimals < 0 ? (C)(rint(v / by) * by) : (C)(rint(v * by) / by);
  });
}

const OperatorRow special[] = {
    {"aten::pow.Tensor_Scalar", power},     {"aten::log_sigmoid_forward", log_sigmoid_forward},
    {"aten::logit", logit},                 {"aten::nan_to_num", nan_to_num},
    {"aten::round.decimals", round_decimals},
};

// The hand-written rows, then one for each generated name.
const std::vector<OperatorRow>& all_rows() {
  static const std::vector<OperatorRow> rows = [] {
    std::vector<OperatorRow> made(special, special + sizeof special / sizeof *special);
    for (int i = 0; i < pointwise_row_count; ++i)
      if (!i || strcmp(pointwise_rows[i].name, pointwise_rows[i - 1].name)) made.push_back({pointwise_rows[i].name, run_generated});
    return made;
  }();
  return rows;
}

}  // namespace

Tensor pointwise(const Call& from, const char* name, std::vector<Value> args) {
  Call inner{name, args, nullptr, from.pool, from.run, nullptr, 0};
  return run_named(inner, name).tensor();
}

extern const OperatorTable pointwise_operators;
const OperatorTable pointwise_operators = {all_rows().data(), (int)all_rows().size()};

}  // namespace ptc::exec
