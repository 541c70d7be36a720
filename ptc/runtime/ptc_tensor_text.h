// Tensors as text: str(t) and repr(t) as torch prints them, format(t, spec), torch.Size.
//
// Owns the choice of a common layout for a tensor's numbers, lines, summaries and the suffixes
// behind them. How one number reads is ptc_text.h's part.
#ifndef PTC_TENSOR_TEXT_H
#define PTC_TENSOR_TEXT_H

#include "ptc_format.h"
#include "ptc_view.h"

namespace ptc {

// torch.set_printoptions, and the default element type, which is not told.
struct PrintOptions {
  int precision = 4;
  double threshold = 1000;
  int64_t edgeitems = 3;
  int64_t linewidth = 80;
  int sci_mode = -1;  // -1 as the numbers need, 0 never, 1 always
  uint8_t default_code = VIEW_FLOAT, default_bits = 32;
};

namespace detail {

// How all numbers of a tensor (or all real or imaginary parts) are printed.
struct NumberLayout {
  bool whole = true;      // floats without fraction: "1."
  bool exponent = false;  // 1.0000e+00
  int64_t width = 1;
};

// Which floats decide a layout: of the finite ones that are not zero, the largest and smallest of
// each sign by size. Text grows with the size of a number, or with that of its exponent.
struct FloatRange {
  bool any[2] = {false, false};
  double least[2], most[2];
  bool whole = true;

  void take(double x) {
    const double size = __builtin_fabs(x);
    if (!(size > 0 && size < __builtin_inf())) return;
    const int sign = x < 0;
    if (!any[sign] || size < least[sign]) least[sign] = size;
    if (!any[sign] || size > most[sign]) most[sign] = size;
    any[sign] = true;
    whole = whole && __builtin_ceil(x) == x;
  }
};

struct TensorPrinter {
  Text& text;
  const TensorView& view;
  const PrintOptions& options;
  bool summarize = false;
  NumberLayout layout[2];
  Text number;  // one number at a time

  TensorPrinter(Text& to, const TensorView& v, const PrintOptions& o)
      : text(to), view(v), options(o) {}

  bool cut(int dim) const { return summarize && view.dims[dim] > 2 * options.edgeitems; }

  // Calls visit(position) for every element that is shown.
  template <class F> void shown(int dim, int64_t position, const F& visit) const {
    if (dim == view.ndim) {
      visit(position);
      return;
    }
    for (int64_t i = 0; i < view.dims[dim]; ++i) {
      if (cut(dim) && i == options.edgeitems) i = view.dims[dim] - options.edgeitems;
      if (i < view.dims[dim]) shown(dim + 1, position + i * view.strides[dim], visit);
    }
  }

  void choose_layout() {
    if (view.is_floating() || view.code == VIEW_COMPLEX) {
      for (int part = 0; part < (view.code == VIEW_COMPLEX ? 2 : 1); ++part) {
        FloatRange range;
        shown(0, 0, [&](int64_t at) { range.take(view.float_at(at, part)); });
        choose_float_layout(layout[part], range);
      }
      return;
    }
    shown(0, 0, [&](int64_t at) {
      number.clear();
      add_int(number, at);
      if (number.length > layout[0].width) layout[0].width = number.length;
    });
  }
  void choose_float_layout(NumberLayout& chosen, const FloatRange& range) {
    if (!range.any[0] && !range.any[1]) return;
    double least = __builtin_inf(), most = 0;
    for (int sign = 0; sign < 2; ++sign) {
      if (range.any[sign] && range.least[sign] < least) least = range.least[sign];
      if (range.any[sign] && range.most[sign] > most) most = range.most[sign];
    }
    chosen.whole = range.whole;
    chosen.exponent = most / least > 1000.0 || most > 1.0e8 || least < 1.0e-4;
    if (options.sci_mode >= 0) chosen.exponent = options.sci_mode != 0;
    for (int sign = 0; sign < 2; ++sign) {
      if (!range.any[sign]) continue;
      const double ends[] = {range.least[sign], range.most[sign]};
      for (const double size : ends) {
        number.clear();
        add_float(number, sign ? -size : size, chosen);
        if (number.length > chosen.width) chosen.width = number.length;
      }
    }
  }

  void add_int(Text& to, int64_t at) const {
    const int64_t value = view.int_at(at);
    if (view.code == VIEW_BOOL)
      text_str(to, value != 0);
    else if (view.code == VIEW_UINT)
      add_unsigned(to, (uint64_t)value, 10);
    else
      text_str(to, value);
  }
  void add_float(Text& to, double x, const NumberLayout& chosen) const {
    FloatStyle style;
    style.type = chosen.exponent ? 'e' : 'f';
    style.precision = chosen.whole && !chosen.exponent ? 0 : options.precision;
    const bool finite = __builtin_fabs(x) < __builtin_inf();
    if (x == x && has_sign(x)) to.add('-');
    detail::add_float(to, x, style);
    if (finite && chosen.whole && !chosen.exponent) to.add('.');
  }

  void add_element(int64_t at) {
    number.clear();
    if (!view.is_floating() && view.code != VIEW_COMPLEX)
      add_int(number, at);
    else
      add_float(number, view.float_at(at), layout[0]);
    text.spaces(layout[0].width - number.length);
    text.add(number.data, number.length);
    if (view.code != VIEW_COMPLEX) return;
    number.clear();
    add_float(number, view.float_at(at, 1), layout[1]);
    if (number.length && number.data[0] != '-') text.add('+');
    text.add(number.data, number.length);
    text.add('j');
  }

  void add_vector(int64_t position, int64_t indent) {
    int64_t element = layout[0].width + 2;
    if (view.code == VIEW_COMPLEX) element += layout[1].width + 1;
    int64_t per_line = (options.linewidth - indent) / element;
    if (per_line < 1) per_line = 1;
    const int dim = view.ndim - 1;
    const int64_t size = view.dims[dim];
    int64_t column = 0;
    const auto separate = [&] {
      if (column == per_line) {
        text.add(",\n");
        text.spaces(indent + 1);
        column = 0;
      } else if (column) {
        text.add(", ");
      }
      ++column;
    };
    text.add('[');
    for (int64_t i = 0; i < size; ++i) {
      if (cut(dim) && i == options.edgeitems) {
        separate();
        text.add(options.edgeitems ? " ..." : "...");
        i = size - options.edgeitems;
        if (i == size) break;
      }
      separate();
      add_element(position + i * view.strides[dim]);
    }
    text.add(']');
  }

  void add_block(int dim, int64_t position, int64_t indent) {
    if (dim == view.ndim) return add_element(position);
    if (dim == view.ndim - 1) return add_vector(position, indent);
    bool first = true;
    const auto separate = [&] {
      if (!first) {
        text.add(',');
        text.repeat("\n", 1, view.ndim - dim - 1);
        text.spaces(indent + 1);
      }
      first = false;
    };
    text.add('[');
    for (int64_t i = 0; i < view.dims[dim]; ++i) {
      if (cut(dim) && i == options.edgeitems) {
        separate();
        text.add("...");
        i = view.dims[dim] - options.edgeitems;
        if (i == view.dims[dim]) break;
      }
      separate();
      add_block(dim + 1, position + i * view.strides[dim], indent + 1);
    }
    text.add(']');
  }

  void add_content(int64_t indent) {
    const int64_t count = view.count();
    if (!count) return text.add("[]");
    summarize = (double)count > options.threshold;
    choose_layout();
    add_block(0, 0, indent);
  }
};

// (2, 3), (2,), ().
inline void add_tuple(Text& text, const int64_t* items, int count) {
  text.add('(');
  for (int i = 0; i < count; ++i) {
    if (i) text.add(", ");
    text_str(text, items[i]);
  }
  text.add(count == 1 ? ",)" : ")");
}

inline void add_dtype(Text& text, const TensorView& view) {
  text.add("dtype=torch.");
  switch (view.code) {
    case VIEW_INT:
      text.add("int");
      break;
    case VIEW_UINT:
      text.add("uint");
      break;
    case VIEW_FLOAT:
      text.add("float");
      break;
    case VIEW_BFLOAT:
      text.add("bfloat");
      break;
    case VIEW_COMPLEX:
      text.add("complex");
      break;
    default:
      return text.add("bool");
  }
  text_str(text, (int64_t)view.bits);
}

// Whether a tensor that has elements shows its type.
inline bool is_common_type(const TensorView& view, const PrintOptions& options) {
  const bool wide = options.default_code == VIEW_FLOAT && options.default_bits == 64;
  switch (view.code) {
    case VIEW_BOOL:
      return true;
    case VIEW_INT:
      return view.bits == 64;
    case VIEW_COMPLEX:
      return view.bits == (wide ? 128 : 64);
    default:
      return view.code == options.default_code && view.bits == options.default_bits;
  }
}

// `suffix` on the line if it fits, else on one of its own.
inline void add_suffix(Text& text, const Text& suffix, int64_t indent, int64_t linewidth,
                       int64_t& line) {
  if (!suffix.length) return;
  if (line + suffix.length + 2 > linewidth) {
    text.add(",\n");
    text.spaces(indent);
    line = indent + suffix.length;
  } else {
    text.add(", ");
    line += suffix.length + 2;
  }
  text.add(suffix.data, suffix.length);
}

}  // namespace detail

// str(t), which is repr(t). `suffix` is what autograd adds in eager: "requires_grad=True".
inline void text_tensor(Text& text, const TensorView& view, const PrintOptions& options,
                        const char* suffix = nullptr) {
  const int64_t start = text.length, indent = 7;  // under the first character behind "tensor("
  text.add("tensor(");
  detail::TensorPrinter printer(text, view, options);
  printer.add_content(indent);
  if (printer.number.failed) text.failed = true;
  int64_t line = 2;  // two more than the last line has: torch's count
  for (int64_t i = text.length; i > start && text.data[i - 1] != '\n'; --i) ++line;
  const bool empty = view.count() == 0;
  Text size, type, more;
  if (empty ? view.ndim != 1 : !options.edgeitems) {
    size.add("size=");
    detail::add_tuple(size, view.dims, view.ndim);
  }
  const bool is_default = view.code == options.default_code && view.bits == options.default_bits;
  if (empty ? !is_default : !detail::is_common_type(view, options)) detail::add_dtype(type, view);
  if (suffix) more.add(suffix);
  detail::add_suffix(text, size, indent, options.linewidth, line);
  detail::add_suffix(text, type, indent, options.linewidth, line);
  detail::add_suffix(text, more, indent, options.linewidth, line);
  if (size.failed || type.failed || more.failed) text.failed = true;
  text.add(')');
}

// format(t, spec): a tensor without dimensions as its Python number. False where eager raises, and
// for complex numbers.
inline bool text_tensor_format(Text& text, const TensorView& view, const char* spec,
                               const PrintOptions& options, const char* suffix = nullptr) {
  if (view.ndim) {
    text_tensor(text, view, options, suffix);
    return !*spec;
  }
  switch (view.code) {
    case VIEW_COMPLEX:
      return false;
    case VIEW_FLOAT:
    case VIEW_BFLOAT:
      return text_format(text, view.float_at(0), spec);
    case VIEW_BOOL:
      return text_format(text, view.int_at(0) != 0, spec);
    default:
      break;
  }
  const int64_t value = view.int_at(0);
  const bool negative = view.code == VIEW_INT && value < 0;
  return detail::format_whole(text, negative, negative ? 0 - (uint64_t)value : (uint64_t)value,
                              spec);
}

// str(t.shape): torch.Size([2, 3]).
inline void text_size(Text& text, const int64_t* dims, int ndim) {
  text.add("torch.Size(");
  text_list(text, dims, ndim);
  text.add(')');
}

}  // namespace ptc

#endif
