/* The C interface of a compiled model, version 1.
 *
 * A library exports one symbol, `const ptc_api *NAME_ptc_api(void)`; NAME.h wraps it in functions
 * with the model's name. Everything is re-entrant: a model is immutable after open and may be shared
 * by threads; a session belongs to one thread at a time. No function exits or
 * throws; what the model itself prints goes to standard output, or where `set_emit` says.
 */
#ifndef PTC_ABI_H
#define PTC_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PTC_ABI_VERSION 1u

/* DLPack's tensor layout (ABI-compatible with dlpack.h, which may be included as well). */
#ifndef DLPACK_VERSION
typedef struct { int32_t device_type; int32_t device_id; } DLDevice; /* kDLCPU == 1 */
typedef struct { uint8_t code; uint8_t bits; uint16_t lanes; } DLDataType; /* 0 int, 1 uint, 2 float, 4 bfloat, 5 complex, 6 bool */
typedef struct {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides; /* in elements; NULL: compact row-major */
  uint64_t byte_offset;
} DLTensor;
#endif

typedef enum {
  PTC_OK = 0,
  PTC_E_ARGUMENT = 1, /* null pointer, wrong count, unknown entry */
  PTC_E_SHAPE = 2,    /* a dimension differs or is out of its range; message names input and dim */
  PTC_E_DTYPE = 3,
  PTC_E_LAYOUT = 4,   /* not compact row-major, or misaligned to its element size */
  PTC_E_DEVICE = 5,
  PTC_E_MEMORY = 6,
  PTC_E_CPU = 7,      /* the library needs instructions this CPU lacks */
  PTC_E_IO = 8,       /* weights not found, truncated or of the wrong size */
  PTC_E_RUNTIME = 9,  /* a check of the model failed (index out of range, assert, raise) */
  PTC_E_CANCELLED = 10,
  PTC_RAISED = 11     /* the model raised an exception: see `exception_type`, `last_error` */
} ptc_status;

typedef struct ptc_model ptc_model;
typedef struct ptc_session ptc_session;

typedef struct {
  uint32_t struct_size;     /* sizeof(ptc_open_options) */
  int32_t threads;          /* 0: one a core, 1: none but the caller's */
  const char *weights_path; /* NULL: embedded, or the file named in the manifest beside the library */
  /* When not NULL: addresses of the weights in manifest order, compact row-major, borrowed until close. Takes
   * precedence over the file and the embedded section (a host that holds the weights already). */
  const void *const *weight_pointers;
  /* When not NULL: a file at whose end, from a page's start on, the library leaves what it computes from the
   * weights. `ptc compile` stores that in the library, which then maps it. */
  const char *prepared_path;
} ptc_open_options;

/* Where text goes. `channel`: 0 standard output, 1 standard error, 2 a log record (`label`: LEVEL:logger),
 * 3 a warning (`label`: its category). `text` ends with a zero and is valid during the call. */
typedef void (*ptc_emit)(void *user, int32_t channel, const char *label, const char *text, size_t length);

typedef struct ptc_api {
  uint32_t abi_version; /* PTC_ABI_VERSION */
  uint32_t struct_size; /* sizeof(ptc_api) when built; newer fields follow */
  const char *(*manifest)(void); /* JSON text, the same as NAME.json */
  ptc_status (*open)(const ptc_open_options *options, ptc_model **model, char *message, size_t capacity);
  void (*close)(ptc_model *model); /* all its sessions must have been freed */
  ptc_status (*session_new)(ptc_model *model, ptc_session **session);
  void (*session_free)(ptc_session *session);
  uint32_t (*entry_count)(void);
  int32_t (*entry_index)(const char *name); /* -1: no such entry */
  /* Run one entry. Inputs and outputs in the manifest's order. An output whose `data` is NULL is allocated by
   * the library (data, shape, strides point into memory owned by the session until `release` or the
   * session's end); one with `data` is written in place after its shape and dtype were checked, and shares no
   * memory with an input or another output. An input that the model writes to shares none with another input.
   * Of a model with control flow: a Python number is a tensor without dimensions (int64, float64, bool). A list of
   * numbers is a tensor of one dimension. A list of tensors is a tensor of one dimension of opaque handles (code 3,
   * 64 bits), always allocated by the library: its data is an array of `DLTensor *`, which live as long as it does.
   * A string is a tensor of one dimension, its UTF-8 bytes (uint8), always allocated by the library; a zero that is not
   * counted follows them. A list of strings is, as a list of tensors, an array of `DLTensor *`, each of them a string.
   * Where the structure of the result depends on data, `variant` tells which it is, and outputs that have no part in
   * it are left as they were. */
  ptc_status (*run)(ptc_session *session, uint32_t entry, DLTensor *const *inputs, size_t input_count,
                    DLTensor *const *outputs, size_t output_count);
  void (*release)(ptc_session *session, DLTensor *output);
  const char *(*last_error)(const ptc_session *session); /* never NULL; "" when the last run succeeded */
  void (*cancel)(ptc_session *session); /* from any thread: the run in progress ends with PTC_E_CANCELLED */
  size_t (*peak_memory)(const ptc_session *session); /* bytes of arena and scoped memory, at most so far */
  /* Unchecked entry for hosts that have checked already (ptc.compile). `pointers`: inputs in program
   * order (weights included when the entry was built with live weights), then outputs; `sizes`: values of
   * the symbolic sizes in manifest order. */
  ptc_status (*run_raw)(ptc_session *session, uint32_t entry, void *const *pointers, const int64_t *sizes);
  /* After PTC_RAISED: the exception's class (`ValueError`, `package.module.Custom`); `last_error` is then
   * `ValueError: text`. Otherwise "". */
  const char *(*exception_type)(const ptc_session *session);
  /* Which of the manifest's `variants` the result of the last run is. */
  int32_t (*variant)(const ptc_session *session);
  /* Where the model's prints, log records and warnings go, in order; NULL: standard output, the others to
   * standard error. */
  void (*set_emit)(ptc_session *session, ptc_emit emit, void *user);
  /* Buffers and numbers that runs changed get the values of a new session. */
  ptc_status (*reset)(ptc_session *session);
  /* Where the session has what runs change, for hosts that hold it themselves and set it before each run: the Python
   * numbers, 8 bytes each in the order of the model's attributes, and the weights' addresses in manifest order,
   * among them the session's own copies of buffers that runs write. */
  ptc_status (*state)(ptc_session *session, int64_t **numbers, void *const **weights);
  /* What the model draws from torch's own generator goes on as after `torch.manual_seed(seed)`. A new session begins
   * with the seed that torch had when the model was compiled. */
  ptc_status (*seed)(ptc_session *session, uint64_t seed);
  /* The tensors of a safetensors file in place of the model's weights, from any thread, also while sessions run: a run
   * that has begun ends with the weights that it began with, every later one reads the new ones. All parameters and
   * saved buffers must be in the file with the types and shapes that the model was built with, else nothing changes and
   * PTC_E_IO says why; other tensors in it are not looked at.
   * Buffers that a session has written keep their values until `reset`. Old weights are freed when no session that read
   * them is left that has not run again. The file must not be written to while the model is open; replace it. */
  ptc_status (*update_weights)(ptc_model *model, const char *path, char *message, size_t capacity);
  /* What the kernels were compiled for: `native`, `avx2`; in a library for several processors the version chosen. */
  const char *(*isa)(void);
} ptc_api;

#ifdef __cplusplus
}
#endif
#endif
