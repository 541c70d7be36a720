"""`str`, `repr`, `format` and imports: operations that end in host evaluation of constants."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from ptc.capture.errors import GraphBreak, NotConstant
from ptc.capture.interpreter.lookup import static_lookup
from ptc.capture.values.base import Value
from ptc.capture.values.callables import BuiltinValue, ClassValue, FunctionValue
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.containers import ListValue, TupleValue
from ptc.capture.values.exceptions import ExceptionValue
from ptc.capture.values.mappings import DictValue, SetValue
from ptc.capture.values.namespaces import PythonModuleValue

if TYPE_CHECKING:
    from ptc.capture.interpreter.machine import Machine

_BRACKETS = {"list": "[]", "tuple": "()"}
HINT_TEXT = "put its numbers and strings in the text one by one"


def to_str(vm: Machine, value: Value) -> Value:
    """`str(value)`"""
    if isinstance(value, ConstantValue) and not _is_python_enum(value):
        return vm.evaluate(str, value.value)
    method = vm.python_method(value, "__str__")
    if method is not None:
        return vm.call(method, [value])
    if isinstance(value, ExceptionValue):
        if not value.args:
            return ConstantValue("")
        if issubclass(value.klass, KeyError) and len(value.args) == 1:
            return vm.repr(value.args[0])
        if len(value.args) == 1:
            return vm.str(value.args[0])
        return vm.repr(TupleValue(list(value.args)))
    return vm.repr(value)


def _is_python_enum(value: ConstantValue) -> bool:
    from_c = static_lookup(value.cls, "__str__")
    return from_c is not None and type(from_c[0]).__name__ == "function" and not _trusted(from_c[1])


def _trusted(cls: type) -> bool:
    return cls.__module__ == "enum"


def to_repr(vm: Machine, value: Value) -> Value:
    """`repr(value)`, also of containers of constants. Addresses of objects are not known."""
    if isinstance(value, ConstantValue):
        return vm.evaluate(repr, value.value)
    method = vm.python_method(value, "__repr__")
    if method is not None:
        return vm.call(method, [value])
    if isinstance(value, (ListValue, TupleValue)) and value.cls in (list, tuple):
        parts = [vm.repr(element).constant() for element in value.items]
        comma = "," if value.cls is tuple and len(parts) == 1 else ""
        left, right = _BRACKETS[value.cls.__name__]
        return ConstantValue(left + ", ".join(parts) + comma + right)
    if isinstance(value, DictValue) and value.cls is dict:
        pairs = [
            f"{vm.repr(k).constant()}: {vm.repr(v).constant()}" for k, v in vm.dict_items(value)
        ]
        return ConstantValue("{" + ", ".join(pairs) + "}")
    if isinstance(value, SetValue) and value.cls is set:
        vm.settle_presence(value.elements)
        parts = [vm.repr(element).constant() for element in value.ordered(vm)]
        return ConstantValue("{" + ", ".join(parts) + "}" if parts else "set()")
    if isinstance(value, ExceptionValue):
        args = to_repr(vm, TupleValue(list(value.args))).constant()
        text = args if len(value.args) != 1 else "(" + args[1:-2] + ")"
        return ConstantValue(value.klass.__name__ + text)
    if isinstance(value, (ClassValue, PythonModuleValue)):
        return ConstantValue(repr(value.real()))
    if isinstance(value, (FunctionValue, BuiltinValue)):
        try:
            return ConstantValue(repr(value.real()))
        except NotConstant:
            pass
    try:
        return vm.evaluate(repr, value.constant())
    except NotConstant:
        raise GraphBreak(
            "PTC-B002", f"the text of {value.describe()} is needed at capture", HINT_TEXT
        ) from None


def format_(vm: Machine, value: Value, spec: Value) -> Value:
    """`format(value, spec)`"""
    if (
        isinstance(value, ConstantValue)
        and isinstance(spec, ConstantValue)
        and not _is_python_enum(value)
    ):
        return vm.evaluate(format, value.value, spec.value)
    method = vm.python_method(value, "__format__")
    if method is not None:
        return vm.call(method, [value, spec])
    if spec.constant() == "":
        return vm.str(value)
    try:
        return vm.evaluate(format, value.constant(), spec.constant())
    except NotConstant:
        pass
    if static_lookup(value.cls, "__format__") == (object.__dict__["__format__"], object):
        kind = value.cls.__name__
        raise vm.type_error(f"unsupported format string passed to {kind}.__format__")
    raise GraphBreak("PTC-B002", f"the text of {value.describe()} is needed at capture", HINT_TEXT)


def evaluate_import(
    vm: Machine, name: Any, namespace: dict[str, Any], fromlist: Any, level: int
) -> Value:
    """`import name` as executed in a module with these globals."""
    try:
        if level == 0 and name in sys.modules and (fromlist or "." not in name):
            module = sys.modules[name]
        elif level == 0 and not fromlist:
            importlib.import_module(name)
            module = sys.modules[name.partition(".")[0]]
        else:
            module = __import__(name, namespace, None, fromlist or (), level)
    except ImportError as error:
        raise vm.native_exception(error) from None
    return vm.wrap_fixed(module)
