/* The executor of the portable IR, C interface, version 1.
 *
 * A model is opened from a `.ptir` file and run by `ptc_api`'s functions (ptc_abi.h): the same calls, tensors and status
 * codes as of a compiled library. Everything is re-entrant: a model is immutable and may be shared by threads, a
 * session belongs to one thread at a time. No function exits or throws; nothing but libc and libm is needed.
 *
 *     ptc_model *model;
 *     char message[512];
 *     if (ptc_exec_open("model.ptir", NULL, &model, message, sizeof message)) ...
 *     const ptc_api *api = ptc_exec_api();
 *     api->session_new(model, &session);
 *     api->run(session, 0, inputs, 1, outputs, 1);
 */
#ifndef PTC_EXEC_H
#define PTC_EXEC_H

#include "ptc_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PTC_EXEC_EXPORT __attribute__((visibility("default")))
#else
#define PTC_EXEC_EXPORT
#endif

typedef struct {
  uint32_t struct_size;   /* sizeof(ptc_exec_options) */
  int32_t threads;        /* 0: one a core, 1: none but the caller's */
  uint64_t memory_limit;  /* bytes of tensors that a session may hold at once; 0: no limit of ours */
  int32_t verify;         /* 1: compare weights with their hash whatever their size, not only up to 4 MiB */
} ptc_exec_options;

/* A status of `open` besides those of ptc_abi.h: the file is sound as far as it was read, and has an operator or
 * statement that this executor does not know. */
#define PTC_EXEC_E_UNSUPPORTED 15

/* Open a file. `options` may be NULL. */
PTC_EXEC_EXPORT ptc_status ptc_exec_open(const char *path, const ptc_exec_options *options, ptc_model **model,
                                         char *message, size_t capacity);
/* Open a file that lies in memory, which stays as it is until `close`. */
PTC_EXEC_EXPORT ptc_status ptc_exec_open_memory(const void *data, size_t size, const ptc_exec_options *options,
                                                ptc_model **model, char *message, size_t capacity);
/* What runs, frees and asks: ptc_abi.h. There is one entry, number 0. `open` takes the path of a `.ptir` file as
 * `weights_path`; `manifest` gives "" since there may be several models: see ptc_exec_manifest. */
PTC_EXEC_EXPORT const ptc_api *ptc_exec_api(void);
/* Texts of a model, which live as long as it does: the file's manifest; inputs, outputs and sizes as JSON; the program as
 * the printer writes it. NULL where memory is short. */
PTC_EXEC_EXPORT const char *ptc_exec_manifest(const ptc_model *model);
PTC_EXEC_EXPORT const char *ptc_exec_description(ptc_model *model);
PTC_EXEC_EXPORT const char *ptc_exec_text(ptc_model *model);
/* The names of all operators, sorted, one a line. */
PTC_EXEC_EXPORT const char *ptc_exec_operators(void);

#ifdef __cplusplus
}
#endif
#endif
