"""Well-formedness of programs with control flow. Raises InternalError quoting the place.

Takes a `ControlProgram`, gives nothing. One walk in execution order keeps the set of names
(variables and symbols) that have a value on every path; a loop is walked until what its end leaves
agrees with what its start had. Knows what the items must look like, not what operators compute.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn, assert_never

import torch

from ptc.graph.control import (
    DATA_SIZED,
    OPERATIONS,
    Assign,
    Bind,
    Body,
    Compute,
    ControlProgram,
    DataSized,
    Emit,
    Formatted,
    If,
    Item,
    ListItem,
    ListVar,
    MakeText,
    NumberKind,
    NumberVar,
    Raise,
    ReadItem,
    Segment,
    Switch,
    TensorVar,
    Text,
    TextItem,
    TextVar,
    Var,
    While,
    walk,
)
from ptc.graph.control_coverage import location_of
from ptc.graph.control_declarations import Fault as _Fault
from ptc.graph.control_declarations import (
    declared_types,
    symbols_of_inputs,
    verify_interface,
    verify_segment,
    weights_of,
)
from ptc.graph.control_lists import fault_of_find
from ptc.graph.control_operations import kind_of_number, result_kinds
from ptc.graph.control_parts import (
    placeholders_of,
    reads_of,
    results_of,
    symbols_at,
    variables_of,
)
from ptc.graph.control_paths import (
    Defined,
    Everywhere,
    Fact,
    meet,
    where,
    with_copy,
    with_name,
    with_test,
    without,
)
from ptc.graph.control_printer import item_text
from ptc.graph.control_texts import fault_of
from ptc.graph.control_types import (
    differs,
    elements_differ,
    kind_of_element,
    loose_sizes,
    var_type,
)
from ptc.graph.program import CapturedProgram, InputKind
from ptc.graph.set_tables import TABLE_OPERATIONS
from ptc.graph.symbols import symbols_of
from ptc.graph.types import type_text
from ptc.support.diagnostics import InternalError, Location

INT, BOOL = NumberKind.INT, NumberKind.BOOL
_CHANNELS = ("stdout", "stderr", "log", "warning")
_CONVERSIONS = ("str", "repr", "format")


def verify_control(program: ControlProgram, *, every_path: bool = True) -> None:
    """Check a program with control flow and its segments. Raises InternalError.

    With `every_path`, a name must be shown to have a value on every path to where it is read. Flags
    that are computed from each other can say more than what is followed here, so that a program of
    many branches may be refused that is right; without, it is enough that something gives the name
    a value, and the reference interpreter sees to the rest.
    """
    _Verifier(program, every_path).verify()


class _Verifier:
    def __init__(self, program: ControlProgram, every_path: bool) -> None:
        self._program = program
        self._every_path = every_path
        self._place: Location | None = program.location
        self._weights = weights_of(program)
        self._types: Mapping[str, Var] = {}
        self._entry = symbols_of_inputs(program)
        # Symbols that the program binds itself
        self._free = frozenset(item.symbol for item in walk(program.body) if isinstance(item, Bind))
        self._checked: set[int] = set()

    def verify(self) -> None:
        program = self._program
        try:
            verify_interface(program)
            self._types = declared_types(program)
        except (_Fault, TypeError) as fault:
            raise InternalError("control", str(fault)) from None
        entry = {described.name for described in program.inputs} - self._weights.keys()
        entry |= {kept.variable.name for kept in (*program.state, *program.references)}
        start: frozenset[Fact] = frozenset(entry) | self._entry
        if not self._every_path:
            start = Everywhere({*start, *_given(program)})
        end = self._body(program.body, start)
        if end is None:
            return
        needed = {f"the selector `{s.name}`": s for s in (program.selector,) if s is not None}
        if not program.variants:
            needed = {f"output `{output.name}`": output.value for output in program.outputs}
        for what, variable in needed.items():
            if variable.name not in end:
                raise InternalError("control", f"{what} has no value on some path to the end")

    # -- walking -------------------------------------------------------------------------------

    def _body(self, body: Body, defined: Defined) -> Defined:
        for number, item in enumerate(body.items):
            self._place = location_of(item) or self._place
            try:
                defined = self._item(item, defined)
                if isinstance(item, Raise) and number + 1 < len(body.items):
                    raise _Fault(f"`{item_text(body.items[number + 1])}` follows a raise")
            except _Fault as fault:
                self._fail(item, str(fault), body.items[max(0, number - 2) : number])
        return defined

    def _item(self, item: Item, defined: Defined) -> Defined:
        """Check an item; the names that have a value after it."""
        if defined is not None:
            self._uses(item, defined)
        match item:
            case Segment():
                return self._segment(item, defined)
            case Compute():
                _verify_compute(item)
                return _tested(item, with_name(defined, item.target.name))
            case ReadItem(target, tensor):
                if any(size != 1 for size in tensor.fake.shape):
                    raise _Fault(f"`{tensor.name}` is {var_type(tensor)}, not one element")
                if kind_of_element(tensor.fake.dtype) is not target.kind:
                    raise _Fault(f"an element of {var_type(tensor)} is no {target.kind.value}")
                return with_name(defined, target.name)
            case Bind():
                self._verify_bind(item)
                return with_name(defined, item.symbol)
            case Assign(target, source):
                return self._assign(defined, target, source)
            case DataSized():
                return self._data_sized(item, defined)
            case ListItem():
                return self._list_item(item, defined)
            case MakeText(target, text):
                _verify_text(text)
                return with_name(defined, target.name)
            case TextItem():
                fault = fault_of(item)
                if fault is not None:
                    raise _Fault(fault)
                return with_name(defined, item.target.name)
            case If():
                _want(item.condition, BOOL)
                name = item.condition.name
                then = self._body(item.then, where(defined, name, True))
                return meet(then, self._body(item.orelse, where(defined, name, False)))
            case Switch():
                return self._switch(item, defined)
            case While():
                return self._while(item, defined)
            case Emit():
                if item.channel not in _CHANNELS:
                    raise _Fault(f"there is no channel `{item.channel}`")
                _verify_text(item.text)
                return defined
            case Raise():
                if not item.type_name:
                    raise _Fault("an exception without a class")
                _verify_text(item.message)
                return None
            case _:
                assert_never(item)

    def _uses(self, item: Item, defined: frozenset[Fact]) -> None:
        again = (item.again.name,) if isinstance(item, While) else ()
        for variable in reads_of(item):
            if variable.name not in defined and variable.name not in again:
                raise _Fault(f"`{variable.name}` has no value on some path to here")

    def _switch(self, item: Switch, defined: Defined) -> Defined:
        _want(item.selector, INT)
        if not item.arms:
            raise _Fault("a switch without arms")
        result: Defined = None
        for number, arm in enumerate(item.arms):
            result = meet(result, self._body(arm, where(defined, item.selector.name, number)))
        return result

    def _while(self, item: While, defined: Defined) -> Defined:
        _want(item.again, BOOL)
        start = defined
        while True:
            end = self._body(item.body, start)
            if end is not None and item.again.name not in end:
                raise _Fault(f"`{item.again.name}` has no value at the end of the body")
            again = meet(start, where(end, item.again.name, True))
            if again == start:
                return where(end, item.again.name, False)
            start = again

    # -- assignments ---------------------------------------------------------------------------

    def _assign(self, defined: Defined, target: Var, source: Var | int | float | bool) -> Defined:
        self._writable(target.name)
        match target, source:
            case TensorVar(), TensorVar():
                return self._give(defined, target, source.fake, source.fake.shape)
            case ListVar(), ListVar() if _same_list(target, source):
                return with_name(defined, target.name)
            case TextVar(), TextVar():
                return with_name(defined, target.name)
            case NumberVar(), NumberVar() | int() | float() | bool() if (
                _kind(source) is target.kind
            ):
                if isinstance(source, NumberVar):
                    return with_copy(defined, target.name, source.name)
                return with_name(defined, target.name, source)
            case _:
                shown = var_type(source) if isinstance(source, Var) else repr(source)
                raise _Fault(f"`{target.name}` is {var_type(target)}, the value {shown}")

    def _give(
        self, defined: Defined, target: TensorVar, value: torch.Tensor, sizes: Sequence[Any]
    ) -> Defined:
        """A tensor variable gets a value like `value` with these sizes (None: as data has it)."""
        self._writable(target.name)
        free = self._free - self._entry
        loose = loose_sizes(target.fake, sizes, free)
        if loose is None or value.dtype != target.fake.dtype:
            raise _Fault(f"`{target.name}` is {var_type(target)}, the value {type_text(value)}")
        return with_name(without(defined, loose.keys()), target.name)

    def _writable(self, name: str) -> None:
        if name in self._weights:
            raise _Fault(f"`{name}` is assigned and not among the written inputs")

    def _verify_bind(self, item: Bind) -> None:
        if item.symbol in self._entry:
            raise _Fault(f"`{item.symbol}` is given by the inputs")
        if (item.tensor is None) == (item.value is None):
            raise _Fault("a size is bound to a dimension or to a number")
        if item.value is not None:
            _want(item.value, INT)
        if item.tensor is not None and item.dim not in range(item.tensor.fake.dim()):
            raise _Fault(f"`{item.tensor.name}` is {var_type(item.tensor)}: no dim {item.dim}")

    # -- segments ------------------------------------------------------------------------------

    def _segment(self, item: Segment, defined: Defined) -> Defined:
        program = item.program
        if id(item) not in self._checked:
            self._checked.add(id(item))
            verify_segment(item, self._program, self._weights)
        if defined is not None:
            self._bound(program, defined)
        for output, value in results_of(item.program):
            target = self._types[output.name]
            if not isinstance(target, TensorVar):
                raise _Fault(f"`{output.name}` is {var_type(target)}, the value {type_text(value)}")
            defined = self._give(defined, target, value, value.shape)
        return defined

    @staticmethod
    def _bound(program: CapturedProgram, defined: frozenset[Fact]) -> None:
        """All sizes in a segment have values."""
        own: set[str] = set()
        for described, node in placeholders_of(program):
            if described.kind is InputKind.SCALAR:
                own |= symbols_of(node.meta["val"])
        for node in program.graph.graph.nodes:
            missing = {s for s in symbols_at(node) if s not in own and s not in defined}
            if missing:
                raise _Fault(f"the size {min(missing)} at `{node.name}` is not bound")

    # -- operators of which the data decides the size ------------------------------------------

    def _data_sized(self, item: DataSized, defined: Defined) -> Defined:
        if item.op not in DATA_SIZED:
            raise _Fault(f"there is no operator `{item.op}`")
        counts = {"unique": (1, 3)}.get(item.op, (1,))
        if len(item.targets) not in counts:
            raise _Fault(f"{item.op} with {len(item.targets)} targets")
        source = item.args[0] if item.args else None
        if not isinstance(source, TensorVar):
            raise _Fault(f"{item.op} of {source!r}")
        inverse = item.targets[1:2] if item.op == "unique" else ()
        for target in item.targets:
            sizes: list[Any] = [None, *target.fake.shape[1:]]
            if target in inverse:
                sizes = list(source.fake.shape)
            defined = self._give(defined, target, target.fake, sizes)
        return defined

    # -- lists ---------------------------------------------------------------------------------

    def _list_item(self, item: ListItem, defined: Defined) -> Defined:
        target, args = item.target, item.args
        if item.op == "find":
            return self._find(item, defined)
        if item.op not in _LIST_ARGUMENTS:
            raise _Fault(f"there is no list operation `{item.op}`")
        if (target is not None) != (item.op in _WITH_TARGET):
            raise _Fault(f"{item.op} {'without' if target is None else 'with'} a target")
        if item.op == "new":
            assert target is not None
            for arg in args:
                _verify_element(_list(target), arg)
            return with_name(defined, target.name)
        form = _LIST_ARGUMENTS[item.op]
        if len(form) != len(args):
            raise _Fault(f"{item.op} with {len(args)} operands, expected {len(form)}")
        owner = _list(args[0])
        table = TABLE_OPERATIONS.get(item.op)
        if table is not None and not _same_list(_INTS, owner):
            raise _Fault(f"`{owner.name}`, a {var_type(owner)}, is no table of a set")
        for what, arg in zip(form, args, strict=True):
            match what:
                case "list":
                    if not _same_list(owner, arg):
                        raise _Fault(f"{_shown(arg)} is no {var_type(owner)}")
                case "index":
                    _want(arg, INT)
                case "indices":
                    if not _same_list(_INTS, arg):
                        raise _Fault(f"{_shown(arg)} is no {var_type(_INTS)}")
                case "any":
                    owner = _list(target)
                    _verify_element(owner, arg)
                case _:
                    _verify_element(owner, arg)
        if target is None:
            return defined
        self._writable(target.name)
        if item.op == "length" or (table is not None and table.result == "int"):
            _want(target, INT)
        elif item.op == "same" or (table is not None and table.result == "bool"):
            _want(target, BOOL)
        elif item.op in ("lengths", "flat"):
            _verify_unnested(item.op, owner, target)
        elif item.op in ("get", "pop", "stack", "cat"):
            return self._from_list(item, owner, target, defined)
        elif not _same_list(owner, target):
            raise _Fault(f"`{target.name}` is {var_type(target)}, the value {var_type(owner)}")
        return with_name(defined, target.name)

    def _find(self, item: ListItem, defined: Defined) -> Defined:
        fault = fault_of_find(item)
        if fault is not None or item.target is None:
            raise _Fault(fault or "find without a target")
        self._writable(item.target.name)
        return with_name(defined, item.target.name)

    def _from_list(self, item: ListItem, owner: ListVar, target: Var, defined: Defined) -> Defined:
        """An element, or all elements as one tensor."""
        element = owner.element
        if not isinstance(element, torch.Tensor):
            if item.op not in ("get", "pop") or not _is_element(owner, target):
                raise _Fault(f"`{target.name}` is {var_type(target)}, not from {var_type(owner)}")
            return with_name(defined, target.name)
        if not isinstance(target, TensorVar):
            raise _Fault(f"`{target.name}` is {var_type(target)}, not a tensor")
        sizes = [self._size_in_list(size) for size in element.shape]
        if item.op in ("stack", "cat"):
            dim = item.args[1]
            if not isinstance(dim, int) or dim not in range(target.fake.dim()):
                raise _Fault(f"{item.op} along {dim!r} of {var_type(target)}")
            sizes[dim : dim + (item.op == "cat")] = [None]
        value = element if item.op in ("get", "pop") else target.fake
        if value.dtype != element.dtype:
            raise _Fault(f"`{target.name}` is {var_type(target)}, the list {var_type(owner)}")
        return self._give(defined, target, value, sizes)

    def _size_in_list(self, size: Any) -> Any:
        """A size of a list's elements, None where each has its own."""
        return size if symbols_of(size) <= self._entry | self._free else None

    # -- messages ------------------------------------------------------------------------------

    def _fail(self, item: Item, message: str, before: Sequence[Item]) -> NoReturn:
        place = self._place
        where = f" at {place} {place.text.strip()}".rstrip() if place is not None else ""
        quoted = "\n".join(f"    {item_text(near)}" for near in (*before, item))
        raise InternalError("control", f"{message}{where}\n{quoted}") from None


def _given(program: ControlProgram) -> Iterator[str]:
    """Every name that some item gives a value."""
    for item in walk(program.body):
        if isinstance(item, Bind):
            yield item.symbol
        if isinstance(item, Segment):
            yield from (output.name for output, _ in results_of(item.program))
        read = {variable.name for variable in reads_of(item)}
        yield from (v.name for v in variables_of(item) if v.name not in read)


# --- checks of one item -------------------------------------------------------------------------

#: List operation -> its operands after the list: `index`, `list`, or an `element`.
_LIST_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "new": (),
    "copy": ("list",),
    "append": ("list", "element"),
    "extend": ("list", "list"),
    "insert": ("list", "index", "element"),
    "set": ("list", "index", "element"),
    "clear": ("list",),
    "reverse": ("list",),
    "get": ("list", "index"),
    "pop": ("list", "index"),
    "length": ("list",),
    "slice": ("list", "index", "index"),
    "concat": ("list", "list"),
    "same": ("list", "list"),
    "lengths": ("list",),
    "flat": ("list",),
    "stack": ("list", "index"),
    "cat": ("list", "index"),
    "pick": ("list", "indices"),
    "filled": ("list", "any"),
    **{op: ("list", *known.args) for op, known in TABLE_OPERATIONS.items()},
}
_WITH_TARGET = (
    frozenset(_LIST_ARGUMENTS)
    - {"append", "extend", "insert", "set", "clear", "reverse"}
    - {op for op, known in TABLE_OPERATIONS.items() if known.result is None}
)
_INTS = ListVar("", INT)


def _tested(item: Compute, defined: Defined) -> Defined:
    """A comparison with a known int tells, where it is true, what the number is."""
    if item.op == "eq" and isinstance(item.args[0], NumberVar) and isinstance(item.args[1], int):
        return with_test(defined, item.target.name, item.args[0].name, item.args[1])
    return defined


def _verify_compute(item: Compute) -> None:
    arity = OPERATIONS.get(item.op)
    if arity is None:
        raise _Fault(f"there is no operation `{item.op}`")
    if len(item.args) != arity:
        raise _Fault(f"{item.op} with {len(item.args)} operands, expected {arity}")
    kinds = [_kind(arg) for arg in item.args]
    known = [kind for kind in kinds if kind is not None]
    if len(known) < arity:
        raise _Fault(f"{item.op} of {', '.join(map(_shown, item.args))}")
    possible = result_kinds(item.op, known)
    if item.target.kind not in possible:
        names = ", ".join(kind.value for kind in known)
        made = " or ".join(sorted(kind.value for kind in possible)) or "not possible"
        raise _Fault(
            f"{item.op} of {names} is {made}, `{item.target.name}` {item.target.kind.value}"
        )
    if item.op == "select":
        _want(item.args[0], BOOL)


def _verify_text(text: Text) -> None:
    for part in text:
        if isinstance(part, Formatted) and part.conversion not in _CONVERSIONS:
            raise _Fault(f"there is no conversion `{part.conversion}`")


def _verify_element(owner: ListVar, value: Any) -> None:
    element = owner.element
    if isinstance(element, torch.Tensor):
        fits = isinstance(value, TensorVar) and not elements_differ(element, value.fake)
    else:
        fits = _is_element(owner, value)
    if not fits:
        raise _Fault(f"{_shown(value)} does not go into {var_type(owner)}")


def _is_element(owner: ListVar, value: Any) -> bool:
    """Whether an element of a list that holds no tensors has the type of a value."""
    element = owner.element
    if isinstance(element, ListVar):
        return _same_list(element, value)
    return isinstance(value, TextVar) if element is str else _kind(value) is element


def _verify_unnested(op: str, owner: ListVar, target: Var) -> None:
    inner = owner.element
    if not isinstance(inner, ListVar):
        raise _Fault(f"{op} of {var_type(owner)}")
    if not _same_list(ListVar("", INT) if op == "lengths" else inner, target):
        raise _Fault(f"`{target.name}` is {var_type(target)}, not the {op} of {var_type(owner)}")


def _list(value: Any) -> ListVar:
    if not isinstance(value, ListVar):
        raise _Fault(f"{_shown(value)} is no list")
    return value


def _same_list(a: Var, b: Any) -> bool:
    return (
        isinstance(a, ListVar)
        and isinstance(b, ListVar)
        and not differs(a, ListVar(a.name, b.element))
    )


def _want(operand: Any, kind: NumberKind) -> None:
    if _kind(operand) is not kind:
        raise _Fault(f"{_shown(operand)} is no {kind.value}")


def _kind(operand: Any) -> NumberKind | None:
    return operand.kind if isinstance(operand, NumberVar) else kind_of_number(operand)


def _shown(operand: Any) -> str:
    if isinstance(operand, Var):
        return f"`{operand.name}` ({var_type(operand)})"
    return repr(operand)
