"""Programs with control flow, made by hand, each beside the Python that it stands for.

`SAMPLES` has them by name. `eager(inputs, state, emit)` is written as a user would write the model:
it works on the same tensors in the same order, so that results, writes to inputs, state, texts and
exceptions of a compiled form can be compared with it.
"""

from tests.graph.control_samples import branches, data, effects
from tests.graph.control_samples.registry import SAMPLES, Inputs

# Imported for what they register
_MODULES = (branches, data, effects)

__all__ = ["SAMPLES", "Inputs"]
