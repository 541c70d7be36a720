"""What torch's control-flow operators compute, in Python. Only ever traced."""

from __future__ import annotations

from typing import Any

import torch
import torch.utils._pytree as pytree


def cond(pred: Any, true_fn: Any, false_fn: Any, operands: Any = ()) -> Any:
    if pred:
        return true_fn(*operands)
    return false_fn(*operands)


def while_loop(cond_fn: Any, body_fn: Any, carried_inputs: Any) -> Any:
    carried = tuple(carried_inputs)
    while cond_fn(*carried):
        carried = tuple(body_fn(*carried))
    return carried


def scan(combine_fn: Any, init: Any, xs: Any, *, dim: int = 0, reverse: bool = False) -> Any:
    """The last carry, and what each step gives, stacked along the first dimension."""
    leaves, structure = pytree.tree_flatten(xs)
    if not leaves:
        return init, []
    carry = init
    outputs: list[list[Any]] = []
    given_structure: Any = None
    length = leaves[0].shape[dim]
    for step in range(length):
        at = length - 1 - step if reverse else step
        one = pytree.tree_unflatten([leaf.select(dim, at) for leaf in leaves], structure)
        carry, given = combine_fn(carry, one)
        parts, given_structure = pytree.tree_flatten(given)
        outputs.append(parts)
    if reverse:
        outputs.reverse()
    stacked = [torch.stack(list(parts)) for parts in zip(*outputs, strict=True)]
    return carry, pytree.tree_unflatten(stacked, given_structure)


def map_rows(f: Any, xs: Any, *args: Any) -> Any:
    """`f` of each row, stacked."""
    leaves, structure = pytree.tree_flatten(xs)
    outputs: list[list[Any]] = []
    given_structure: Any = None
    for row in range(leaves[0].shape[0]):
        one = pytree.tree_unflatten([leaf[row] for leaf in leaves], structure)
        parts, given_structure = pytree.tree_flatten(f(one, *args))
        outputs.append(parts)
    stacked = [torch.stack(list(parts)) for parts in zip(*outputs, strict=True)]
    return pytree.tree_unflatten(stacked, given_structure)
