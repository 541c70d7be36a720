"""What torch's function transforms do around the levels that they enter, in Python. Only ever
traced.

The rest of `torch._functorch` (structures of arguments and results, Jacobians, what is refused) is
traced as torch has it.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import Any

import torch
import torch.utils._pytree as pytree
from torch._functorch import eager_transforms as torch_transforms

from ptc.graph import transforms


def differentiable(inputs: Any, level: Any = None) -> Any:
    """The tensors of a structure as what is differentiated by."""
    return pytree.tree_map(_differentiable, inputs)


def _differentiable(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        raise ValueError(f"Thing passed to transform API must be Tensor, got {type(value)}")
    return transforms.differentiable(value)


def gradients(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool = False,
    create_graph: bool = True,
) -> Any:
    """The derivatives of the outputs that have any; zeros by what nothing depends on."""
    given = [None] * len(outputs) if grad_outputs is None else list(grad_outputs)
    pairs = [
        (output, weight)
        for output, weight in zip(outputs, given, strict=False)
        if output.requires_grad
    ]
    if not pairs:
        return tuple([torch.zeros_like(value) for value in inputs])
    found = torch.autograd.grad(
        [output for output, _ in pairs],
        inputs,
        None if grad_outputs is None else [weight for _, weight in pairs],
        retain_graph=retain_graph,
        create_graph=create_graph,
        allow_unused=True,
    )
    return tuple(
        [
            torch.zeros_like(value) if gradient is None else gradient
            for value, gradient in zip(inputs, found, strict=True)
        ]
    )


def tangents(
    func: Any,
    primals: Any,
    tangents: Any,
    argnums: Any,
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> Any:
    """`func(*primals)` and its derivative in the direction `tangents`, by the arguments that
    `argnums` says, or by all. What a cotangent is pulled back to is linear in it: the derivative
    of that, pulled back, is the pushed tangent. Torch's own forward rules are partly TorchScript,
    which does not run on fake tensors."""
    values, directions, structure = _directions(primals, tangents, argnums)
    result_structure: Any = None
    movable: Any = None

    def flat(*flat_values: Any) -> Any:
        nonlocal result_structure, movable
        given = pytree.tree_unflatten(list(flat_values), structure)
        if argnums is not None:
            given = torch_transforms._replace_args(primals, given, argnums)
        result = func(*given)
        aux: Any = ()
        if has_aux:
            result, aux = _with_aux(result)
        results, result_structure = pytree.tree_flatten(result)
        torch_transforms.assert_non_empty_tensor_output(results, torch_transforms.jvp_str)
        movable = [one.is_floating_point() and one.requires_grad for one in results]
        if strict and not all(movable):
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of "
                "the inputs. This is not allowed with strict=True."
            )
        moving = tuple([one for one, moves in zip(results, movable, strict=True) if moves])
        return moving or (values[0].new_zeros(()),), (tuple(results), aux)

    pulled: Any = torch_transforms._vjp_with_argnums(flat, *values, has_aux=True)
    moving, pull, (results, aux) = pulled
    pushed: Any = torch_transforms._vjp_with_argnums(pull, tuple(map(torch.zeros_like, moving)))
    (rest,) = pushed[1](tuple(directions))
    rest = list(rest)
    derivatives = [
        rest.pop(0) if moves else torch.zeros_like(one)
        for one, moves in zip(results, movable, strict=True)
    ]
    found = (
        pytree.tree_unflatten(list(results), result_structure),
        pytree.tree_unflatten(derivatives, result_structure),
    )
    return (*found, aux) if has_aux else found


def _directions(primals: Any, tangents: Any, argnums: Any) -> tuple[Any, Any, Any]:
    """What is differentiated by, the direction of each, and their structure."""
    api = torch_transforms.jvp_str
    if not isinstance(primals, tuple):
        raise RuntimeError(
            f"{api}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    chosen = primals if argnums is None else torch_transforms._slice_argnums(primals, argnums)
    values, structure = pytree.tree_flatten(chosen)
    directions, given_structure = pytree.tree_flatten(tangents)
    if structure != given_structure:
        raise RuntimeError(f"{api}: Expected primals and tangents to have the same structure")
    torch_transforms.assert_non_empty_list_of_tensors(values, api, "primals")
    torch_transforms.assert_non_empty_list_of_tensors(directions, api, "tangents")
    return values, directions, structure


def _with_aux(result: Any) -> Any:
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(
            f"{torch_transforms.jvp_str}: output of function f should be a tuple: (output, aux) "
            "if has_aux is True"
        )
    return result
