"""Random numbers: generators that the program makes, and what is drawn from them."""

from __future__ import annotations

import random
from typing import Any

import torch
import torch.nn.functional as F

from ptc.capture.errors import GraphBreak
from ptc.capture.interpreter.calls import FALLBACKS, builtin
from ptc.capture.interpreter.wrapping import wrap_instance, wraps_subclasses
from ptc.capture.polyfills import random_numbers
from ptc.capture.sources import AttributeSource, Source, fixed
from ptc.capture.torch_functions import METHOD_HANDLERS
from ptc.capture.torch_machine import TorchMachine
from ptc.capture.torch_wrapping import input_kind
from ptc.capture.values.base import Value
from ptc.capture.values.callables import FunctionValue
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.torch_generator import TorchGeneratorValue
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph import random_operators
from ptc.graph.program import InputKind

_HINT = "draw it outside of the model, and pass it in"
_SEED = "seed it with manual_seed(seed)"
_OWN = AttributeSource(fixed(torch, "torch", guarded=False), "default_generator")


def _trace(
    vm: TorchMachine, function: Any, args: list[Value], kwargs: dict[str, Value] | None = None
) -> Value:
    value = vm.wrap_fixed(function)
    assert isinstance(value, FunctionValue)
    return vm.trace_function(value, args, kwargs or {})


@builtin(random_numbers.require)
def _require(vm: TorchMachine, condition: Value, what: Value) -> Value:
    if not (condition.is_constant() and condition.constant()):
        raise GraphBreak("PTC-B004", f"{what.constant()} are drawn", _HINT)
    return ConstantValue(None)


# -- generators -----------------------------------------------------------------------------------


@builtin(torch.Generator)
def _make(vm: TorchMachine, device: Value | None = None) -> Value:
    given = torch.device("cpu") if device is None else torch.device(device.constant())
    if given.type != "cpu":
        raise GraphBreak("PTC-B004", f"a generator on {given} is made", "make one on the CPU")
    seed = torch.Generator().initial_seed()
    state = _trace(vm, random_numbers.seeded, [ConstantValue(seed)])
    assert isinstance(state, TensorValue)
    made = TorchGeneratorValue(state)
    made.set_seed(vm, ConstantValue(seed))
    return made


@wraps_subclasses(torch.Generator)
def _wrap(vm: TorchMachine, obj: torch.Generator, source: Source) -> Value:
    """A generator that was there before the call: a library keeps its state from call to call."""
    is_given = input_kind(torch.empty(0), source) is InputKind.USER
    if not vm.owns_generators or is_given or obj.device.type != "cpu":
        return wrap_instance(vm, obj, source)
    mirror = random_operators.mirror_of(obj)
    fake = vm.fakes.fake(mirror, {})
    state = TensorValue(fake, None, source, InputKind.CONSTANT, mirror)
    vm.remember(state)
    return TorchGeneratorValue(state, source, obj)


def _own(vm: TorchMachine) -> Value:
    """The generator that torch draws from where it is given none."""
    return vm.wrap(torch.default_generator, _OWN)


def _generator(value: Value) -> TorchGeneratorValue:
    if not isinstance(value, TorchGeneratorValue):
        raise GraphBreak(
            "PTC-B004",
            f"{value.describe()} is used, which was made outside of the program",
            "make the generator in the model: torch.Generator().manual_seed(seed)",
        )
    return value


@builtin(torch.Generator.manual_seed)
def _manual_seed(vm: TorchMachine, generator: Value, seed: Value) -> Value:
    if seed.cls is not int:
        kind = seed.cls.__name__
        raise vm.exception(RuntimeError, f"manual_seed expected a long, but got {kind}")
    if seed.is_constant():
        # The lower 32 bits count; negative seeds are those of the same 64 bits
        number = seed.constant()
        if not -(2**63) <= number < 2**64:
            raise vm.exception(ValueError, "Overflow when unpacking long long")
        seed = ConstantValue(number % 2**64)
        lower: Value = ConstantValue(number % 2**32)
    else:
        lower = seed
    found = _generator(generator)
    _trace(vm, random_numbers.seed, [found.state, lower])
    found.set_seed(vm, seed)
    return found


@builtin(torch.Generator.initial_seed)
def _initial_seed(vm: TorchMachine, generator: Value) -> Value:
    seed = _generator(generator).seed
    if seed is None or not seed.is_constant():
        raise GraphBreak("PTC-B004", "initial_seed() is called for a seed that is not known", _SEED)
    return seed


@builtin(torch.manual_seed, passes_on=True)
def _seed_own(vm: TorchMachine, seed: Value) -> Value:
    if not vm.owns_generators:
        return _trace(vm, torch.manual_seed, [seed])
    return _manual_seed(vm, _own(vm), vm.call(vm.class_value(int), [seed]))


def _unknown(name: str) -> None:
    def handler(vm: TorchMachine, generator: Value, *args: Value) -> Value:
        raise GraphBreak("PTC-B004", f"torch.Generator.{name}() is called", _SEED)

    builtin(getattr(torch.Generator, name))(handler)


for _name in ("seed", "get_state", "set_state"):
    _unknown(_name)


# -- draws ----------------------------------------------------------------------------------------


def _draw(function: Any, polyfill: Any) -> Any:
    """A function of torch: traced as `polyfill` where it draws from a generator of the program."""

    def handler(vm: TorchMachine, *args: Value, **kwargs: Value) -> Value:
        given, kwargs = vm.settle_arguments(list(args), kwargs)
        if _is_default(kwargs.get("generator")):
            if not vm.owns_generators:
                return vm.torch_call("call_function", function, given, kwargs)
            kwargs = {**kwargs, "generator": _own(vm)}
        return _drawn(vm, polyfill, given, kwargs)

    return handler


def _draw_method(polyfill: Any) -> Any:
    """The same for a method of tensors; None where torch's own generator is meant."""

    def handler(vm: TorchMachine, *args: Value, **kwargs: Value) -> Value | None:
        given, kwargs = vm.settle_arguments(list(args), kwargs)
        if _is_default(kwargs.get("generator")):
            if not vm.owns_generators:
                return None
            kwargs = {**kwargs, "generator": _own(vm)}
        return _drawn(vm, polyfill, given, kwargs)

    return handler


def _is_default(generator: Value | None) -> bool:
    return generator is None or generator.cls is type(None)


def _drawn(vm: TorchMachine, polyfill: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    name = getattr(polyfill, "__name__", "")
    if "out" in kwargs:
        raise GraphBreak("PTC-B004", f"{name} draws into out=", "assign the result")
    state = _generator(kwargs["generator"]).state
    return _trace(vm, polyfill, args, {**kwargs, "generator": state})


def _refused(name: str) -> Any:
    def handler(vm: TorchMachine, *args: Value, **kwargs: Value) -> Value | None:
        if _is_default(kwargs.get("generator")):
            return None
        raise GraphBreak("PTC-B004", f"Tensor.{name}() draws from a generator", _HINT)

    return handler


def _without_generator(function: Any, polyfill: Any) -> Any:
    """A function that draws from torch's own generator only."""

    def handler(vm: TorchMachine, *args: Value, **kwargs: Value) -> Value:
        if not vm.owns_generators:
            return vm.torch_call("call_function", function, list(args), kwargs)
        return _trace(vm, polyfill, list(args), {**kwargs, "generator": _generator(_own(vm)).state})

    return handler


for _function, _polyfill in (
    (torch.rand, random_numbers.rand), (torch.randn, random_numbers.randn),
    (torch.rand_like, random_numbers.rand_like), (torch.randn_like, random_numbers.randn_like),
    (torch.randint, random_numbers.randint), (torch.randperm, random_numbers.randperm),
    (torch.normal, random_numbers.normal), (torch.bernoulli, random_numbers.bernoulli),
    (torch.multinomial, random_numbers.multinomial),
):  # fmt: skip
    builtin(_function, passes_on=True)(_draw(_function, _polyfill))

for _polyfill in (
    random_numbers.uniform_, random_numbers.normal_, random_numbers.exponential_,
    random_numbers.bernoulli_, random_numbers.random_, random_numbers.bernoulli,
    random_numbers.multinomial,
):  # fmt: skip
    METHOD_HANDLERS[_polyfill.__name__] = _draw_method(_polyfill)
for _name in ("cauchy_", "geometric_", "log_normal_"):
    METHOD_HANDLERS[_name] = _refused(_name)


@builtin(F.dropout, passes_on=True)
def _dropout(
    vm: TorchMachine,
    input: Value,
    p: Value | None = None,
    training: Value | None = None,
    inplace: Value | None = None,
) -> Value:
    """Outside of training it gives its argument itself, which fake tensors with symbolic sizes
    would copy."""
    (input,), named = vm.settle_arguments(
        [input],
        {
            "p": ConstantValue(0.5) if p is None else p,
            "training": ConstantValue(True) if training is None else training,
            "inplace": ConstantValue(False) if inplace is None else inplace,
        },
    )
    chance = named["p"].constant() if named["p"].is_constant() else 0.5
    on = not named["training"].is_constant() or named["training"].constant()
    if isinstance(input, TensorValue) and not on and 0 <= chance <= 1:
        return input
    if not vm.owns_generators or not named["training"].is_constant():
        return vm.torch_call("call_function", F.dropout, [input], named)
    del named["training"]
    return _trace(
        vm, random_numbers.dropout, [input], {**named, "generator": _generator(_own(vm)).state}
    )


builtin(F.gumbel_softmax, passes_on=True)(
    _without_generator(F.gumbel_softmax, random_numbers.gumbel_softmax)
)


# -- generators that are not torch's --------------------------------------------------------------


def _of_pythons(
    vm: TorchMachine, function: Any, args: list[Value], kwargs: dict[str, Value]
) -> Value | None:
    """Python's random numbers, said clearly."""
    owner = function if isinstance(function, type) else getattr(function, "__objclass__", None)
    of_class = isinstance(owner, type) and owner is not object and issubclass(random.Random, owner)
    if not of_class and not isinstance(getattr(function, "__self__", None), random.Random):
        return None
    raise GraphBreak(
        "PTC-B004",
        "random numbers are drawn from a generator that is not torch's",
        "draw from torch.Generator().manual_seed(seed) with torch.rand, torch.randint or "
        "torch.randperm, or before the model",
    )


FALLBACKS.insert(0, _of_pythons)
