/* Classifies images with the sample model, in C.
 *
 *   $ ptc compile sample_models/mlp.py -o .
 *   $ cc -O2 -Wall classify.c -L. -lmlp -Wl,-rpath,'$ORIGIN' -o classify_c
 *   $ ./classify_c images.f32
 *
 * images.f32 holds 8 images of 28 x 28 floats, one after the other.
 */
#include <stdio.h>

#include "mlp.h"

enum { IMAGES = 8, PIXELS = 28 * 28, CLASSES = 10 };

int main(int count, char **arguments) {
  static float images[IMAGES * PIXELS], scores[IMAGES * CLASSES];
  FILE *file = count == 2 ? fopen(arguments[1], "rb") : NULL;
  if (!file || fread(images, sizeof(float), IMAGES * PIXELS, file) != IMAGES * PIXELS) {
    fprintf(stderr, "usage: %s images.f32\n", arguments[0]);
    return 2;
  }
  fclose(file);

  ptc_model *model;
  ptc_session *session;
  char message[256];
  if (mlp_open(NULL, &model, message, sizeof message)) {
    fprintf(stderr, "%s\n", message);
    return 1;
  }
  if (mlp_session_new(model, &session)) return 1;

  int64_t image_shape[] = {IMAGES, 1, 28, 28}, score_shape[] = {IMAGES, CLASSES};
  DLTensor input = {images, {1, 0}, 4, {2, 32, 1}, image_shape, NULL, 0};
  DLTensor output = {scores, {1, 0}, 2, {2, 32, 1}, score_shape, NULL, 0};
  if (mlp_forward(session, &input, &output)) {
    fprintf(stderr, "%s\n", mlp_last_error(session));
    return 1;
  }
  for (int i = 0; i < IMAGES; ++i) {
    int best = 0;
    for (int k = 1; k < CLASSES; ++k)
      if (scores[i * CLASSES + k] > scores[i * CLASSES + best]) best = k;
    printf("image %d: class %d, score %.4f\n", i, best, scores[i * CLASSES + best]);
  }
  mlp_session_free(session);
  mlp_close(model);
  return 0;
}
