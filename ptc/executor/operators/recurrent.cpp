// Recurrent networks: LSTM (with projections), GRU and the plain RNN. The products with all inputs of a layer are one
// matrix product; then a step at a time, with the hidden weights packed once.
#include <math.h>

#include "common.h"
#include "linear.h"
#include "ptc_gemm.h"
#include "ptc_math.h"
#include "rows.h"

namespace ptc::exec {

namespace {

enum class Cell { Lstm, Gru, Tanh, Relu };
int gates_of(Cell cell) { return cell == Cell::Lstm ? 4 : cell == Cell::Gru ? 3 : 1; }

// Of one layer and direction: input [g h, i], hidden [g h, p], biases [g h], projection [p, h].
struct Weights {
  Tensor input, hidden, input_bias, hidden_bias, projection;
};

std::vector<Weights> weights_of(const std::vector<Tensor>& flat, bool biases, int64_t layers, int64_t directions) {
  const size_t parts = (size_t)(layers * directions);
  if (!parts || flat.empty() || flat.size() % parts) fail("%d weights for %d layers", (int)flat.size(), (int)parts);
  const size_t each = flat.size() / parts, plain = biases ? 4 : 2;
  if (each != plain && each != plain + 1) fail("%d weights a layer", (int)each);
  std::vector<Weights> all;
  for (size_t at = 0; at < flat.size(); at += each) {
    Weights w{flat[at], flat[at + 1], {}, {}, {}};
    if (biases) w.input_bias = flat[at + 2], w.hidden_bias = flat[at + 3];
    if (each > plain) w.projection = flat[at + each - 1];
    all.push_back(w);
  }
  return all;
}

// A weight [n, k] packed for products with rows of k.
template <class T> struct PackedRows {
  int64_t n, k;
  ptc::Scratch<T> memory;
  explicit PackedRows(const Tensor& w)
      : n(w.sizes[0]), k(w.sizes[1]), memory(ptc::packed_b_size<T>(w.sizes[1], w.sizes[0])) {
    if (!memory.data) fail_with(Status::Memory, "no memory for packed weights");
    ptc::pack_b<T>(memory.data, w.data<T>(), k, n, w.strides[1], w.strides[0]);
  }
  // out[m, n] = x[m, k] w^T + bias.
  void multiply(Pool* pool, int64_t m, const T* x, T* out, const T* bias) const {
    const int64_t width = n;
    ptc::gemm_packed<ptc::Dims<>, T>(pool, m, n, k, x, k, memory.data,
                                     [=](ptc::vec<T, PTC_VLEN> sum, int64_t i, int64_t j, int lanes) {
                                       if (bias) sum = sum + ptc::load_n<T, PTC_VLEN>(bias + j, lanes);
                                       ptc::store_n(out + i * width + j, sum, lanes);
                                     });
  }
};

// Values as they are after they were stored in `dtype`.
template <class T> void round_to(DType dtype, T* values, int64_t n) {
  if (dtype == DType::F16)
    for (int64_t i = 0; i < n; ++i) values[i] = cast<T>(cast<f16>(values[i]));
  if (dtype == DType::BF16)
    for (int64_t i = 0; i < n; ++i) values[i] = cast<T>(cast<bf16>(values[i]));
}

// One unit: `given` and `hidden` are at the first gate, the others `units` apart.
template <class T> T cell_value(Cell cell, const T* given, const T* hidden, int64_t units, T state, T* memory) {
  const auto sum = [&](int gate) { return given[gate * units] + hidden[gate * units]; };
  switch (cell) {
    case Cell::Lstm: {
      const T kept = ptc::sigmoid(sum(1)) * *memory;
      *memory = kept + ptc::sigmoid(sum(0)) * ptc::tanh(sum(2));
      return ptc::sigmoid(sum(3)) * ptc::tanh(*memory);
    }
    case Cell::Gru: {
      const T reset = ptc::sigmoid(sum(0)), update = ptc::sigmoid(sum(1));
      const T fresh = ptc::tanh(given[2 * units] + reset * hidden[2 * units]);
      return fresh + update * (state - fresh);
    }
    case Cell::Tanh: return ptc::tanh(sum(0));
    default: return sum(0) > 0 || sum(0) != sum(0) ? sum(0) : (T)0;
  }
}

// All steps of one layer and direction. `states` [t + 1, b, p]: the first row (the last when running backward) is the
// initial state; `memory` [b, h] is the cell state of an LSTM.
template <class T>
void run_steps(Pool* pool, Cell cell, DType dtype, const Tensor& given, const Weights& w, const Tensor& states, const Tensor& memory,
               bool backward) {
  const int64_t length = given.sizes[0], batch = given.sizes[1], wide = given.sizes[2], units = wide / gates_of(cell);
  const int64_t state_size = states.sizes[2];
  const PackedRows<T> hidden_weights(w.hidden);
  std::unique_ptr<PackedRows<T>> projection;
  if (w.projection.defined()) projection = std::make_unique<PackedRows<T>>(w.projection);
  ptc::Scratch<T> hidden(batch * wide), raw(batch * units);
  if (!hidden.data || !raw.data) fail_with(Status::Memory, "no memory for a recurrent layer");
  const T* const bias = w.hidden_bias.defined() ? w.hidden_bias.data<T>() : nullptr;
  for (int64_t step = 0; step < length; ++step) {
    const int64_t time = backward ? length - 1 - step : step, before = backward ? length - step : step;
    const T* const state = states.data<T>() + before * batch * state_size;
    T* const next = states.data<T>() + (backward ? before - 1 : before + 1) * batch * state_size;
    hidden_weights.multiply(pool, batch, state, hidden.data, bias);
    T* const values = projection ? raw.data : next;
    const T* const inputs = given.data<T>() + time * batch * wide;
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t u = 0; u < units; ++u)
        values[b * units + u] =
            cell_value(cell, inputs + b * wide + u, hidden.data + b * wide + u, units, projection ? (T)0 : state[b * units + u],
                       memory.defined() ? memory.data<T>() + b * units + u : nullptr);
    round_to(dtype, values, batch * units);
    if (memory.defined()) round_to(dtype, memory.data<T>(), batch * units);
    if (projection) {
      projection->multiply(pool, batch, raw.data, next, nullptr);
      round_to(dtype, next, batch * state_size);
    }
  }
}

void require_sizes(const Tensor& t, std::initializer_list<int64_t> sizes) {
  if (t.sizes != Dims(sizes)) fail("a weight of %s, expected %s", dims_text(t.sizes).c_str(), dims_text(Dims(sizes)).c_str());
}

// Weights of one layer and direction for inputs of `given` and states of `width`; the number of units.
int64_t check_weights(Cell cell, const Weights& w, int64_t given, int64_t width) {
  if (w.hidden.rank() != 2 || w.hidden.sizes[0] % gates_of(cell)) fail("a weight of %s", dims_text(w.hidden.sizes).c_str());
  const int64_t rows = w.hidden.sizes[0], units = rows / gates_of(cell);
  require_sizes(w.input, {rows, given});
  require_sizes(w.hidden, {rows, width});
  if (w.input_bias.defined()) require_sizes(w.input_bias, {rows});
  if (w.hidden_bias.defined()) require_sizes(w.hidden_bias, {rows});
  if (w.projection.defined()) require_sizes(w.projection, {width, units});
  else if (units != width) fail("%lld units and states of %lld", (long long)units, (long long)width);
  return units;
}

Tensor prepared(const Tensor& t, DType wide) { return t.defined() ? contiguous_as(t, wide) : t; }

struct Layers {
  int64_t layers;
  bool biases, bidirectional, batch_first;
};

// Output, final hidden states and, for an LSTM, final cell states.
std::vector<Value> run_layers(const Call& c, Cell cell, const Tensor& x, const Tensor& h0, const Tensor* c0, const std::vector<Tensor>& flat,
                              const Layers& how) {
  const DType dtype = x.dtype, wide = wide_type(dtype);
  if (wide != DType::F32 && wide != DType::F64) fail("a recurrent network of elements of type %s", dtype_name(dtype));
  if (x.rank() != 3 || h0.rank() != 3) fail("a recurrent network needs sequences of batches");
  const int64_t directions = how.bidirectional ? 2 : 1;
  const std::vector<Weights> weights = weights_of(flat, how.biases, how.layers, directions);
  Tensor sequence = how.batch_first ? transpose(x, 0, 1) : x;
  const int64_t length = sequence.sizes[0], batch = sequence.sizes[1], width = h0.sizes[2];
  if (h0.sizes[0] != (int64_t)weights.size() || h0.sizes[1] != batch) fail("sizes of the initial state do not fit");
  const Tensor final_states = empty(dtype, h0.sizes), final_cells = c0 ? empty(dtype, c0->sizes) : Tensor();
  for (size_t number = 0; number < weights.size(); number += (size_t)directions) {
    const Tensor output = empty(dtype, {length, batch, width * directions});
    for (int64_t direction = 0; direction < directions; ++direction) {
      const int64_t at = (int64_t)number + direction;
      const Weights& w = weights[(size_t)at];
      const int64_t units = check_weights(cell, w, sequence.sizes[2], width);
      if (c0) require_sizes(*c0, {(int64_t)weights.size(), batch, units});
      ProductEnd end;
      if (w.input_bias.defined()) end.addend = &w.input_bias;
      const Tensor rows = reshape(sequence, {1, length * batch, sequence.sizes[2]});
      const Tensor given = reshape(matrix_product(c, rows, unsqueeze(transpose(w.input, 0, 1), 0), end), {length, batch, w.input.sizes[0]});
      const Tensor states = empty(wide, {length + 1, batch, width});
      const bool backward = direction == 1;
      copy_into(select(states, 0, backward ? length : 0), select(h0, 0, at));
      const Tensor memory = c0 ? contiguous_as(clone(select(*c0, 0, at)), wide) : Tensor();
      const Weights ready{w.input, prepared(w.hidden, wide), {}, prepared(w.hidden_bias, wide), prepared(w.projection, wide)};
      const Tensor inputs = contiguous_as(given, wide);
      if (wide == DType::F32) run_steps<float>(c.pool, cell, dtype, inputs, ready, states, memory, backward);
      else run_steps<double>(c.pool, cell, dtype, inputs, ready, states, memory, backward);
      copy_into(select(final_states, 0, at), select(states, 0, backward ? 0 : length));
      if (c0) copy_into(select(final_cells, 0, at), memory);
      copy_into(narrow(output, 2, direction * width, width), narrow(states, 0, backward ? 0 : 1, length));
    }
    sequence = output;
  }
  std::vector<Value> results{how.batch_first ? transpose(sequence, 0, 1) : sequence, final_states};
  if (c0) results.push_back(final_cells);
  return results;
}

Layers layers_of(const Call& c, int first) { return {c.integer(first + 1), c.flag(first), c.flag(first + 2), c.flag(first + 3)}; }

Value lstm(Call& c) { return Value::list(run_layers(c, Cell::Lstm, c.tensor(0), c.tensor(1), &c.tensor(2), c.tensors(3), layers_of(c, 4))); }
Value gru(Call& c) { return Value::list(run_layers(c, Cell::Gru, c.tensor(0), c.tensor(1), nullptr, c.tensors(2), layers_of(c, 3))); }
Value rnn(Call& c) {
  const Cell cell = c.text(3) == "relu" ? Cell::Relu : Cell::Tanh;
  return Value::list(run_layers(c, cell, c.tensor(0), c.tensor(1), nullptr, c.tensors(2), layers_of(c, 4)));
}

const OperatorRow table[] = {{"ptc::lstm", lstm}, {"ptc::gru", gru}, {"ptc::rnn", rnn}};

}  // namespace

PTC_EXEC_TABLE(recurrent_operators, table);

}  // namespace ptc::exec
