// `ptc-exec`: runs a `.ptir` file on `.npy` files.
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>

#include "describe.h"
#include "npy.h"
#include "session.h"

using namespace ptc::exec;

static const char kUsage[] =
    "usage: ptc-exec MODEL.ptir [options]\n"
    "  --input NAME=FILE.npy   an input; numbers too may be given as NAME=3 or NAME=2.5 (repeat)\n"
    "  --output DIR            write each result as DIR/NAME.npy; without it, say their types and first elements\n"
    "  --threads N             threads of kernels (default: one a core)\n"
    "  --memory BYTES          most memory that tensors may take\n"
    "  --verify                compare the weights with their hash, whatever their size\n"
    "  --seed N                what torch's own generator draws goes on as after manual_seed(N)\n"
    "  --bench N               run N times and print the fastest, median and mean time\n"
    "  --print                 print the program and end\n"
    "  --describe              print inputs, outputs and sizes as JSON and end\n"
    "  --operators             print the names of all operators and end\n";

namespace {

struct Options {
  std::string model, output;
  std::vector<std::pair<std::string, std::string>> inputs;
  int threads = 0, bench = 0;
  int64_t memory = 0;
  bool print = false, describe = false, operators = false, has_seed = false, verify = false;
  uint64_t seed = 0;
};

// What is wrong with the command line: exit code 2.
struct Usage {
  std::string text;
};

long long whole_number(const std::string& option, const std::string& text, long long lowest) {
  char* end;
  const long long value = strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end || value < lowest) throw Usage{option + " takes a number, got `" + text + "`"};
  return value;
}

Options parse(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const auto next = [&]() -> std::string {
      if (i + 1 >= count) throw Usage{word + " takes a value"};
      return words[++i];
    };
    if (word == "--input") {
      const std::string text = next();
      const size_t equals = text.find('=');
      if (equals == std::string::npos) throw Usage{"--input takes NAME=FILE.npy, got `" + text + "`"};
      options.inputs.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    } else if (word == "--output") {
      options.output = next();
    } else if (word == "--threads") {
      options.threads = (int)std::min(whole_number(word, next(), 0), 4096LL);
    } else if (word == "--memory") {
      options.memory = whole_number(word, next(), 1);
    } else if (word == "--seed") {
      options.seed = (uint64_t)whole_number(word, next(), INT64_MIN);
      options.has_seed = true;
    } else if (word == "--bench") {
      options.bench = (int)std::min(whole_number(word, next(), 1), 1000000000LL);
    } else if (word == "--verify") {
      options.verify = true;
    } else if (word == "--print") {
      options.print = true;
    } else if (word == "--describe") {
      options.describe = true;
    } else if (word == "--operators") {
      options.operators = true;
    } else if (word == "--help" || word == "-h") {
      fputs(kUsage, stdout);
      exit(0);
    } else if (word.size() > 1 && word[0] == '-') {
      throw Usage{"unknown option " + word};
    } else if (options.model.empty()) {
      options.model = word;
    } else {
      throw Usage{"more than one model"};
    }
  }
  if (options.model.empty() && !options.operators) throw Usage{"no model"};
  return options;
}

Value number_of(const Input& input, const std::string& text) {
  char* end;
  Value value;
  if (input.type.kind == Type::Kind::Int) value = Value((int64_t)strtoll(text.c_str(), &end, 10));
  else if (input.type.kind == Type::Kind::Float) value = Value(strtod(text.c_str(), &end));
  else if (text == "True" || text == "False") return Value(text == "True");
  else throw Usage{"input `" + input.name + "` is True or False, got `" + text + "`"};
  if (text.empty() || *end) throw Usage{"input `" + input.name + "` is a number, got `" + text + "`"};
  return value;
}

std::vector<Value> read_inputs(const Options& options, const Program& program) {
  std::vector<Value> values;
  for (int number : program.call_inputs) {
    const Input& input = program.module.inputs[(size_t)number];
    const auto given = std::find_if(options.inputs.begin(), options.inputs.end(), [&](const auto& item) { return item.first == input.name; });
    if (given == options.inputs.end()) throw Usage{"input `" + input.name + "` is missing: --input " + input.name + "=FILE.npy"};
    if (input.type.kind != Type::Kind::Tensor) {
      values.push_back(number_of(input, given->second));
      continue;
    }
    Tensor tensor = read_npy(given->second);
    if (tensor.dtype == DType::U16 && input.type.dtype == DType::BF16) tensor.dtype = DType::BF16;
    values.push_back(std::move(tensor));
  }
  for (const auto& [name, path] : options.inputs)
    if (std::none_of(program.call_inputs.begin(), program.call_inputs.end(), [&, &key = name](int number) { return program.module.inputs[(size_t)number].name == key; }))
      throw Usage{"the model has no input `" + name + "`"};
  return values;
}

double seconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

std::string element_text(const Tensor& tensor, int64_t i) {
  if (is_complex(tensor.dtype)) {
    const c128 value = visit_all(tensor.dtype, [&](auto tag) { return cast<c128>(tensor.data<typename decltype(tag)::type>()[i]); });
    return format("(%g%+gj)", value.real(), value.imag());
  }
  if (tensor.dtype == DType::Bool) return tensor.data<bool>()[i] ? "True" : "False";
  if (is_floating(tensor.dtype))
    return format("%.9g", visit_floating(tensor.dtype, [&](auto tag) { return cast<double>(tensor.data<typename decltype(tag)::type>()[i]); }));
  return std::to_string(visit_integral(tensor.dtype, [&](auto tag) { return cast<int64_t>(tensor.data<typename decltype(tag)::type>()[i]); }));
}

// `logits: f32[2, 10] 0.1, 0.2, ...`
void say(const std::string& name, const Value& value) {
  if (value.is_list()) {
    for (size_t i = 0; i < value.list().size(); ++i) say(name + "." + std::to_string(i), value.list()[i]);
    return;
  }
  std::string text;
  if (value.is_tensor()) {
    const Tensor tensor = contiguous(value.tensor());
    text = std::string(dtype_name(tensor.dtype)) + dims_text(tensor.sizes);
    const int64_t shown = std::min<int64_t>(tensor.numel(), 6);
    for (int64_t i = 0; i < shown; ++i) text += (i ? ", " : " ") + element_text(tensor, i);
    if (shown < tensor.numel()) text += ", ...";
  } else if (value.is_bool()) {
    text = value.boolean() ? "True" : "False";
  } else if (value.is_int()) {
    text = std::to_string(value.integer());
  } else if (value.is_float()) {
    text = float_text(value.number());
  } else if (value.is_text()) {
    text = quote(value.text());
  } else {
    text = "None";
  }
  printf("%s: %s\n", name.c_str(), text.c_str());
}

// A name as a file's: what is no letter, digit, dot, line or underscore becomes an underscore, so that it stays in its folder.
std::string file_name(const std::string& name) {
  std::string result;
  for (char c : name) result += isalnum((unsigned char)c) || c == '_' || c == '-' || (c == '.' && !result.empty()) ? c : '_';
  return result.empty() ? "_" : result;
}

void store(const std::string& folder, const std::string& name, const Value& value) {
  if (value.is_list()) {
    for (size_t i = 0; i < value.list().size(); ++i) store(folder, name + "." + std::to_string(i), value.list()[i]);
    return;
  }
  Tensor tensor;
  if (value.is_tensor()) tensor = value.tensor();
  else if (value.is_bool()) tensor = scalar_tensor(value.boolean());
  else if (value.is_int()) tensor = scalar_tensor(value.integer());
  else if (value.is_float()) tensor = scalar_tensor(value.number());
  else return say(name, value);
  write_npy(folder + "/" + file_name(name) + ".npy", tensor);
}

void bench(Session& session, const std::vector<Value>& inputs, int count) {
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    std::vector<std::pair<int, Tensor>> written;
    const double start = seconds();
    session.run(inputs, &written);
    times.push_back(seconds() - start);
  }
  std::sort(times.begin(), times.end());
  double sum = 0;
  for (double time : times) sum += time;
  printf("%d runs: fastest %.3f ms, median %.3f ms, mean %.3f ms, peak %lld bytes\n", count, times[0] * 1e3,
         times[times.size() / 2] * 1e3, sum / count * 1e3, (long long)session.peak_memory());
}

int run(const Options& options) {
  if (options.operators) {
    for (const std::string& name : operator_names()) puts(name.c_str());
    return 0;
  }
  Model model;
  model.program = prepare_program(Bytes::map_file(options.model.c_str()), options.print, options.verify);
  if (options.print || options.describe) {
    const std::string text = options.print ? printed_text(*model.program) : describe(model.program->module) + "\n";
    fwrite(text.data(), 1, text.size(), stdout);
    return 0;
  }
  model.pool = ptc::pool_open(options.threads);
  model.memory_limit = options.memory;
  Session session(&model);
  if (options.has_seed) session.seed(options.seed);
  const std::vector<Value> inputs = read_inputs(options, *model.program);
  if (options.bench) {
    bench(session, inputs, options.bench);
    return 0;
  }
  std::vector<std::pair<int, Tensor>> written;
  const std::vector<Value> results = session.run(inputs, &written);
  if (!options.output.empty() && mkdir(options.output.c_str(), 0777) != 0 && errno != EEXIST)
    bad_file("cannot make `%s`: %s", options.output.c_str(), strerror(errno));
  size_t next = 0;
  for (const Output& output : model.program->module.outputs) {
    if (output.writes >= 0) continue;
    if (options.output.empty()) say(output.name, results[next]);
    else store(options.output, output.name, results[next]);
    ++next;
  }
  for (const auto& [input, tensor] : written) {
    const std::string& name = model.program->module.inputs[(size_t)input].name;
    if (!options.output.empty()) store(options.output, name + ".after", tensor);
  }
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return run(parse(count, words));
  } catch (const Usage& usage) {
    fprintf(stderr, "ptc-exec: %s\n%s", usage.text.c_str(), kUsage);
    return 2;
  } catch (const Error& error) {
    const std::string type = error.exception_type().empty() ? "" : error.exception_type() + ": ";
    fprintf(stderr, "ptc-exec: %s%s\n", type.c_str(), error.text().c_str());
    return 1;
  } catch (const std::exception& error) {
    fprintf(stderr, "ptc-exec: %s\n", error.what());
    return 1;
  }
}
