/* A hand-written library of the interface that ptc's libraries have, for tests of the host side.
 *
 * MANIFEST, ABI and NAME come from the compiler's command line. Entries:
 *   0 double   y[i] = 2 * x[i]; x[0] == 99: a failing check; x[0] == 98: unknown status
 *   1 evens    the even values of x, in memory of the library (size known after the run only)
 *   2 count    how often this session ran it: a buffer of the model that it writes to
 *   3 negate   x = -x in place; returns their sum in bf16
 */
#include <stdlib.h>
#include <string.h>
#include "ptc_abi.h"

struct ptc_model { int sessions; int threads; };
struct ptc_session { ptc_model *model; int runs; const char *error; int64_t shape[1]; };

static int open_models;
int ptc_test_open_models(void) { return open_models; }

static const char *get_manifest(void) { return MANIFEST; }

static ptc_status open_model(const ptc_open_options *options, ptc_model **model, char *message,
                             size_t capacity) {
  if (options->struct_size != sizeof *options) return PTC_E_ARGUMENT;
  if (options->threads == 77) {
    strncpy(message, "needs avx99", capacity);
    return PTC_E_CPU;
  }
  *model = calloc(1, sizeof **model);
  (*model)->threads = options->threads;
  open_models++;
  return PTC_OK;
}
static void close_model(ptc_model *model) {
  if (model->sessions == 0) { open_models--; free(model); }
}
static ptc_status session_new(ptc_model *model, ptc_session **session) {
  *session = calloc(1, sizeof **session);
  (*session)->model = model;
  (*session)->error = "";
  model->sessions++;
  return PTC_OK;
}
static void session_free(ptc_session *session) { session->model->sessions--; free(session); }
static uint32_t entry_count(void) { return 4; }
static int32_t entry_index(const char *name) {
  const char *names[] = {"double", "evens", "count", "negate"};
  for (int i = 0; i < 4; i++)
    if (!strcmp(name, names[i])) return i;
  return -1;
}
static int64_t size_of(const DLTensor *t) {
  int64_t n = 1;
  for (int i = 0; i < t->ndim; i++) n *= t->shape[i];
  return n;
}
static ptc_status run(ptc_session *s, uint32_t entry, DLTensor *const *in, size_t in_count,
                      DLTensor *const *out, size_t out_count) {
  s->error = "";
  (void)in_count; (void)out_count;
  if (entry == 2) { *(int64_t *)out[0]->data = ++s->runs; return PTC_OK; }
  float *x = in[0]->data;
  int64_t n = size_of(in[0]);
  if (entry == 0) {
    if (n && x[0] == 99) { s->error = "index 99 is out of range"; return PTC_E_RUNTIME; }
    if (n && x[0] == 98) return (ptc_status)42;
    float *y = out[0]->data;
    if (!y) return PTC_E_ARGUMENT;
    for (int64_t i = 0; i < n; i++) y[i] = 2 * x[i];
    return PTC_OK;
  }
  if (entry == 1) {
    float *y = malloc(sizeof(float) * (n + 1));
    int64_t m = 0;
    for (int64_t i = 0; i < n; i++)
      if ((int)x[i] % 2 == 0) y[m++] = x[i];
    s->shape[0] = m;
    out[0]->data = y; out[0]->ndim = 1; out[0]->shape = s->shape;
    return PTC_OK;
  }
  float sum = 0;
  for (int64_t i = 0; i < n; i++) { x[i] = -x[i]; sum += x[i]; }
  uint32_t bits;
  memcpy(&bits, &sum, 4);
  *(uint16_t *)out[0]->data = bits >> 16;
  return PTC_OK;
}
static void release(ptc_session *s, DLTensor *output) { (void)s; free(output->data); output->data = 0; }
static const char *last_error(const ptc_session *s) { return s->error; }
static void cancel(ptc_session *s) { (void)s; }
static size_t peak_memory(const ptc_session *s) { (void)s; return 12345; }
static ptc_status run_raw(ptc_session *s, uint32_t e, void *const *p, const int64_t *z) {
  (void)s; (void)e; (void)p; (void)z;
  return PTC_E_ARGUMENT;
}
static ptc_status seed(ptc_session *s, uint64_t value) {
  (void)value;
  return s ? PTC_OK : PTC_E_ARGUMENT;
}

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
const ptc_api *JOIN(NAME, _ptc_api)(void) {
  static const ptc_api api = {ABI, sizeof(ptc_api), get_manifest, open_model, close_model,
                              session_new, session_free, entry_count, entry_index, run, release,
                              last_error, cancel, peak_memory, run_raw, .seed = seed};
  return &api;
}
