/* A host in C for sample_models/dynamic_model.py: both paths, what the model prints to standard output and
 * to a function of the host's. Prints the results behind each. */
#include <stdio.h>
#include <string.h>
#include "dynamic_model.h"

static void listen(void *user, int32_t channel, const char *label, const char *text, size_t length) {
  (void)label;
  printf("%s%d: %.*s", (const char *)user, (int)channel, (int)length, text);
}

int main(void) {
  char message[256];
  ptc_model *model;
  ptc_session *session;
  if (dynamic_model_open(NULL, &model, message, sizeof message)) return puts(message), 1;
  if (dynamic_model_session_new(model, &session)) return 2;
  for (int path = 0; path < 4; path++) {
    float x[10];
    int64_t shape[] = {10};
    DLTensor input, output;
    memset(&input, 0, sizeof input);
    memset(&output, 0, sizeof output);
    for (int i = 0; i < 10; i++) x[i] = (path % 2 ? -0.25f : 0.5f) * (float)(i + 1);
    input.data = x;
    input.device.device_type = 1;
    input.ndim = 1;
    input.dtype.code = 2;
    input.dtype.bits = 32;
    input.dtype.lanes = 1;
    input.shape = shape;
    if (path == 2) dynamic_model_set_emit(session, listen, (void *)"channel ");
    if (dynamic_model_forward(session, &input, &output)) return puts(dynamic_model_last_error(session)), 3;
    for (int i = 0; i < 10; i++) printf("%.9g ", ((float *)output.data)[i]);
    printf("\n");
    dynamic_model_release(session, &output);
  }
  dynamic_model_session_free(session);
  dynamic_model_close(model);
  return 0;
}
