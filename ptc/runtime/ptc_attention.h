// Scaled dot-product attention, float, without the matrix of scores in memory.
//
// For a block of query rows the keys pass in blocks: scores by ptc_tile.h's kernel on keys packed
// once a head, running maximum and sum, weights times values added to a small output block.
// Semantics are those of torch's scaled_dot_product_attention: weights = softmax(scale * q k +
// mask), rows without any allowed key give 0, NaN spreads along its row. Query heads share key
// heads in groups (heads / kv_heads). Epilogue: epilogue(acc, batch, head, query, d, lanes).
#ifndef PTC_ATTENTION_H
#define PTC_ATTENTION_H

#include "ptc_gemm.h"
#include "ptc_math.h"

namespace ptc {

enum MaskKind { MASK_NONE = 0, MASK_BOOL = 1, MASK_FLOAT = 2 };

// Strides in elements, 0 to broadcast; the innermost dimension of q, k and v is dense.
struct Attention {
  i64 batch, heads, kv_heads, q_len, k_len, dim, v_dim;
  i64 q_b, q_h, q_s, k_b, k_h, k_s, v_b, v_h, v_s;
  float scale;
  bool causal;       // query i sees keys 0 .. i
  const void* mask;  // bool: true where allowed; float: added
  int mask_kind;
  i64 m_b, m_h, m_q, m_k;
};

namespace detail {

constexpr int kScoreVectors = kPanelVectors, kScoreWidth = kScoreVectors * native_lanes<float>;
constexpr int kQueryRows = 4 * tile_rows(kScoreVectors);
constexpr int kScorePanels = 512 / kScoreWidth, kKeyBlock = kScorePanels * kScoreWidth;
// With at most this many queries packing the keys does not pay: their rows are read in place.
constexpr i64 kFewQueries = 4;

constexpr i64 padded_columns(i64 n) {
  return ceil_div(n, native_lanes<float>) * native_lanes<float>;
}
constexpr i64 key_floats(const Attention& s) {
  return s.q_len <= kFewQueries ? 0 : s.dim * ceil_div(s.k_len, kScoreWidth) * kScoreWidth;
}
constexpr bool values_packed(const Attention& s) { return s.v_dim % native_lanes<float> != 0; }
constexpr i64 value_floats(const Attention& s) {
  return values_packed(s) ? s.k_len * padded_columns(s.v_dim) : 0;
}
constexpr i64 attention_floats(const Attention& s) {
  return (key_floats(s) + value_floats(s) + kQueryRows * kKeyBlock +
          kQueryRows * padded_columns(s.v_dim) + 15) /
         16 * 16;
}

// What one worker has for one key head.
struct HeadMemory {
  float *keys, *values, *scores, *out;
  i64 packed_head;  // batch * kv_heads + head whose keys and values are packed, -1 at first
};

inline HeadMemory head_memory(const Attention& s, float* at) {
  HeadMemory m;
  m.scores = at;
  m.out = m.scores + kQueryRows * kKeyBlock;
  m.keys = m.out + kQueryRows * padded_columns(s.v_dim);
  m.values = m.keys + key_floats(s);
  m.packed_head = -1;
  return m;
}

inline void pack_head(const Attention& s, HeadMemory& m, const float* k, const float* v, i64 head) {
  if (m.packed_head == head) return;
  m.packed_head = head;
  if (s.q_len > kFewQueries)
    for (i64 j = 0; j < s.k_len; j += kScoreWidth)
      pack_panel(m.keys + j * s.dim, kScoreWidth, k + j * s.k_s, s.dim,
                 (int)min_of(kScoreWidth, s.k_len - j), 1, s.k_s);
  if (values_packed(s)) {
    int width = panel_width<float>(s.v_dim);
    for (i64 j = 0; j < s.v_dim; j += width) {
      int columns = (int)min_of(width, s.v_dim - j);
      pack_panel(m.values + j * s.k_len, (int)padded_columns(columns), v + j, s.k_len, columns,
                 s.v_s, 1);
    }
  }
}

// Rows of the next tile when `left` are left: exact sizes, since sums are added to.
template <int NV> PTC_INLINE int rows_step(int left) { return floor_rows(left, tile_rows(NV)); }

// scores[panel][row][width] = q k for keys [k0, k0 + count).
inline void block_scores(const Attention& s, const HeadMemory& m, const float* q, const float* k,
                         int rows, i64 k0, int count) {
  const i64 zero = 0;
  if (s.q_len <= kFewQueries) {
    // At least four keys are read; the first of a group that reaches over the end lie before it.
    for (int j = 0; j < count; j += 4) {
      float four[4 * 4];
      i64 at = min_of(k0 + j, max_of(0, s.k_len - 4));
      int shift = (int)(k0 + j - at), real = (int)min_of(4, s.k_len - at);
      for (int r = 0; r < rows;) {
        int step = rows - r >= 4 ? 4 : rows - r >= 2 ? 2 : 1;
        float* to = m.scores + j / kScoreWidth * kQueryRows * kScoreWidth + j % kScoreWidth;
        if (real == 4) {
          (step == 4 ? dot_kernel<float, 4>
           : step == 2
               ? dot_kernel<float, 2>
               : dot_kernel<float, 1>)(s.dim, q + r * s.q_s, s.q_s, k + at * s.k_s, s.k_s, four, 4);
        } else {
          for (int a = 0; a < step; ++a)
            for (int b = 0; b < real; ++b) {
              float sum = 0;
              for (i64 e = 0; e < s.dim; ++e)
                sum += q[(r + a) * s.q_s + e] * k[(at + b) * s.k_s + e];
              four[a * 4 + b] = sum;
            }
        }
        for (int a = 0; a < step; ++a)
          for (int b = shift; b < real; ++b)
            to[(r + a) * kScoreWidth + b - shift] = four[a * 4 + b];
        r += step;
      }
    }
    return;
  }
  for (int j = 0; j < count; j += kScoreWidth) {
    float* to = m.scores + j / kScoreWidth * kQueryRows * kScoreWidth;
    for (int r = 0, step; r < rows; r += step) {
      step = rows_step<kScoreVectors>(rows - r);
      tile_for<float, kScoreVectors, -1>(step)(1, s.dim, q + r * s.q_s, &zero, s.q_s,
                                               m.keys + (k0 + j) * s.dim, kScoreWidth,
                                               to + r * kScoreWidth, false);
    }
  }
}

// One row's mask for keys from k0 on, added to scaled scores x; lanes beyond `lanes` are -inf.
PTC_INLINE f32v masked(const Attention& s, f32v x, const char* mask, i64 row, i64 key, i64 last,
                       int lanes) {
  f32v low = f32v(-kInf);
  x = x * f32v(s.scale);
  if (s.mask_kind == MASK_FLOAT) {
    const float* p = (const float*)mask + row + key * s.m_k;
    x = x + (s.m_k == 1 ? load_n<float, PTC_VLEN>(p, lanes)
                        : load_strided<float, PTC_VLEN>(p, s.m_k, lanes));
  } else if (s.mask_kind == MASK_BOOL) {
    const uint8_t* p = (const uint8_t*)mask + row + key * s.m_k;
    auto on = s.m_k == 1 ? load_n<uint8_t, PTC_VLEN>(p, lanes)
                         : load_strided<uint8_t, PTC_VLEN>(p, s.m_k, lanes);
    x = select(to_bool(on), x, low);
  }
  return select(first_lanes<PTC_VLEN>((int)min_of(lanes, max_of(0, last - key))), x, low);
}

// State of the rows of a query block.
struct RowState {
  float maximum[kQueryRows], sum[kQueryRows];
};

// Scores to weights exp(x - maximum) for one row; returns the factor for what was summed before.
inline float row_weights(const Attention& s, float* scores, RowState& state, int r, int count,
                         const char* mask, i64 mask_row, i64 k0, i64 last, bool plain) {
  f32v top = f32v(-kInf);
  for (int j = 0; j < count; j += PTC_VLEN) {
    float* p = scores + j / kScoreWidth * kQueryRows * kScoreWidth + j % kScoreWidth;
    f32v x = load<float, PTC_VLEN>(p);
    if (!plain || j + PTC_VLEN > count) {
      int lanes = (int)min_of(PTC_VLEN, count - j);
      x = plain ? select(first_lanes<PTC_VLEN>(lanes), x, f32v(-kInf))
                : masked(s, x, mask, mask_row, k0 + j, last, lanes);
      store(p, x);
    }
    top = max_fast(x, top);  // a NaN is passed over here and comes out of exp
  }
  const float scale = plain ? s.scale : 1.0f, before = state.maximum[r];
  float now = max_fast(before, hmax(top) * scale);
  state.maximum[r] = now;
  float shift = now == -kInf ? 0.0f : now;
  f32v sum = f32v(0.0f);
  for (int j = 0; j < count; j += PTC_VLEN) {
    float* p = scores + j / kScoreWidth * kQueryRows * kScoreWidth + j % kScoreWidth;
    f32v w = exp(load<float, PTC_VLEN>(p) * f32v(scale) - f32v(shift));
    store(p, w);
    sum = sum + w;
  }
  float factor = exp(before - shift);
  state.sum[r] = state.sum[r] * factor + hsum(sum);
  return factor;
}

// out[panel][row][width] (+)= weights times values of keys [k0, k0 + count), panel by panel of
// v_dim.
template <int NV, int Widths>
inline void value_panel(int vectors, const Attention& s, const HeadMemory& m, const float* v,
                        i64 n0, int rows, i64 k0, int count, bool add) {
  if constexpr (NV >= 1) {
    if constexpr ((Widths >> NV & 1) != 0)
      if (vectors == NV) {
        constexpr int width = NV * native_lanes<float>;
        const bool packed = values_packed(s);
        const float* b = packed ? m.values + n0 * s.k_len + k0 * width : v + n0 + k0 * s.v_s;
        const i64 ldb = packed ? width : s.v_s;
        const int panels = count / kScoreWidth, rest = count % kScoreWidth;
        i64 offsets[kScorePanels];
        for (int j = 0; j < panels; ++j) offsets[j] = (i64)j * kQueryRows * kScoreWidth;
        const i64 last = (i64)panels * kQueryRows * kScoreWidth;
        for (int r = 0, step; r < rows; r += step) {
          step = rows_step<NV>(rows - r);
          TileFn<float> tile = tile_for<float, NV, -1>(step);
          const float* a = m.scores + r * kScoreWidth;
          float* to = m.out + n0 * kQueryRows + r * width;
          if (panels) tile(panels, kScoreWidth, a, offsets, kScoreWidth, b, ldb, to, add);
          if (rest)
            tile(1, rest, a, &last, kScoreWidth, b + panels * kScoreWidth * ldb, ldb, to,
                 add || panels);
        }
        return;
      }
    value_panel<NV - 1, Widths>(vectors, s, m, v, n0, rows, k0, count, add);
  }
}

template <i64 VDim, class E>
inline void query_block(const Attention& s, const HeadMemory& m, i64 b, i64 h, i64 q0, int rows,
                        const float* q, const float* k, const float* v, const E& epilogue) {
  constexpr int L = native_lanes<float>;
  const i64 v_dim = VDim >= 0 ? VDim : s.v_dim,
            keys = s.causal ? min_of(s.k_len, q0 + rows) : s.k_len;
  const int width = panel_width<float>(v_dim);
  const bool plain = !s.causal && s.mask_kind == MASK_NONE && s.scale > 0.0f;
  const char* mask = (const char*)s.mask;
  RowState state;
  for (int r = 0; r < rows; ++r) state.maximum[r] = -kInf, state.sum[r] = 0.0f;
  for (i64 k0 = 0; k0 < keys; k0 += kKeyBlock) {
    int count = (int)min_of(kKeyBlock, keys - k0);
    block_scores(s, m, q, k, rows, k0, count);
    for (int r = 0; r < rows; ++r) {
      i64 last = s.causal ? min_of(s.k_len, q0 + r + 1) : s.k_len;
      float factor = row_weights(s, m.scores + r * kScoreWidth, state, r, count, mask,
                                 b * s.m_b + h * s.m_h + (q0 + r) * s.m_q, k0, last, plain);
      if (k0 > 0 && factor != 1.0f)
        for (i64 n0 = 0; n0 < v_dim; n0 += width) {
          int columns = (int)padded_columns(min_of(width, v_dim - n0));
          float* p = m.out + n0 * kQueryRows + r * columns;
          for (int j = 0; j < columns; j += L) store(p + j, load<float, L>(p + j) * f32v(factor));
        }
    }
    for (i64 n0 = 0; n0 < v_dim; n0 += width)
      value_panel<kPanelVectors, packed_widths<float, VDim>()>(
          (int)ceil_div(min_of(width, v_dim - n0), L), s, m, v, n0, rows, k0, count, k0 > 0);
  }
  for (i64 n0 = 0; n0 < v_dim; n0 += width) {
    int columns = (int)min_of(width, v_dim - n0), stride = (int)padded_columns(columns);
    for (int r = 0; r < rows; ++r) {
      float* p = m.out + n0 * kQueryRows + r * stride;
      // No allowed key at all: nothing was added, or there was no key and nothing was written.
      bool empty = state.sum[r] == 0.0f;
      f32v inverse = f32v(empty ? 0.0f : 1.0f / state.sum[r]);
      for (int j = 0; j < columns; j += PTC_VLEN) {
        int lanes = (int)min_of(PTC_VLEN, columns - j);
        f32v x = empty ? f32v(0.0f) : load<float, PTC_VLEN>(p + j) * inverse;
        if (lanes == PTC_VLEN)
          epilogue(x, b, h, q0 + r, n0 + j, PTC_VLEN);
        else
          epilogue(x, b, h, q0 + r, n0 + j, lanes);
      }
    }
  }
}

}  // namespace detail

// Bytes of 64-byte aligned scratch.
constexpr i64 attention_scratch(const Attention& s, int threads) {
  return detail::attention_floats(s) * 4 * threads;
}

// VDim: v_dim if known at compile time, so that only its panel widths are compiled.
template <i64 VDim = -1, class E>
inline void attention(Pool* pool, const Attention& s, const float* q, const float* k,
                      const float* v, void* scratch, const E& epilogue) {
  const i64 blocks = detail::ceil_div(s.q_len, detail::kQueryRows), group = s.heads / s.kv_heads;
  parallel_for(pool, s.batch * s.heads * blocks, 1, [&](i64 begin, i64 end, int worker) {
    detail::HeadMemory m =
        detail::head_memory(s, (float*)scratch + detail::attention_floats(s) * worker);
    for (i64 u = begin; u < end; ++u) {
      i64 b = u / blocks / s.heads, h = u / blocks % s.heads, q0 = u % blocks * detail::kQueryRows,
          kv = h / group;
      const float *keys = k + b * s.k_b + kv * s.k_h, *values = v + b * s.v_b + kv * s.v_h;
      detail::pack_head(s, m, keys, values, b * s.kv_heads + kv);
      int rows = (int)detail::min_of(detail::kQueryRows, s.q_len - q0);
      detail::query_block<VDim>(s, m, b, h, q0, rows, q + b * s.q_b + h * s.q_h + q0 * s.q_s, keys,
                                values, epilogue);
    }
  });
}

}  // namespace ptc

#endif
