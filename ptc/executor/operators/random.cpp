// Random numbers from states that are tensors, and what dropout is where nothing is dropped.
#include "ptc_random.h"

#include "common.h"

namespace ptc::exec {

struct Drawing {
  Tensor from, to, values;

  Drawing(const Call& c, const Dims& sizes, DType dtype) {
    from = contiguous_as(c.tensor(0), DType::I32);
    if (from.numel() != kRandomWords) fail("a state of %lld words", (long long)from.numel());
    const int32_t next = from.data<int32_t>()[624];
    if (next < 0) fail("a damaged state");
    to = empty(DType::I32, from.sizes);
    values = empty(dtype, sizes);
  }
  int64_t count() const { return values.numel(); }
  const int32_t* state() const { return from.data<int32_t>(); }
  int32_t* after() const { return to.data<int32_t>(); }
  Value results() const { return Value::list({values, to}); }
};

static Value seeded(Call& c) {
  const int64_t seed = c[0].integer();
  Tensor state = empty(DType::I32, {kRandomWords});
  random_seeded(1, &seed, state.data<int32_t>());
  return state;
}

// draw(n, values): of two parameters, in float or double.
static Value uniform(Call& c) {
  const bool wide = c.flag(4);
  const double low = c.number(2), high = c.number(3);
  Drawing d(c, c.dims(1), wide ? DType::F64 : DType::F32);
  if (wide) random_uniform(d.count(), d.state(), &low, &high, d.values.data<double>(), d.after());
  else random_uniform(d.count(), d.state(), &low, &high, d.values.data<float>(), d.after());
  return d.results();
}

static Value normal(Call& c) {
  const bool wide = c.flag(4);
  const double mean = c.number(2), deviation = c.number(3);
  Drawing d(c, c.dims(1), wide ? DType::F64 : DType::F32);
  if (wide) random_normal(d.count(), d.state(), &mean, &deviation, d.values.data<double>(), d.after());
  else random_normal(d.count(), d.state(), &mean, &deviation, d.values.data<float>(), d.after());
  return d.results();
}

static Value exponential(Call& c) {
  const bool wide = c.flag(3);
  const double rate = c.number(2);
  Drawing d(c, c.dims(1), wide ? DType::F64 : DType::F32);
  if (wide) random_exponential(d.count(), d.state(), &rate, d.values.data<double>(), d.after());
  else random_exponential(d.count(), d.state(), &rate, d.values.data<float>(), d.after());
  return d.results();
}

static Value integers(Call& c) {
  const int64_t low = c.integer(2), high = c.integer(3);
  if (low >= high) fail("integers from %lld to %lld", (long long)low, (long long)high);
  Drawing d(c, c.dims(1), DType::I64);
  random_integers(d.count(), d.state(), &low, &high, d.values.data<int64_t>(), d.after());
  return d.results();
}

static Value permutation(Call& c) {
  Drawing d(c, {c.integer(1)}, DType::I64);
  random_permutation(d.count(), d.state(), d.values.data<int64_t>(), d.after());
  return d.results();
}

static Value dropout(Call& c) {
  if (c.flag(2, true) && c.number(1) != 0) fail("dropout while training draws from a generator that the program does not name");
  return Value::list({c.tensor(0), full_number(DType::Bool, c.tensor(0).sizes, true)});
}

// Outside of training leaky_relu with the mean slope.
static Value randomized_relu(Call& c) {
  if (c.flag(4, false)) fail("rrelu while training draws from a generator that the program does not name");
  const double slope = (c.number(2) + c.number(3)) / 2;
  std::vector<Value> args = {c[0], Value(slope)};
  Call leaky{"aten::leaky_relu", args, nullptr, c.pool, c.run, nullptr, 0, false};
  return Value::list({find_operator(leaky.name)(leaky), c[1]});
}

static const OperatorRow rows[] = {
    {"ptc::random_seeded", seeded},
    {"ptc::random_uniform", uniform},
    {"ptc::random_normal", normal},
    {"ptc::random_exponential", exponential},
    {"ptc::random_integers", integers},
    {"ptc::random_permutation", permutation},
    {"aten::native_dropout", dropout},
    {"aten::rrelu_with_noise_functional", randomized_relu},
};
PTC_EXEC_TABLE(random_operators, rows);

}  // namespace ptc::exec
