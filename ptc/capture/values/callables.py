"""Functions, closures, bound methods, classes, C functions, `super` and `functools.partial`."""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, Any

from ptc.capture.errors import GraphBreak, NotConstant
from ptc.capture.sources import AttributeSource, Source
from ptc.capture.values.base import IdentityKey, Value
from ptc.capture.values.namespaces import Globals
from ptc.capture.values.objects import NO_OBJECT, Instance

if TYPE_CHECKING:
    from ptc.capture.interpreter.machine import Machine
    from ptc.capture.rebuild import Rebuilder


class LostValue(Value):
    """Stands in a closure cell for an object that an iteration of a loop made: the program has no
    name for it in the next one. Most are replaced before anything asks for them."""

    __slots__ = ("loop", "what")

    def __init__(self, what: str, loop: Any) -> None:
        self.source = None
        self.what = what
        self.loop = loop  # that is being traced; None behind it

    @property
    def cls(self) -> type:
        raise NotConstant(self)

    def describe(self) -> str:
        return f"{self.what} of an earlier iteration"

    def rebuild(self, emit: Rebuilder) -> str:
        raise NotConstant(self)

    def refusal(self) -> GraphBreak:
        """What is said where the program asks for it all the same."""
        return GraphBreak(
            "PTC-B006",
            f"the loop carries {self.what}, whose kind changes from one iteration to the next",
            "give it one type and one number of dimensions before the loop",
        )


class UnjoinedValue(LostValue):
    """Stands in a closure cell for objects of arms that cannot be one, behind the function that has
    the cell. `what` says why."""

    __slots__ = ()

    def __init__(self, what: str) -> None:
        super().__init__(what, None)

    def describe(self) -> str:
        return "one of several objects"

    def refusal(self) -> GraphBreak:
        return GraphBreak("PTC-B006", f"the ways of a branch on data cannot be joined: {self.what}")


class CellValue(Value):
    """A closure cell. `content` is None while unassigned."""

    __slots__ = ("cell", "content", "loaded")

    def __init__(
        self, content: Value | None = None, source: Source | None = None, cell: Any = None
    ):
        self.source = source
        self.content = content
        self.cell: types.CellType | None = cell
        self.loaded = cell is None

    @property
    def cls(self) -> type:
        return types.CellType

    def real(self) -> Any:
        if self.cell is None:
            raise NotConstant(self)
        return self.cell

    def get(self, vm: Machine) -> Value | None:
        if not self.loaded:
            assert self.cell is not None
            try:
                content = self.cell.cell_contents
            except ValueError:
                if self.source is not None:
                    vm.guard("CELL_EMPTY", self.source)
                return None
            if self.source is not None:
                value = vm.wrap(content, AttributeSource(self.source, "cell_contents"))
            else:
                value = vm.wrap_fixed(content)
            vm.journal.read_attribute(self, "content", value)
            vm.journal.read_attribute(self, "loaded", True)
        if isinstance(self.content, LostValue):
            raise vm.lost_object(self.content)
        return None if self.content is None else vm.present(self.content)

    def set(self, vm: Machine, value: Value | None) -> None:
        vm.journal.assign(self, "content", value)
        if not self.loaded:
            vm.journal.assign(self, "loaded", True)
        vm.effects.changed(self)

    def attribute(self, vm: Machine, name: str) -> Value | None:
        if name == "cell_contents":
            content = self.get(vm)
            if content is None:
                raise vm.exception(ValueError, "Cell is empty")
            return content
        return None

    def hash_key(self, vm: Machine) -> Any:
        return IdentityKey(self)

    def rebuild(self, emit: Rebuilder) -> str:
        name = emit.define(self, f"{emit.name(types.CellType, 'CellType')}()")
        if self.content is not None:
            emit.line(f"{name}.cell_contents = {emit.value(self.content)}")
        return name


class FunctionValue(Instance):
    """A Python function, from outside or made by MAKE_FUNCTION."""

    __slots__ = (
        "annotations",
        "closure",
        "code",
        "default_values",
        "defaults",
        "globals",
        "kwdefault_values",
        "kwdefaults",
        "name",
        "qualname",
        "trusted",
    )  # fmt: skip

    def __init__(
        self, code: types.CodeType, namespace: Globals, closure: tuple[CellValue, ...] = ()
    ) -> None:
        super().__init__(types.FunctionType)
        self.code = code
        self.globals = namespace
        self.closure = closure
        self.name = code.co_name
        self.qualname = code.co_qualname
        self.default_values: list[Value] | None = []
        self.kwdefault_values: dict[str, Value] | None = {}
        self.annotations: Value | None = None
        self.trusted = False

    def real(self) -> Any:
        if self.obj is NO_OBJECT:
            raise NotConstant(self)
        return self.obj

    def describe(self) -> str:
        return f"function {self.qualname}"

    def get_defaults(self, vm: Machine) -> list[Value]:
        if self.default_values is None:
            values = [
                self._wrap_default(vm, value, f"{{}}.__defaults__[{i}]")
                for i, value in enumerate(self.obj.__defaults__ or ())
            ]
            vm.journal.read_attribute(self, "default_values", values)
        assert self.default_values is not None
        return self.default_values

    def get_kwdefaults(self, vm: Machine) -> dict[str, Value]:
        if self.kwdefault_values is None:
            values = {
                key: self._wrap_default(vm, value, f"{{}}.__kwdefaults__[{key!r}]")
                for key, value in (self.obj.__kwdefaults__ or {}).items()
            }
            vm.journal.read_attribute(self, "kwdefault_values", values)
        assert self.kwdefault_values is not None
        return self.kwdefault_values

    def _wrap_default(self, vm: Machine, value: Any, template: str) -> Value:
        if self.source is None or self.trusted:
            return vm.wrap_fixed(value)
        return vm.wrap_at(value, self.source, template)

    def call(self, vm: Machine, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return vm.call_function(self, args, kwargs)

    def attribute(self, vm: Machine, name: str) -> Value | None:
        known = super().attribute(vm, name)
        if known is not None:
            return known
        if name == "__name__":
            return vm.const(self.name)
        if name == "__qualname__":
            return vm.const(self.qualname)
        if name == "__code__":
            return vm.const(self.code)
        if name == "__globals__":
            return self.globals.as_dict(vm)
        if name == "__defaults__":
            values = self.get_defaults(vm)
            return vm.tuple(list(values)) if values else vm.const(None)
        if name == "__kwdefaults__":
            values = self.get_kwdefaults(vm)
            return vm.dict_of(values) if values else vm.const(None)
        if name == "__closure__":
            return vm.tuple(list(self.closure)) if self.closure else vm.const(None)
        if name == "__wrapped__" or name == "__dict__":
            return None
        if name == "__module__":
            return vm.const(self.globals.namespace.get("__name__"))
        if name == "__doc__":
            consts = self.code.co_consts
            return vm.const(consts[0] if consts and isinstance(consts[0], str) else None)
        if name == "__annotations__":
            if self.obj is not NO_OBJECT:
                return vm.wrap_fixed(self.obj.__annotations__)
            return self.annotations or vm.dict_of({})
        return None

    def set_attribute(self, vm: Machine, name: str, value: Value) -> None:
        if name in ("__name__", "__qualname__") and self.obj is NO_OBJECT:
            vm.journal.assign(self, name.strip("_"), value.constant())
        elif name in ("__code__", "__defaults__", "__kwdefaults__", "__closure__"):
            raise GraphBreak("PTC-B014", f"changing {name} of {self.describe()} is not captured")
        else:
            super().set_attribute(vm, name, value)

    def hash_key(self, vm: Machine) -> Any:
        return IdentityKey(self)

    def rebuild(self, emit: Rebuilder) -> str:
        make = emit.name(types.FunctionType, "FunctionType")
        code = emit.name(self.code, f"code_of_{self.name}")
        namespace = emit.name(self.globals.namespace, "globals")
        defaults = ", ".join(emit.value(v) for v in self.default_values or ())
        defaults = f"({defaults},)" if defaults else "None"
        # On 3.13 a new function has no cells until SET_FUNCTION_ATTRIBUTE
        closure_cells = self.closure or [CellValue() for _ in self.code.co_freevars]
        cells = ", ".join(emit.value(cell) for cell in closure_cells)
        closure = f"({cells},)" if cells else "None"
        text = f"{make}({code}, {namespace}, {self.name!r}, {defaults}, {closure})"
        name = emit.define(self, text)
        if self.kwdefault_values:
            inner = ", ".join(f"{k!r}: {emit.value(v)}" for k, v in self.kwdefault_values.items())
            emit.line(f"{name}.__kwdefaults__ = {{{inner}}}")
        if self.qualname != self.name:
            emit.line(f"{name}.__qualname__ = {self.qualname!r}")
        for attribute, value in self.attrs.items():
            emit.line(f"{name}.{attribute} = {emit.value(value)}")
        return name


class BoundMethodValue(Value):
    """A method bound to its object: `func(owner, ...)`."""

    __slots__ = ("func", "owner")

    def __init__(self, func: Value, owner: Value, source: Source | None = None) -> None:
        self.source = source
        self.func = func
        self.owner = owner

    @property
    def cls(self) -> type:
        if isinstance(self.func, BuiltinValue):
            return types.BuiltinMethodType
        return types.MethodType

    def describe(self) -> str:
        return f"method {self.func.describe()} of {self.owner.describe()}"

    def call(self, vm: Machine, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return vm.call(self.func, [self.owner, *args], kwargs)

    def attribute(self, vm: Machine, name: str) -> Value | None:
        if name == "__self__":
            return self.owner
        if name == "__func__":
            return self.func
        return vm.getattr_or_none(self.func, name)

    def compare(self, vm: Machine, op: str, other: Value, reflected: bool) -> Value | None:
        if op in ("==", "!=") and isinstance(other, BoundMethodValue):
            same = self.owner is other.owner and vm.is_same(self.func, other.func)
            return vm.const(same == (op == "=="))
        return None

    def hash_key(self, vm: Machine) -> Any:
        return (IdentityKey(self.owner), vm.hash_key(self.func))

    def rebuild(self, emit: Rebuilder) -> str:
        if isinstance(self.func, BuiltinValue):
            name = self.func.function.__name__
            return f"({emit.value(self.owner)}).{name}"
        method = emit.name(types.MethodType, "MethodType")
        return f"{method}({emit.value(self.func)}, {emit.value(self.owner)})"


class BuiltinValue(Value):
    """A function, method descriptor or slot wrapper implemented in C."""

    __slots__ = ("function",)

    def __init__(self, function: Any, source: Source | None = None) -> None:
        self.source = source
        self.function = function

    @property
    def cls(self) -> type:
        return type(self.function)

    def real(self) -> Any:
        return self.function

    def describe(self) -> str:
        name = getattr(self.function, "__qualname__", None) or repr(self.function)
        module = getattr(self.function, "__module__", None)
        return f"{module}.{name}" if module and module != "builtins" else name

    def call(self, vm: Machine, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return vm.call_builtin(self.function, args, kwargs)

    def attribute(self, vm: Machine, name: str) -> Value | None:
        if name in ("__name__", "__qualname__", "__doc__", "__module__", "__text_signature__"):
            return vm.const(getattr(self.function, name))
        if name == "__objclass__":
            return vm.wrap_fixed(self.function.__objclass__)
        return None

    def hash_key(self, vm: Machine) -> Any:
        return IdentityKey(self)

    def rebuild(self, emit: Rebuilder) -> str:
        return emit.name(self.function, getattr(self.function, "__name__", "function"))


class ClassValue(Instance):
    """A class. Its attributes are read from the real class, under guards if it is the user's."""

    __slots__ = ("klass_object",)

    def __init__(self, klass: type, source: Source | None = None) -> None:
        super().__init__(type(klass), source, klass)
        self.klass_object = klass

    def real(self) -> Any:
        return self.klass_object

    def constant(self) -> Any:
        return self.klass_object

    def describe(self) -> str:
        return f"class {self.klass_object.__qualname__}"

    def call(self, vm: Machine, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return vm.instantiate(self.klass_object, args, kwargs)

    def set_attribute(self, vm: Machine, name: str, value: Value) -> None:
        vm.journal.put(self.attrs, name, value)
        vm.effects.attribute_written(self, name)

    def hash_key(self, vm: Machine) -> Any:
        return IdentityKey(self)

    def rebuild(self, emit: Rebuilder) -> str:
        return emit.name(self.klass_object, self.klass_object.__name__)


class SuperValue(Value):
    """`super(owner_class, instance)`"""

    __slots__ = ("after", "instance")

    def __init__(self, after: type, instance: Value) -> None:
        self.source = None
        self.after = after
        self.instance = instance

    @property
    def cls(self) -> type:
        return super

    def rebuild(self, emit: Rebuilder) -> str:
        return f"super({emit.name(self.after, self.after.__name__)}, {emit.value(self.instance)})"


class PartialValue(Instance):
    """`functools.partial(func, *args, **kwargs)`"""

    __slots__ = ("args", "func", "kwargs")

    def __init__(
        self, func: Value, args: list[Value], kwargs: dict[str, Value], source: Source | None = None
    ) -> None:
        super().__init__(functools.partial, source)
        self.func = func
        self.args = args
        self.kwargs = kwargs

    def call(self, vm: Machine, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return vm.call(self.func, [*self.args, *args], {**self.kwargs, **kwargs})

    def attribute(self, vm: Machine, name: str) -> Value | None:
        if name == "func":
            return self.func
        if name == "args":
            return vm.tuple(list(self.args))
        if name == "keywords":
            return vm.dict_of(self.kwargs)
        return super().attribute(vm, name)

    def hash_key(self, vm: Machine) -> Any:
        return IdentityKey(self)

    def rebuild(self, emit: Rebuilder) -> str:
        parts = [emit.value(self.func), *(emit.value(arg) for arg in self.args)]
        parts += [f"**{{{k!r}: {emit.value(v)}}}" for k, v in self.kwargs.items()]
        return f"{emit.name(functools.partial, 'partial')}({', '.join(parts)})"
