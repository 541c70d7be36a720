#pragma GCC diagnostic ignored "-Wunused-function"
#include "ptc_control_keys.h"
using namespace ptc;

namespace ptc {
extern const ModelSpec model_spec = {};
}

static Memory memory;
static Run run;
static Control control = {nullptr, &memory, {}, &run};

// Lists of ints, floats and strings, as far as a key has one of them.
static List<int64_t> ints;
static List<double> floats;
static List<String> texts;

extern "C" void begin() {
  drop(&control, &ints);
  drop(&control, &floats);
  drop(&control, &texts);
  list_create(&control, &ints);
  list_create(&control, &floats);
  list_create(&control, &texts);
}

extern "C" int add(int64_t at, int64_t n, double x, const char* text) {
  String made = {};
  int status = string_new(&control, &made, text, (int64_t)strlen(text));
  at = at < 0 ? ints.count() : at;
  if (!status) status = list_insert(&control, ints, at, n);
  if (!status) status = list_insert(&control, floats, at, x);
  if (!status) status = list_insert(&control, texts, at, made);
  drop(&control, &made);
  return status;
}

extern "C" void put(int64_t at, int64_t n) { list_set(&control, ints, at, n); }
extern "C" void remove_at(int64_t at) {
  int64_t n;
  double x;
  String text = {};
  list_pop(&control, &n, ints, at);
  list_pop(&control, &x, floats, at);
  list_pop(&control, &text, texts, at);
  drop(&control, &text);
}
extern "C" void reverse_all() {
  list_reverse(&control, ints);
  list_reverse(&control, floats);
  list_reverse(&control, texts);
}
extern "C" void clear_all() {
  list_clear(&control, ints);
  list_clear(&control, floats);
  list_clear(&control, texts);
}

// Where a key is: 0 an int, 1 a float, 2 a string, 3 all of them, 4 a float and an int. -2: it fails.
extern "C" int64_t find(int kind, int64_t n, double x, const char* text) {
  String made = {};
  int64_t at = -1;
  int status = string_new(&control, &made, text, (int64_t)strlen(text));
  const Column<int64_t> number = {ints, n};
  const Column<double> real = {floats, x};
  const Column<String> string = {texts, made};
  switch (kind) {
    case 0: status |= list_find(&control, &at, number); break;
    case 1: status |= list_find(&control, &at, real); break;
    case 2: status |= list_find(&control, &at, string); break;
    case 3: status |= list_find(&control, &at, number, real, string); break;
    default: status |= list_find(&control, &at, real, number);
  }
  drop(&control, &made);
  return status ? -2 : at;
}

// How many rows are in the table of the ints.
extern "C" int64_t rows_in_table() { return ints.data->table ? ints.data->table->rows : -1; }
