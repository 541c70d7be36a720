// Classifies images with the sample model, in C++ with ptc.hpp, which is in the package's folder runtime.
//
//   $ ptc compile sample_models/mlp.py -o .
//   $ cp "$(python -c 'import ptc.runtime; print(ptc.runtime.__path__[0])')"/ptc.hpp .
//   $ c++ -std=c++17 -O2 -Wall classify.cpp -L. -lmlp -Wl,-rpath,'$ORIGIN' -o classify_cpp
//   $ ./classify_cpp images.f32
//
// images.f32 holds 8 images of 28 x 28 floats, one after the other.
#include <algorithm>
#include <cstdio>
#include <fstream>

#include "mlp.h"
#include "ptc.hpp"

int main(int count, char** arguments) {
  ptc::Array<float> images({8, 1, 28, 28});
  std::ifstream file(count == 2 ? arguments[1] : "", std::ios::binary);
  if (!file.read((char*)images.data(), (std::streamsize)(images.size() * sizeof(float)))) {
    std::fprintf(stderr, "usage: %s images.f32\n", arguments[0]);
    return 2;
  }
  try {
    ptc::Model model(mlp_ptc_api());
    ptc::Session session(model);
    const std::vector<ptc::Result> results = session.run("forward", {images});
    const int64_t classes = results[0].shape()[1];
    const float* scores = results[0].data<float>();
    for (int i = 0; i < 8; ++i, scores += classes) {
      const float* best = std::max_element(scores, scores + classes);
      std::printf("image %d: class %d, score %.4f\n", i, (int)(best - scores), *best);
    }
  } catch (const ptc::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
