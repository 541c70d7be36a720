"""ONNX rules of recurrent networks: torch's layers as ONNX operators, weights put in ONNX's
order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ptc.loops.nodes import DType
from ptc.ops.onnx_elementwise import compute_type
from ptc.ops.onnx_protocol import OnnxBuilder, OnnxTensor
from ptc.ops.onnx_registry import onnx
from ptc.ops.onnx_views import axes, slice_
from ptc.support.diagnostics import CompileError

ptc = torch.ops.ptc

#: Where ONNX's gates come from in torch's order. LSTM: torch i f g o, ONNX i o f c; GRU: torch r z
#: n, ONNX z r h.
_GATES = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2), "RNN": (0,)}


class _Network:
    """One stack of layers. The sequence comes first inside, as ONNX wants it."""

    def __init__(
        self, b: OnnxBuilder, kind: str, x: OnnxTensor, states: Sequence[OnnxTensor],
        weights: Sequence[OnnxTensor], has_biases: bool, layers: int, both_ways: bool,
        batch_first: bool, attributes: dict[str, Any],
    ) -> None:  # fmt: skip
        self.b = b
        self.kind = kind
        self.wide = compute_type(x.dtype)
        self.x = x
        self.states = [b.cast(state, self.wide) for state in states]
        self.weights = weights
        self.has_biases = has_biases
        self.layers = layers
        self.ways = 2 if both_ways else 1
        self.batch_first = batch_first
        self.attributes = attributes
        self.hidden = states[0].dims[-1]
        projected = len(states) == 2 and states[1].dims[-1] != self.hidden
        if projected and self.hidden.constant is not None:
            raise CompileError("PTC-E021", "ONNX has no LSTM with a projection (`proj_size`)")

    def results(self) -> tuple[OnnxTensor, ...]:
        b = self.b
        value = b.cast(self.x, self.wide)
        if self.batch_first:
            value = b.op("Transpose", value, perm=[1, 0, 2])
        finals: list[list[OnnxTensor]] = [[] for _ in self.states]
        for layer in range(self.layers):
            value, last = self._layer(value, layer)
            for kept, state in zip(finals, last, strict=True):
                kept.append(state)
        if self.batch_first:
            value = b.op("Transpose", value, perm=[1, 0, 2])
        joined = [kept[0] if len(kept) == 1 else b.op("Concat", *kept, axis=0) for kept in finals]
        return tuple(b.cast(t, self.x.dtype) for t in (value, *joined))

    def _layer(self, value: OnnxTensor, layer: int) -> tuple[OnnxTensor, list[OnnxTensor]]:
        b = self.b
        per_way = 4 if self.has_biases else 2
        start = layer * self.ways * per_way
        groups = [
            self.weights[start + way * per_way : start + (way + 1) * per_way]
            for way in range(self.ways)
        ]
        inputs: list[OnnxTensor | None] = [value]
        inputs.append(self._stacked([group[0] for group in groups]))
        inputs.append(self._stacked([group[1] for group in groups]))
        inputs.append(self._biases(groups) if self.has_biases else None)
        first = layer * self.ways
        initial = [slice_(b, state, 0, first, first + self.ways) for state in self.states]
        inputs.extend([None, *initial])
        results = b.ops(
            self.kind, *inputs, dtypes=[self.wide] * (1 + len(self.states)),
            hidden_size=self.hidden.constant,
            direction="bidirectional" if self.ways == 2 else "forward",
            **self.attributes,
        )  # fmt: skip
        # (length, ways, batch, hidden) -> (length, batch, ways * hidden)
        flat = b.op("Transpose", results[0], perm=[0, 2, 1, 3])
        output = b.op("Reshape", flat, b.constant([0, 0, -1], DType.I64))
        return output, list(results[1:])

    def _reordered(self, weight: OnnxTensor) -> OnnxTensor:
        """The gates of one matrix or bias in ONNX's order."""
        b, gates = self.b, _GATES[self.kind]
        value = b.cast(weight, self.wide)
        if len(gates) == 1:
            return value
        parts = [
            slice_(b, value, 0, self.hidden * gate, self.hidden * (gate + 1)) for gate in gates
        ]
        return b.op("Concat", *parts, axis=0)

    def _stacked(self, weights: Sequence[OnnxTensor]) -> OnnxTensor:
        b = self.b
        parts = [b.op("Unsqueeze", self._reordered(w), axes(b, [0])) for w in weights]
        return parts[0] if len(parts) == 1 else b.op("Concat", *parts, axis=0)

    def _biases(self, groups: Sequence[Sequence[OnnxTensor]]) -> OnnxTensor:
        b = self.b
        both = [self._stacked([group[place] for group in groups]) for place in (2, 3)]
        return b.op("Concat", *both, axis=1)


@onnx(ptc.lstm.default)
def lstm(
    b: OnnxBuilder, x: OnnxTensor, h0: OnnxTensor, c0: OnnxTensor, weights: Sequence[OnnxTensor],
    has_biases: bool, layers: int, both_ways: bool, batch_first: bool,
) -> Any:  # fmt: skip
    network = _Network(b, "LSTM", x, (h0, c0), weights, has_biases, layers, both_ways,
                       batch_first, {})  # fmt: skip
    return network.results()


@onnx(ptc.gru.default)
def gru(
    b: OnnxBuilder, x: OnnxTensor, h0: OnnxTensor, weights: Sequence[OnnxTensor],
    has_biases: bool, layers: int, both_ways: bool, batch_first: bool,
) -> Any:  # fmt: skip
    options = {"linear_before_reset": 1}
    network = _Network(b, "GRU", x, (h0,), weights, has_biases, layers, both_ways,
                       batch_first, options)  # fmt: skip
    return network.results()


@onnx(ptc.rnn.default)
def rnn(
    b: OnnxBuilder, x: OnnxTensor, h0: OnnxTensor, weights: Sequence[OnnxTensor],
    nonlinearity: str, has_biases: bool, layers: int, both_ways: bool, batch_first: bool,
) -> Any:  # fmt: skip
    options = {"activations": [nonlinearity.capitalize()] * (2 if both_ways else 1)}
    network = _Network(b, "RNN", x, (h0,), weights, has_biases, layers, both_ways,
                       batch_first, options)  # fmt: skip
    return network.results()
