"""Classifies images with the sample model, in Python without torch: NumPy and ctypes do.

  $ ptc compile sample_models/mlp.py -o .
  $ python classify.py libmlp.so images.f32

images.f32 holds 8 images of 28 x 28 floats, one after the other. torch need not be installed.
"""

import sys

import numpy as np

import ptc


def main() -> int:
    if len(sys.argv) != 3:
        print(f"usage: {sys.argv[0]} libmlp.so images.f32", file=sys.stderr)
        return 2
    images = np.fromfile(sys.argv[2], np.float32).reshape(8, 1, 28, 28)
    model = ptc.load(sys.argv[1])
    scores = model(images)
    for number, row in enumerate(scores):
        print(f"image {number}: class {row.argmax()}, score {row.max():.4f}")
    assert "torch" not in sys.modules
    return 0


if __name__ == "__main__":
    sys.exit(main())
