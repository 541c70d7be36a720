/* A host in C for sample_models/policy.py: two sessions of one model, library-owned outputs, and the
 * message for a wrong shape. Prints the means, then that message. */
#include <stdio.h>
#include <string.h>
#include "policy.h"

static DLTensor tensor(void *data, int32_t rank, int64_t *shape) {
  DLTensor t;
  memset(&t, 0, sizeof t);
  t.data = data;
  t.device.device_type = 1;
  t.ndim = rank;
  t.dtype.code = 2;
  t.dtype.bits = 32;
  t.dtype.lanes = 1;
  t.shape = shape;
  return t;
}

int main(void) {
  char message[256];
  ptc_model *model;
  ptc_session *first, *second;
  if (policy_open(NULL, &model, message, sizeof message)) return puts(message), 1;
  if (policy_session_new(model, &first) || policy_session_new(model, &second)) return 2;

  float x[4 * 24], mean[4 * 6], wrong[4 * 23];
  for (int i = 0; i < 4 * 24; i++) x[i] = (float)(i % 7) / 7 - 0.5f;
  int64_t in_shape[] = {4, 24}, out_shape[] = {4, 6}, wrong_shape[] = {4, 23};
  DLTensor observation = tensor(x, 2, in_shape), own = tensor(mean, 2, out_shape);
  DLTensor theirs[3];
  memset(theirs, 0, sizeof theirs);
  /* One output into our memory, two from the library. */
  if (policy_forward(first, &observation, &own, &theirs[1], &theirs[2])) {
    puts(policy_last_error(first));
    return 3;
  }
  /* The other session gives the same, all from the library. */
  DLTensor again[3];
  memset(again, 0, sizeof again);
  if (policy_forward(second, &observation, &again[0], &again[1], &again[2])) return 4;
  if (again[0].ndim != 2 || again[0].shape[1] != 6) return 5;
  if (memcmp(again[0].data, mean, sizeof mean)) return 6;
  for (int i = 0; i < 4 * 6; i++) printf("%.9g\n", mean[i]);
  DLTensor bad = tensor(wrong, 2, wrong_shape);
  memset(wrong, 0, sizeof wrong);
  if (policy_forward(first, &bad, &own, &theirs[1], &theirs[2]) != PTC_E_SHAPE) return 7;
  puts(policy_last_error(first));
  for (int i = 0; i < 3; i++) policy_release(second, &again[i]);
  policy_session_free(first);
  policy_session_free(second);
  policy_close(model);
  return 0;
}
