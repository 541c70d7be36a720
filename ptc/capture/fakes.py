"""Fake tensors and symbolic sizes. The only module of capture that knows torch's private names for
them: `FakeTensorMode`, `ShapeEnv`, `SymNode`.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import MappingProxyType
from typing import Any

import sympy
import torch
import torch._guards
from sympy.logic.boolalg import Boolean
from torch._dispatch.python import enable_python_dispatcher
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    UnsupportedOperatorException,
)
from torch.fx.experimental.symbolic_shapes import (
    DimDynamic,
    GuardOnDataDependentSymNode,
    StrictMinMaxConstraint,
    statically_known_true,
)
from torch.utils._pytree import tree_leaves
from torch.utils._sympy.value_ranges import ValueRanges

from ptc.capture.errors import GraphBreak
from ptc.capture.fake_calls import Asked, FakeCalls, Form
from ptc.capture.fake_forms import are_alike, joined, sliced, viewed
from ptc.capture.size_text import PythonText
from ptc.graph.program import DimRange
from ptc.graph.symbols import (
    SizeEnv,
    asks_for_layout,
    is_idle_question,
    is_layout_choice,
    is_remembered_question,
    relation_text,
)

DATA_DEPENDENT = (DataDependentOutputException, GuardOnDataDependentSymNode)
DYNAMIC_SHAPE = (DynamicOutputShapeException,)
UNSUPPORTED = (UnsupportedOperatorException,)
#: What torch says where it wants the numbers in a fake tensor.
WANTS_MEMORY = "its data is not allocated yet"
_LARGEST = 2**31 - 1
#: Symbolic ints are computed with in 64 bits: what is larger stays a Python constant.
LARGEST_NUMBER = 2**60
_CHANNELS_LAST = {4: torch.channels_last, 5: torch.channels_last_3d}

#: In place of a dimension: the size is the value found at the source, an int.
VALUE = -1


def is_of_symbols(error: BaseException) -> bool:
    """Whether arithmetic on symbolic sizes raised it, which runs in capture only."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_globals.get("__name__", "").startswith("sympy.")


class _SizeSource(torch._guards.Source):
    """Names a size for torch's shape environment."""

    def __init__(self, text: str) -> None:
        object.__setattr__(self, "_text", text)

    @property
    def name(self) -> str:  # type: ignore[override]
        return self._text  # type: ignore[attr-defined]

    @property
    def guard_source(self) -> Any:  # type: ignore[override]
        return torch._guards.GuardSource.LOCAL

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _SizeSource) and self.name == other.name


class _AskingShapeEnv(SizeEnv):
    """Asks what it cannot know about numbers that come from data, instead of assuming that they are
    as their example: `ask` gives the truth of a condition, or leaves by an exception. It is told
    what torch would take for the truth if nobody knew, if torch goes on without. `known` gives the
    truth if the path decides it: also of what a layout depends on in one call, so that the answers
    to it agree. `value` does the same for numbers."""

    ask: Callable[[sympy.Basic, bool | None], bool]
    known: Callable[[sympy.Basic], bool | None]
    value: Callable[[sympy.Basic], int | None]
    data: set[sympy.Symbol]
    examples: dict[Any, Any]
    creating: bool = False  # a tensor of known shape: all questions are about its layout
    noted: Asked | None = None  # what was asked, while it is noted

    def answer(self, kind: str, expression: Any, fallback: bool | None = None) -> Any:
        """What the path says: the `truth` of a condition, what is `known` of it, or the `value` of
        a size."""
        if kind == "truth":
            found: Any = self.ask(expression, fallback)
        else:
            found = (self.known if kind == "known" else self.value)(expression)
        if self.noted is not None:
            self.noted.setdefault((kind, expression), found)
        return found

    def asked(self, run: Callable[[], Any]) -> tuple[Any, Asked]:
        """What `run` gives, and what was asked meanwhile."""
        outer, self.noted = self.noted, {}
        try:
            return run(), self.noted
        finally:
            self.noted = outer

    @contextmanager
    def creation(self) -> Iterator[None]:
        """While a tensor of known shape is made."""
        outer, self.creating = self.creating, True
        try:
            yield
        finally:
            self.creating = outer

    def evaluate_expr(self, orig_expr: sympy.Basic, *args: Any, **kwargs: Any) -> sympy.Basic:
        if self.data.isdisjoint(orig_expr.free_symbols) or is_idle_question(orig_expr):
            return super().evaluate_expr(orig_expr, *args, **kwargs)
        of_sign = isinstance(orig_expr, (sympy.Ge, sympy.Lt)) and orig_expr.rhs == 0
        fixed = self.creating or is_remembered_question()
        if fixed and not (self.creating and of_sign):
            # What holds for all sizes holds for the example, and is found much faster there
            return self._of_example(orig_expr)
        known = self._maybe_evaluate_static(orig_expr)
        if known is not None:
            return known
        if fixed:
            return sympy.true if isinstance(orig_expr, sympy.Ge) else sympy.false
        if asks_for_layout():
            holds = self.answer("known", orig_expr)
            if holds is not None:
                return sympy.true if holds else sympy.false
            return self._of_example(orig_expr)
        if orig_expr.is_Symbol or not isinstance(orig_expr, Boolean):
            return self._number(orig_expr)
        fallback = args[3] if len(args) > 3 else kwargs.get("fallback_value")
        return sympy.true if self.answer("truth", orig_expr, fallback) else sympy.false

    def _number(self, expr: sympy.Basic) -> sympy.Basic:
        """A size that torch wants as a number."""
        number = self.answer("value", expr)
        if number is None:
            raise GraphBreak(
                "PTC-B009",
                f"the size {expr} is used as a fixed number, which holds for one size only",
                "make the size static",
            )
        return sympy.Integer(number)

    def create_unbacked_symint(self, *args: Any, **kwargs: Any) -> torch.SymInt:
        """Torch makes up a size that no value of the program is."""
        raise DynamicOutputShapeException(None)  # type: ignore[arg-type]

    def _of_example(self, expr: sympy.Basic) -> sympy.Basic:
        examples = {symbol: self.examples[symbol] for symbol in expr.free_symbols}
        return sympy.sympify(expr.xreplace(examples))


class _AskingMode(FakeTensorMode):
    """Runs slices and views whose sizes data may decide by rules that ask for what they need."""

    def dispatch(
        self, func: Any, types: Sequence[type], args: Any = (), kwargs: Any = MappingProxyType({})
    ) -> object:
        if func is torch.ops.aten.slice.Tensor and _is_symbolic_slice(*args, **kwargs):
            return sliced(*args, **kwargs)
        if func in _VIEWS and _is_symbolic_view(*args):
            return viewed(*args)
        if func is torch.ops.aten.cat.default and _is_symbolic_join(*args):
            assert isinstance(self.shape_env, _AskingShapeEnv)
            with self.shape_env.creation():
                return joined(*args)
        if _has_symbolic_float(args, kwargs):
            with self._without_contents(func, args, kwargs):
                return super().dispatch(func, types, args, kwargs)
        return super().dispatch(func, types, args, kwargs)

    @contextmanager
    def _without_contents(self, func: Any, args: Any, kwargs: Any) -> Iterator[None]:
        """While torch computes with a number that data decides: it would want it as a number where
        it knows the contents of all tensors."""
        known = [
            (leaf, leaf.constant)
            for leaf in tree_leaves((args, kwargs))
            if isinstance(leaf, FakeTensor) and leaf.constant is not None
        ]
        writes = isinstance(func, torch._ops.OpOverload) and func._schema.is_mutable
        for fake, constant in known:
            if writes:
                self.fake_tensor_converter.invalidate_constant_aliases(constant)
            fake.constant = None
        try:
            yield
        finally:
            for fake, constant in known if not writes else ():
                fake.constant = constant


def _has_symbolic_float(args: Any, kwargs: Any) -> bool:
    kinds = (torch.SymFloat, torch.SymBool)
    return any(isinstance(value, kinds) for value in (*args, *kwargs.values()))


_VIEWS = (torch.ops.aten.view.default, torch.ops.aten._unsafe_view.default)


def _is_symbolic_view(x: Any, shape: Sequence[Any]) -> bool:
    numbers = (*x.shape, *shape)
    return isinstance(x, FakeTensor) and any(isinstance(n, torch.SymInt) for n in numbers)


def _is_symbolic_join(tensors: Sequence[Any], dim: int = 0) -> bool:
    return all(isinstance(x, FakeTensor) for x in tensors) and are_alike(tensors, dim)


def _is_symbolic_slice(x: Any, dim: int = 0, *bounds: Any, **named: Any) -> bool:
    numbers = (*x.shape, *bounds, *named.values())
    return isinstance(x, FakeTensor) and any(isinstance(n, torch.SymInt) for n in numbers)


class Fakes:
    """One fake tensor mode with its shape environment, and the symbolic sizes made in it.

    With `ask`, numbers from data can be made (`data_int`, `data_float`); it is called for
    conditions on them that are not known.
    """

    def __init__(self, ask: Callable[[sympy.Basic, bool | None], bool] | None = None) -> None:
        make, make_mode = SizeEnv, FakeTensorMode
        if ask is not None:
            make, make_mode = _AskingShapeEnv, _AskingMode
        self.shape_env = make(
            duck_shape=False, allow_scalar_outputs=False, allow_dynamic_output_shape_ops=False
        )
        if isinstance(self.shape_env, _AskingShapeEnv):
            self.shape_env.ask = ask  # type: ignore[assignment]
            self.shape_env.known = self.shape_env.value = lambda expression: None
            self.shape_env.data = set()
            self.shape_env.examples = {}
        self.data_dims: dict[str, DimRange] = {}
        self.symbols: dict[str, torch.SymInt] = {}  # of ints from data, by symbol
        self.mode = make_mode(shape_env=self.shape_env, static_shapes=True)
        if ask is not None:
            # What an operator gives depends on what the path knows of its sizes.
            self.mode.cache_enabled = False
        self._calls = FakeCalls(self) if ask is not None else None
        self.sizes: dict[str, torch.SymInt] = {}
        self.dims: dict[str, DimRange] = {}
        self.origins: dict[str, str] = {}

    def answer_from(
        self,
        known: Callable[[sympy.Basic], bool | None],
        value: Callable[[sympy.Basic], int | None],
    ) -> None:
        """Let these say what the path knows of numbers from data."""
        assert isinstance(self.shape_env, _AskingShapeEnv)
        self.shape_env.known, self.shape_env.value = known, value

    # -- tensors -------------------------------------------------------------------------------

    def fake(self, tensor: torch.Tensor, sizes: dict[int, torch.SymInt]) -> torch.Tensor:
        """The fake twin of a real tensor; `sizes` gives symbolic dimensions."""
        if not sizes:
            return self.mode.from_tensor(tensor, static_shapes=True)
        shape = [sizes.get(i, size) for i, size in enumerate(tensor.shape)]
        strides = _symbolic_strides(tensor, shape, sizes)
        with self._creating(), self.mode, torch.inference_mode(tensor.is_inference()):
            fake = torch.empty_strided(
                shape,  # type: ignore[arg-type]
                strides,
                dtype=tensor.dtype,
                device=tensor.device,
                requires_grad=tensor.requires_grad,
            )
        return fake

    # -- sizes ---------------------------------------------------------------------------------

    def size(
        self, name: str, hint: int, lower: int, upper: int | None, origin: str
    ) -> torch.SymInt:
        """The symbolic size called `name`, made on first use. `origin` is the size it is read from
        at a call. Torch's own rules treat sizes 0 and 1 apart, so its range starts at 2; whether
        the program holds for a smaller declared bound is checked on the conditions it tests
        itself."""
        known = self.sizes.get(name)
        if known is not None:
            return known
        most = _LARGEST if upper is None else upper
        if isinstance(self.shape_env, _AskingShapeEnv):
            made = self._data_int(origin, lower, most, hint)
            symbol = expression_of(made)
            self.sizes[name] = made
            self.dims[str(symbol)] = DimRange(name, lower, upper)
            self.origins[str(symbol)] = origin
            return made
        constraint = StrictMinMaxConstraint(
            vr=ValueRanges(min(max(lower, 2), most), most), warn_only=False
        )
        source = _SizeSource(origin)
        symbol = self.shape_env.create_symbol(
            max(hint, 2), source, dynamic_dim=DimDynamic.DYNAMIC, constraint_dim=constraint
        )
        made = self.shape_env.create_symintnode(symbol, hint=max(hint, 2), source=source)
        assert isinstance(made, torch.SymInt)
        self.sizes[name] = made
        self.dims[str(symbol)] = DimRange(name, lower, upper)
        self.origins[str(symbol)] = origin
        return made

    def number(self, name: str, hint: int, origin: str) -> torch.SymInt:
        """The symbolic int called `name`, at least 0. `origin` is where it is read at a call."""
        source = _SizeSource(origin)
        symbol = self.shape_env.create_unspecified_symbol(
            hint, source, dynamic_dim=DimDynamic.DYNAMIC
        )
        made = self.shape_env.create_symintnode(symbol, hint=hint, source=source)
        assert isinstance(made, torch.SymInt)
        self.sizes[name] = made
        self.dims[str(symbol)] = DimRange(name, 0, LARGEST_NUMBER)
        self.origins[str(symbol)] = origin
        return made

    # -- numbers from data ---------------------------------------------------------------------

    def data_size(self, name: str, lower: int = 0) -> torch.SymInt:
        """A size that data decides, at least `lower`."""
        made = self._data_int(name, lower, _LARGEST, lower)
        self.data_dims[str(expression_of(made))] = DimRange(name, lower, None)
        return made

    def data_range(self, name: str, lower: int, upper: int | None) -> torch.SymInt:
        """A size that a program read from a file declares."""
        return self._data_int(name, lower, _LARGEST if upper is None else upper, lower)

    def data_int(self, name: str) -> torch.SymInt:
        """An int that data decides, of any sign."""
        return self._data_int(name, -LARGEST_NUMBER, LARGEST_NUMBER, 0)

    def _data_int(self, name: str, lower: int, upper: int, hint: int) -> torch.SymInt:
        env = self.shape_env
        assert isinstance(env, _AskingShapeEnv)
        source = _SizeSource(name)
        example = min(max(lower, hint, 7 + 2 * len(env.data)), upper)
        symbol = env.create_symbol(
            example,
            source,
            dynamic_dim=DimDynamic.DYNAMIC,
            constraint_dim=StrictMinMaxConstraint(vr=ValueRanges(lower, upper), warn_only=False),
            positive=True if lower > 0 else None,
            do_not_specialize_zero_one=True,
        )
        env.data.add(symbol)  # type: ignore[arg-type]
        env.examples[symbol] = sympy.Integer(example)
        made = env.create_symintnode(symbol, hint=example, source=source)
        assert isinstance(made, torch.SymInt)
        self.symbols[str(symbol)] = made
        return made

    def data_float(self, name: str) -> torch.SymFloat:
        """A float that data decides."""
        env = self.shape_env
        assert isinstance(env, _AskingShapeEnv)
        source = _SizeSource(name)
        example = 1.5 + len(env.data)
        symbol = env.create_unspecified_symbol(example, source, dynamic_dim=DimDynamic.DYNAMIC)
        env.data.add(symbol)  # type: ignore[arg-type]
        env.examples[symbol] = sympy.Float(example)
        made = env.create_symfloatnode(symbol, hint=example, source=source)
        assert isinstance(made, torch.SymFloat)
        return made

    def empty(self, shape: Any, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
        """A new fake tensor in row-major order, whatever its sizes turn out to be."""
        with self._creating(), self.mode:
            return torch.empty(shape, dtype=dtype, device=device)

    def run(
        self, target: Any, args: list[Any], kwargs: dict[str, Any], function: Callable[..., Any]
    ) -> Any:
        """What `function`, for which `target` stands, gives of fake tensors."""

        def call() -> Any:
            with self.mode, self.dispatcher():
                return function(*args, **kwargs)

        return call() if self._calls is None else self._calls.run(target, args, kwargs, call)

    # What `FakeCalls` needs

    def answer(self, kind: str, expression: Any) -> Any:
        assert isinstance(self.shape_env, _AskingShapeEnv)
        return self.shape_env.answer(kind, expression)

    def asked(self, run: Callable[[], Any]) -> tuple[Any, Asked]:
        assert isinstance(self.shape_env, _AskingShapeEnv)
        return self.shape_env.asked(run)

    def strided(self, form: Form) -> torch.Tensor:
        """A new tensor."""
        with self._creating(), self.mode:
            return torch.empty_strided(
                form.sizes, form.strides, dtype=form.dtype, device=form.device
            )

    def view(self, base: torch.Tensor, form: Form) -> torch.Tensor:
        """A tensor in the memory of another one."""
        with self._creating(), self.mode, self.dispatcher():
            return base.as_strided(form.sizes, form.strides, form.offset)

    def settle_layout(self, fake: torch.Tensor) -> None:
        """Let torch say now what it keeps with a tensor: whether it is contiguous. Asked later, it
        would keep what holds on one path only."""
        if not any(isinstance(size, torch.SymInt) for size in fake.shape):
            return
        with self._creating():
            fake.is_contiguous()
            if fake.dim() in _CHANNELS_LAST:
                fake.is_contiguous(memory_format=_CHANNELS_LAST[fake.dim()])

    @contextmanager
    def _creating(self) -> Iterator[None]:
        env = self.shape_env
        if not isinstance(env, _AskingShapeEnv):
            yield
            return
        with env.creation():
            yield

    @property
    def data_symbols(self) -> frozenset[sympy.Symbol]:
        env = self.shape_env
        return frozenset(env.data) if isinstance(env, _AskingShapeEnv) else frozenset()

    def dispatcher(self) -> AbstractContextManager[Any]:
        """With symbolic sizes, operators run by their Python kernels: some C++ ones would turn
        every size of their arguments into a number."""
        return enable_python_dispatcher() if self.is_symbolic else nullcontext()

    @property
    def is_symbolic(self) -> bool:
        """Whether a size may be a symbol: of a dynamic dimension, or one that data decides."""
        return bool(self.dims or self.data_symbols)

    @property
    def asks(self) -> bool:
        """Whether conditions on sizes are asked about, instead of assumed."""
        return isinstance(self.shape_env, _AskingShapeEnv)

    def guard_expressions(self) -> list[sympy.Basic]:
        """What was assumed about symbolic sizes so far."""
        guards = self.shape_env.guards
        return [guard.expr for guard in guards if not is_layout_choice(guard)]

    def python_text(self, expression: Any) -> str:
        """The expression as Python, each symbol in braces."""
        names = {s: sympy.Symbol("{" + str(s) + "}") for s in expression.free_symbols}
        return PythonText().doprint(expression.xreplace(names))

    def decide(self, condition: torch.SymBool) -> bool | None:
        """The condition's truth if it is the same for all sizes of the declared ranges."""
        expr = condition.node.expr
        if statically_known_true(condition):
            result = True
        elif statically_known_true(torch.sym_not(condition)):
            result = False
        else:
            return None
        for symbol in expr.free_symbols:
            dim = self.dims.get(str(symbol))
            if dim is None:
                continue
            for small in range(dim.lower, 2):
                value = expr.subs(symbol, small)
                if value not in (sympy.true, sympy.false) or bool(value) != result:
                    return None
        return result

    def holds_for(self, condition: torch.SymBool) -> str:
        """For messages: the condition in the names of the dimensions."""
        expr = condition.node.expr
        names = {s: sympy.Symbol(self.dims[str(s)].name) for s in expr.free_symbols
                 if str(s) in self.dims}  # fmt: skip
        return relation_text(expr.subs(names))


#: Per dimension: its stride in elements, or as a 1-tuple the dimension that it lies densely around
#: (stride = that one's stride times its size), or None where the size is 1 and the stride is free.
StrideRecipe = tuple[int | tuple[int] | None, ...]


def stride_recipe(tensor: torch.Tensor, symbolic: Collection[int]) -> StrideRecipe:
    """How the strides of a tensor follow from its sizes, some of which are symbolic."""
    recipe: list[int | tuple[int] | None] = [None] * tensor.dim()
    around: int | None = None
    dense = 1
    for i in _innermost_first(tensor):
        if tensor.shape[i] == 1 and i not in symbolic:
            continue
        step = dense if tensor.shape[i] == 1 else tensor.stride(i)
        recipe[i] = (around,) if around is not None and step == dense else step
        around = i if step else None
        dense = step * tensor.shape[i] or 1
    return tuple(recipe)


def _innermost_first(tensor: torch.Tensor) -> list[int]:
    dims = range(tensor.dim())
    if tensor.is_contiguous():
        return list(reversed(dims))
    return sorted(dims, key=lambda i: (tensor.stride(i), -i))


def _symbolic_strides(tensor: torch.Tensor, shape: list[Any], symbolic: Collection[int]) -> Any:
    """The tensor's strides, in terms of the symbolic sizes where its recipe says so."""
    recipe = stride_recipe(tensor, symbolic)
    strides: list[Any] = [1] * tensor.dim()
    dense: Any = 1
    for i in _innermost_first(tensor):
        step = recipe[i]
        strides[i] = step if isinstance(step, int) else dense
        if step is not None:
            dense = strides[i] * shape[i]
    return strides


def known_number(fake: torch.Tensor) -> bool | int | float | None:
    """The content of a fake tensor made from one Python number, and of what was computed from such
    tensors alone. Torch forgets it when the tensor is written to."""
    constant = getattr(fake, "constant", None)
    if constant is None or constant.dim() or constant.is_complex():
        return None
    return constant.item()


def expression_of(value: torch.SymInt | torch.SymFloat | torch.SymBool) -> sympy.Basic:
    return value.node.expr
