// Conversion between element types, and truth values in memory. Comes with ptc_vec.h, which it is
// part of.
#ifndef PTC_CONVERT_H
#define PTC_CONVERT_H

#include "ptc_vec.h"

namespace ptc {

namespace detail {

// 16-bit float conversions on 32-bit lanes, written once for a scalar (uint32_t) and for vectors.
// `U` holds 32-bit unsigned lanes, `F` floats; `pick(c, a, b)` selects.
template <class U> PTC_INLINE U bf16_round_bits(U bits) {
  U rounded = (bits + (U(0x7FFFu) + ((bits >> U(16)) & U(1u)))) >> U(16);
  U is_nan_bits = U(0x7FC0u);
  return select((bits & U(0x7FFFFFFFu)) > U(0x7F800000u), is_nan_bits, rounded);
}
// IEEE half to float: shift the exponent into place, multiply by 2^112 (renormalises denormals
// exactly), then restore inf and nan.
template <class F, class U> PTC_INLINE F half_to_float(U h) {
  U sign = (h & U(0x8000u)) << U(16);
  U body = (h & U(0x7FFFu)) << U(13);
  F scaled = bitcast<float>(body) * F(5.192296858534828e33f);  // 2^112
  U bits = bitcast<uint32_t>(scaled);
  bits = select(body >= U(0x7C00u << 13), bits | U(0x7F800000u), bits);
  return bitcast<float>(bits | sign);
}
// Float to IEEE half, round to nearest even. Denormal halves come from adding 0.5, whose unit in
// the last place is 2^-24; normal ones from integer rounding of the mantissa.
template <class F, class U> PTC_INLINE U float_to_half(F x) {
  U bits = bitcast<uint32_t>(x);
  U sign = (bits >> U(16)) & U(0x8000u);
  U a = bits & U(0x7FFFFFFFu);
  U tiny = bitcast<uint32_t>(bitcast<float>(a) + F(0.5f)) - U(0x3F000000u);
  U normal = (a - U(112u << 23) + U(0xFFFu) + ((a >> U(13)) & U(1u))) >> U(13);
  U h = select(a < U(113u << 23), tiny, normal);
  h = select(a >= U(0x477FF000u), U(0x7C00u), h);  // 65520 and above
  h = select(a > U(0x7F800000u), U(0x7E00u), h);
  return h | sign;
}

// Between arithmetic lanes that each fit one register. The compiler splits some of these
// conversions into halves or single lanes where AVX-512 has one instruction.
template <class U, class T, int W> PTC_INLINE vec<U, W> convert_lanes(vec<T, W> x) {
#if defined(PTC_AVX512)
#define PTC_CONVERT_BY(FROM, TO, LANES, INSN)                               \
  if constexpr (same<T, FROM>::value && same<U, TO>::value && W == LANES) { \
    vec<U, W> r;                                                            \
    __asm__(INSN " %1, %0" : "=v"(r.v) : "v"(x.v));                         \
    return r;                                                               \
  } else
  PTC_CONVERT_BY(float, double, 8, "vcvtps2pd")
  PTC_CONVERT_BY(double, float, 8, "vcvtpd2ps")
  PTC_CONVERT_BY(float, int64_t, 8, "vcvttps2qq")
  PTC_CONVERT_BY(int64_t, float, 8, "vcvtqq2ps")
  PTC_CONVERT_BY(int32_t, double, 8, "vcvtdq2pd")
  PTC_CONVERT_BY(double, int32_t, 8, "vcvttpd2dq")
  PTC_CONVERT_BY(int32_t, int64_t, 8, "vpmovsxdq")
  PTC_CONVERT_BY(int64_t, int32_t, 8, "vpmovqd")
  PTC_CONVERT_BY(uint8_t, int32_t, 16, "vpmovzxbd")
  PTC_CONVERT_BY(int8_t, int32_t, 16, "vpmovsxbd")
  PTC_CONVERT_BY(uint16_t, uint32_t, 16, "vpmovzxwd")
  PTC_CONVERT_BY(int16_t, int32_t, 16, "vpmovsxwd")
  PTC_CONVERT_BY(uint32_t, uint16_t, 16, "vpmovdw")
  PTC_CONVERT_BY(int32_t, int16_t, 16, "vpmovdw")
#undef PTC_CONVERT_BY
#endif
  return vec<U, W>::wrap(__builtin_convertvector(x.v, typename vec<U, W>::native));
}

template <class T> constexpr bool is_small_float = same<T, bf16>::value || same<T, f16>::value;
template <class T> constexpr bool is_float = same<T, float>::value || same<T, double>::value;

}  // namespace detail

// Value conversion as torch's `to`: float to integer truncates (out of range: whatever the machine
// gives, as in eager), integers wrap, floats round to nearest even. bf16 and f16 go through float.
template <class U, class T, int W> PTC_INLINE vec<U, W> convert(vec<T, W> x) {
  typedef vec<uint32_t, W> Bits;
  if constexpr (detail::same<U, T>::value) {
    return x;
  } else if constexpr (vec<T, W>::split || vec<U, W>::split || Bits::split) {
    return vec<U, W>::pair(convert<U>(x.low()), convert<U>(x.high()));
  } else if constexpr (detail::same<T, bf16>::value && detail::same<U, float>::value) {
    return bitcast<float>(convert<uint32_t>(bitcast<uint16_t>(x)) << Bits(16u));
  } else if constexpr (detail::same<T, float>::value && detail::same<U, bf16>::value) {
    return bitcast<bf16>(convert<uint16_t>(detail::bf16_round_bits(bitcast<uint32_t>(x))));
  } else if constexpr (detail::same<T, f16>::value && detail::same<U, float>::value) {
#if defined(PTC_AVX512) || defined(__F16C__)
    if constexpr (W >= 4 && sizeof(x.v) >= 8) {
      vec<U, W> r;
      if constexpr (W == 4)
        __asm__("vcvtph2ps %1, %0" : "=v"(r.v) : "m"(x.v));
      else
        __asm__("vcvtph2ps %1, %0" : "=v"(r.v) : "v"(x.v));
      return r;
    }
#endif
    return detail::half_to_float<vec<float, W>>(convert<uint32_t>(bitcast<uint16_t>(x)));
  } else if constexpr (detail::same<T, float>::value && detail::same<U, f16>::value) {
#if defined(PTC_AVX512) || defined(__F16C__)
    if constexpr (W >= 8) {
      vec<U, W> r;
      __asm__("vcvtps2ph $0, %1, %0" : "=v"(r.v) : "v"(x.v));
      return r;
    }
#endif
    return bitcast<f16>(convert<uint16_t>(detail::float_to_half<vec<float, W>, Bits>(x)));
  } else if constexpr (detail::is_small_float<T> || detail::is_small_float<U>) {
    return convert<U>(convert<float>(x));
  } else if constexpr (detail::is_float<T> && !detail::is_float<U> && sizeof(U) < 4) {
    return convert<U>(convert<int32_t>(x));
  } else if constexpr (!detail::is_float<T> && sizeof(T) < 4 && detail::is_float<U>) {
    return convert<U>(convert<int32_t>(x));
  } else {
    return detail::convert_lanes<U>(x);
  }
}
template <class U, class T> PTC_INLINE U convert(T x) {
  if constexpr (detail::same<U, T>::value)
    return x;
  else if constexpr (detail::same<T, bf16>::value)
    return convert<U>(bitcast<float>((uint32_t)x.bits << 16));
  else if constexpr (detail::same<T, f16>::value)
    return convert<U>(detail::half_to_float<float>((uint32_t)x.bits));
  else if constexpr (detail::same<U, bf16>::value)
    return bf16{(uint16_t)detail::bf16_round_bits(bitcast<uint32_t>((float)x))};
  else if constexpr (detail::same<U, f16>::value)
    return f16{(uint16_t)detail::float_to_half<float, uint32_t>((float)x)};
  else if constexpr (detail::is_float<T> && !detail::is_float<U> && sizeof(U) < 4 &&
                     !detail::same<U, bool>::value)
    return (U)(int32_t)x;
  else
    return (U)x;
}
// Truth values: `to_bool(x)` is x != 0 (NaN is true); convert<T>(mask) gives 0 or 1.
template <class T, int W> PTC_INLINE mask<W> to_bool(vec<T, W> x) { return x != vec<T, W>(T(0)); }
template <int W> PTC_INLINE mask<W> to_bool(mask<W> m) { return m; }
template <class T> PTC_INLINE bool to_bool(T x) { return x != T(0); }
template <class U, int W> PTC_INLINE vec<U, W> convert(mask<W> m) {
  return convert<U>(m.m & vec<int32_t, W>(1));
}

// bool in memory: one byte, 0 or 1.
template <int W> PTC_INLINE mask<W> load_mask(const bool* p) {
  return load<uint8_t, W>((const uint8_t*)p) != vec<uint8_t, W>((uint8_t)0);
}
template <int W> PTC_INLINE mask<W> load_mask_n(const bool* p, int n) {
  return load_n<uint8_t, W>((const uint8_t*)p, n) != vec<uint8_t, W>((uint8_t)0);
}
template <int W> PTC_INLINE void store_mask(bool* p, mask<W> m) {
  store((uint8_t*)p, convert<uint8_t>(m));
}
template <int W> PTC_INLINE void store_mask_n(bool* p, mask<W> m, int n) {
  store_n((uint8_t*)p, convert<uint8_t>(m), n);
}

}  // namespace ptc

#endif
