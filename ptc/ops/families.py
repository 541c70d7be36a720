"""The operator families: every module that registers rules, by name, in the order they load.

A new family is a new line here. Nothing is imported by this file; `registry` loads the modules on
its first query, so that rules may import the registry.
"""

FAMILIES: tuple[str, ...] = (
    "ptc.ops.pointwise_arith",
    "ptc.ops.pointwise_math",
    "ptc.ops.activation",
    "ptc.ops.compare_logic",
    "ptc.ops.cast_copy",
    "ptc.ops.creation",
    "ptc.ops.views",
    "ptc.ops.slicing",
    "ptc.ops.windows",
    "ptc.ops.concat",
    "ptc.ops.reduce",
    "ptc.ops.statistics",
    "ptc.ops.softmax",
    "ptc.ops.norm",
    "ptc.ops.matmul",
    "ptc.ops.linalg",
    "ptc.ops.spectral",
    "ptc.ops.attention",
    "ptc.ops.conv",
    "ptc.ops.pool",
    "ptc.ops.pad",
    "ptc.ops.gather",
    "ptc.ops.scatter",
    "ptc.ops.embedding_bag",
    "ptc.ops.scan",
    "ptc.ops.sort",
    "ptc.ops.upsample",
    "ptc.ops.antialias",
    "ptc.ops.rnn",
    "ptc.ops.grid",
    "ptc.ops.distance",
    "ptc.ops.losses",
    "ptc.ops.random",
    "ptc.ops.refusals",
)
