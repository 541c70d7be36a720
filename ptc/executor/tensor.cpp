#include "tensor.h"

namespace ptc::exec {

// --- element types --------------------------------------------------------------------------------------------------

static const struct {
  const char* name;
  int64_t size;
} dtypes[kDTypes] = {{"f64", 8}, {"f32", 4}, {"f16", 2}, {"bf16", 2}, {"i64", 8}, {"i32", 4},  {"i16", 2}, {"i8", 1},
                     {"u8", 1},  {"bool", 1}, {"c64", 8}, {"c128", 16}, {"u16", 2}, {"u32", 4}, {"u64", 8}};

int64_t itemsize(DType dtype) { return dtypes[(int)dtype].size; }
const char* dtype_name(DType dtype) { return dtypes[(int)dtype].name; }

bool dtype_from_name(const char* name, size_t length, DType* dtype) {
  for (int i = 0; i < kDTypes; ++i)
    if (strlen(dtypes[i].name) == length && !memcmp(dtypes[i].name, name, length)) {
      *dtype = (DType)i;
      return true;
    }
  return false;
}

static int integer_rank(DType d) {  // u8 < i8, i16...: by size
  return (int)itemsize(d);
}

DType promote_types(DType a, DType b) {
  if (a == b) return a;
  if (is_complex(a) || is_complex(b)) {
    const bool wide = a == DType::C128 || b == DType::C128 || a == DType::F64 || b == DType::F64;
    return wide ? DType::C128 : DType::C64;
  }
  if (is_floating(a) || is_floating(b)) {
    if (!is_floating(a)) return b;
    if (!is_floating(b)) return a;
    if (a == DType::F64 || b == DType::F64) return DType::F64;
    return DType::F32;  // f32 with a 16-bit type, and f16 with bf16
  }
  if (a == DType::Bool) return b;
  if (b == DType::Bool) return a;
  if (is_signed(a) == is_signed(b)) return integer_rank(a) >= integer_rank(b) ? a : b;
  const DType with_sign = is_signed(a) ? a : b, without = is_signed(a) ? b : a;
  if (without != DType::U8) fail("promotion of %s and %s", dtype_name(a), dtype_name(b));
  return with_sign == DType::I8 ? DType::I16 : with_sign;
}

// --- shapes ---------------------------------------------------------------------------------------------------------

int64_t product(const Dims& sizes) {
  int64_t n = 1;
  bool zero = false;
  for (int64_t size : sizes) {
    if (size < 0) fail("a size of %lld", (long long)size);
    if (size == 0) zero = true;
    else if (__builtin_mul_overflow(n, size, &n) || n > ((int64_t)1 << 58)) fail("sizes %s are too large", dims_text(sizes).c_str());
  }
  return zero ? 0 : n;
}

Dims compact_strides(const Dims& sizes) {
  Dims strides(sizes.size(), 1);
  int64_t step = 1;
  for (int d = sizes.size() - 1; d >= 0; --d) {
    strides[d] = step;
    if (sizes[d] > 1) step *= sizes[d];
  }
  return strides;
}

Dims broadcast_sizes(const Dims& a, const Dims& b) {
  const Dims& wide = a.size() >= b.size() ? a : b;
  const Dims& narrow_ = a.size() >= b.size() ? b : a;
  Dims result = wide;
  const int shift = wide.size() - narrow_.size();
  for (int d = 0; d < narrow_.size(); ++d) {
    int64_t& size = result[d + shift];
    if (size == narrow_[d] || narrow_[d] == 1) continue;
    if (size != 1) fail("sizes %s and %s do not broadcast", dims_text(a).c_str(), dims_text(b).c_str());
    size = narrow_[d];
  }
  return result;
}

int wrap_dim(int64_t dim, int rank) {
  const int64_t count = rank > 0 ? rank : 1;
  if (dim < -count || dim >= count) fail("dimension %lld of a tensor with %d", (long long)dim, rank);
  return (int)(dim < 0 ? dim + count : dim);
}

std::string dims_text(const Dims& sizes) {
  std::string text = "[";
  for (int d = 0; d < sizes.size(); ++d) text += (d ? ", " : "") + std::to_string(sizes[d]);
  return text + "]";
}

// --- making ---------------------------------------------------------------------------------------------------------

bool Tensor::is_contiguous() const {
  int64_t step = 1;
  for (int d = rank() - 1; d >= 0; --d) {
    if (sizes[d] == 0) return true;
    if (sizes[d] == 1) continue;
    if (strides[d] != step) {
      for (int64_t size : sizes)
        if (size == 0) return true;
      return false;
    }
    step *= sizes[d];
  }
  return true;
}

Tensor empty(DType dtype, const Dims& sizes) {
  Tensor t;
  t.dtype = dtype;
  t.sizes = sizes;
  t.strides = compact_strides(sizes);
  t.storage = allocate_storage(product(sizes) * itemsize(dtype));
  return t;
}

Tensor empty_like(const Tensor& t) { return empty(t.dtype, t.sizes); }

Tensor empty_strided(DType dtype, const Dims& sizes, const Dims& strides) {
  if (sizes.size() != strides.size()) fail("%d sizes and %d strides", sizes.size(), strides.size());
  int64_t last = 0;
  const bool none = product(sizes) == 0;
  for (int d = 0; d < sizes.size() && !none; ++d) {
    int64_t reach;
    if (strides[d] < 0) fail("a stride of %lld", (long long)strides[d]);
    if (__builtin_mul_overflow(sizes[d] - 1, strides[d], &reach) || __builtin_add_overflow(last, reach, &last) ||
        last > ((int64_t)1 << 58))
      fail("strides %s are too large", dims_text(strides).c_str());
  }
  Tensor t;
  t.dtype = dtype;
  t.sizes = sizes;
  t.strides = strides;
  t.storage = allocate_storage((none ? 0 : last + 1) * itemsize(dtype));
  return t;
}

Tensor zeros(DType dtype, const Dims& sizes) {
  Tensor t = empty(dtype, sizes);
  memset(t.raw(), 0, (size_t)t.bytes());
  return t;
}

Tensor full(DType dtype, const Dims& sizes, double value) {
  Tensor t = empty(dtype, sizes);
  fill(t, value);
  return t;
}

Tensor contiguous(const Tensor& t) { return t.is_contiguous() ? t : clone(t); }

Tensor clone(const Tensor& t) {
  Tensor result = empty(t.dtype, t.sizes);
  copy_into(result, t);
  return result;
}

Tensor convert_to(const Tensor& t, DType dtype) {
  if (t.dtype == dtype) return t;
  Tensor result = empty(dtype, t.sizes);
  copy_into(result, t);
  return result;
}

Tensor contiguous_as(const Tensor& t, DType dtype) {
  return t.dtype == dtype ? contiguous(t) : convert_to(t, dtype);
}

// --- views ----------------------------------------------------------------------------------------------------------

Tensor as_view(const Tensor& t, const Dims& sizes, const Dims& strides, int64_t offset) {
  if (sizes.size() != strides.size()) fail("%d sizes and %d strides", sizes.size(), strides.size());
  int64_t last = offset;
  if (offset < 0) fail("a storage offset of %lld", (long long)offset);
  if (product(sizes) > 0) {
    for (int d = 0; d < sizes.size(); ++d) {
      int64_t reach;
      if (strides[d] < 0) fail("a stride of %lld", (long long)strides[d]);
      if (__builtin_mul_overflow(sizes[d] - 1, strides[d], &reach) || __builtin_add_overflow(last, reach, &last))
        fail("strides %s are too large", dims_text(strides).c_str());
    }
    if (last >= t.storage->bytes / itemsize(t.dtype))
      fail("a view of %s with strides %s from %lld on leaves its memory", dims_text(sizes).c_str(),
           dims_text(strides).c_str(), (long long)offset);
  }
  Tensor view = t;
  view.sizes = sizes;
  view.strides = strides;
  view.offset = offset;
  return view;
}

Tensor expand(const Tensor& t, const Dims& sizes) {
  const int shift = sizes.size() - t.rank();
  if (shift < 0) fail("%s is not expanded to %s", dims_text(t.sizes).c_str(), dims_text(sizes).c_str());
  Tensor view = t;
  view.sizes = sizes;
  view.strides = Dims(sizes.size(), 0);
  for (int d = 0; d < sizes.size(); ++d) {
    if (d < shift) {
      if (sizes[d] < 0) fail("-1 for a new dimension");
      continue;
    }
    const int64_t own = t.sizes[d - shift];
    if (sizes[d] == -1 || sizes[d] == own) {
      view.sizes[d] = own;
      view.strides[d] = t.strides[d - shift];
    } else if (own != 1) {
      fail("%s is not expanded to %s", dims_text(t.sizes).c_str(), dims_text(sizes).c_str());
    }
  }
  product(view.sizes);
  return view;
}

Tensor permute(const Tensor& t, const Dims& order) {
  if (order.size() != t.rank()) fail("%d dimensions in an order of %d", t.rank(), order.size());
  Tensor view = t;
  bool seen[kMaxRank] = {};
  for (int d = 0; d < order.size(); ++d) {
    const int from = wrap_dim(order[d], t.rank());
    if (seen[from]) fail("a dimension twice in %s", dims_text(order).c_str());
    seen[from] = true;
    view.sizes[d] = t.sizes[from];
    view.strides[d] = t.strides[from];
  }
  return view;
}

Tensor transpose(const Tensor& t, int64_t a, int64_t b) {
  const int i = wrap_dim(a, t.rank()), j = wrap_dim(b, t.rank());
  Tensor view = t;
  if (t.rank() == 0) return view;
  std::swap(view.sizes[i], view.sizes[j]);
  std::swap(view.strides[i], view.strides[j]);
  return view;
}

// The strides with which `t` has other sizes without a copy; false where there are none.
static bool strides_for(const Tensor& t, const Dims& sizes, Dims* strides) {
  *strides = compact_strides(sizes);
  if (t.is_contiguous()) return true;
  Dims old_sizes, old_strides;
  for (int d = 0; d < t.rank(); ++d)
    if (t.sizes[d] != 1) {
      old_sizes.push_back(t.sizes[d]);
      old_strides.push_back(t.strides[d]);
    }
  int to = sizes.size() - 1;
  for (int from = old_sizes.size() - 1; from >= 0; --from) {
    // A chunk of old dimensions that continue each other becomes some of the new ones.
    int64_t chunk = old_sizes[from], stride = old_strides[from], filled = 1;
    for (; from > 0 && old_strides[from - 1] == old_strides[from] * old_sizes[from]; --from) chunk *= old_sizes[from - 1];
    for (; to >= 0 && (filled < chunk || sizes[to] == 1); --to) {
      (*strides)[to] = stride;
      stride *= sizes[to];
      filled *= sizes[to];
    }
    if (filled != chunk) return false;
  }
  return true;
}

Tensor reshape(const Tensor& t, const Dims& wanted) {
  Dims sizes = wanted;
  int64_t known = 1;
  int unknown = -1;
  for (int d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == -1) {
      if (unknown >= 0) fail("two sizes of -1 in %s", dims_text(wanted).c_str());
      unknown = d;
    } else if (sizes[d] < 0 || __builtin_mul_overflow(known, sizes[d], &known)) {
      fail("sizes %s", dims_text(wanted).c_str());
    }
  }
  const int64_t count = t.numel();
  if (unknown >= 0) {
    if (known == 0 || count % known) fail("%s does not become %s", dims_text(t.sizes).c_str(), dims_text(wanted).c_str());
    sizes[unknown] = count / known;
  }
  if (product(sizes) != count) fail("%s does not become %s", dims_text(t.sizes).c_str(), dims_text(wanted).c_str());
  Dims strides;
  Tensor view = strides_for(t, sizes, &strides) ? t : clone(t);
  view.sizes = sizes;
  view.strides = view.storage == t.storage ? strides : compact_strides(sizes);
  return view;
}

Tensor unsqueeze(const Tensor& t, int64_t dim) {
  const int at = wrap_dim(dim, t.rank() + 1);
  Tensor view = t;
  view.strides.insert(at, at < t.rank() ? t.sizes[at] * t.strides[at] : 1);
  view.sizes.insert(at, 1);
  return view;
}

Tensor squeeze(const Tensor& t, int64_t dim) {
  const int at = wrap_dim(dim, t.rank());
  Tensor view = t;
  if (t.rank() == 0 || t.sizes[at] != 1) return view;
  view.sizes.erase(at);
  view.strides.erase(at);
  return view;
}

Tensor narrow(const Tensor& t, int64_t dim, int64_t start, int64_t length) {
  if (t.rank() == 0) fail("a part of a tensor without dimensions");
  const int at = wrap_dim(dim, t.rank());
  if (start < 0 || length < 0 || start > t.sizes[at] - length)
    fail("%lld elements from %lld on of %lld", (long long)length, (long long)start, (long long)t.sizes[at]);
  Tensor view = t;
  view.sizes[at] = length;
  view.offset += start * t.strides[at];
  return view;
}

Tensor select(const Tensor& t, int64_t dim, int64_t index) {
  if (t.rank() == 0) fail("an element of a tensor without dimensions");
  const int at = wrap_dim(dim, t.rank());
  if (index < -t.sizes[at] || index >= t.sizes[at])
    fail("index %lld is out of range for a dimension of %lld", (long long)index, (long long)t.sizes[at]);
  Tensor view = t;
  view.offset += (index < 0 ? index + t.sizes[at] : index) * t.strides[at];
  view.sizes.erase(at);
  view.strides.erase(at);
  return view;
}

// --- copies ---------------------------------------------------------------------------------------------------------

template <class U, class T>
static void convert_row(void* to, int64_t to_stride, const void* from, int64_t from_stride, int64_t n) {
  U* u = (U*)to;
  const T* t = (const T*)from;
  if (to_stride == 1 && from_stride == 1)
    for (int64_t i = 0; i < n; ++i) u[i] = cast<U>(t[i]);
  else
    for (int64_t i = 0; i < n; ++i) u[i * to_stride] = cast<U>(t[i * from_stride]);
}

template <class T> static void move_row(T* to, int64_t to_stride, const T* from, int64_t from_stride, int64_t n) {
  if (to_stride == 1 && from_stride == 1) {
    memcpy(to, from, (size_t)n * sizeof(T));
  } else if (to_stride == 1 && from_stride == 0) {
    const T value = *from;
    for (int64_t i = 0; i < n; ++i) to[i] = value;
  } else if (to_stride == 1) {
    for (int64_t i = 0; i < n; ++i) to[i] = from[i * from_stride];
  } else {
    for (int64_t i = 0; i < n; ++i) to[i * to_stride] = from[i * from_stride];
  }
}

// Where neighbours of the source lie far apart, but those of another dimension are adjacent: in tiles, so that a line of
// the cache is used before it goes.
template <class T> static bool move_transposed(const Tensor& to, const Tensor& from) {
  const int rank = from.rank();
  if (rank < 2) return false;
  const int inner = rank - 1;
  int dense = -1;
  for (int d = 0; d < inner; ++d)
    if (from.strides[d] == 1 && from.sizes[d] > 1) dense = d;
  if (dense < 0 || to.strides[inner] != 1 || from.strides[inner] <= 1 || from.sizes[inner] < 8) return false;
  constexpr int64_t kTile = 16;
  Dims outer = from.sizes, to_strides = to.strides, from_strides = from.strides;
  outer[inner] = outer[dense] = 1;
  RowWalk<2> walk(outer, {&to_strides, &from_strides});
  const int64_t rows = from.sizes[dense], columns = from.sizes[inner];
  const int64_t to_row = to.strides[dense], from_column = from.strides[inner];
  for (int64_t r = 0; r < walk.rows; ++r) {
    walk.seek(r);
    for (int64_t e = 0; e < walk.length; ++e) {
      T* const u = to.data<T>() + walk.offset[0] + e * walk.stride[0];
      const T* const t = from.data<T>() + walk.offset[1] + e * walk.stride[1];
      for (int64_t i = 0; i < rows; i += kTile)
        for (int64_t j = 0; j < columns; j += kTile) {
          const int64_t i_end = i + kTile < rows ? i + kTile : rows, j_end = j + kTile < columns ? j + kTile : columns;
          for (int64_t a = i; a < i_end; ++a)
            for (int64_t b = j; b < j_end; ++b) u[a * to_row + b] = t[b * from_column + a];
        }
    }
  }
  return true;
}

void copy_into(const Tensor& dst, const Tensor& src) {
  if (dst.sizes != src.sizes) fail("%s is copied into %s", dims_text(src.sizes).c_str(), dims_text(dst.sizes).c_str());
  if (dst.dtype == src.dtype) {
    visit_size(dst.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if (src.numel() && move_transposed<T>(dst, src)) return;
      RowWalk<2> walk(dst.sizes, {&dst.strides, &src.strides});
      for (int64_t r = 0; r < walk.rows; ++r) {
        walk.seek(r);
        move_row(dst.data<T>() + walk.offset[0], walk.stride[0], src.data<T>() + walk.offset[1], walk.stride[1],
                 walk.length);
      }
    });
    return;
  }
  typedef void (*Convert)(void*, int64_t, const void*, int64_t, int64_t);
  const Convert row = visit_all(dst.dtype, [&](auto to) {
    return visit_all(src.dtype, [&](auto from) -> Convert {
      return &convert_row<typename decltype(to)::type, typename decltype(from)::type>;
    });
  });
  const int64_t to_size = itemsize(dst.dtype), from_size = itemsize(src.dtype);
  RowWalk<2> walk(dst.sizes, {&dst.strides, &src.strides});
  for (int64_t r = 0; r < walk.rows; ++r) {
    walk.seek(r);
    row(dst.raw() + walk.offset[0] * to_size, walk.stride[0], src.raw() + walk.offset[1] * from_size, walk.stride[1],
        walk.length);
  }
}

void fill(const Tensor& dst, const c128& value) {
  visit_all(dst.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T element = is_complex_type<T> ? cast<T>(value) : cast<T>(value.real());
    RowWalk<1> walk(dst.sizes, {&dst.strides});
    for (int64_t r = 0; r < walk.rows; ++r) {
      walk.seek(r);
      T* row = dst.data<T>() + walk.offset[0];
      for (int64_t i = 0; i < walk.length; ++i) row[i * walk.stride[0]] = element;
    }
  });
}

}  // namespace ptc::exec
