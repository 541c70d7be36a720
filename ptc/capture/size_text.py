"""Conditions on sizes as Python text. Takes sympy's expressions, with torch's own integer functions
in them, which are known by their names.
"""

from __future__ import annotations

from typing import Any

import sympy
from sympy.printing.str import StrPrinter

from ptc.capture.errors import GraphBreak


class PythonText(StrPrinter):
    """Prints conditions on sizes as Python. Torch's own integer functions have Python operators."""

    def _binary(self, expr: Any, operator: str) -> str:
        left, right = (f"({self.doprint(arg)})" for arg in expr.args)
        return f"{left} {operator} {right}"

    def _print_Relational(self, expr: Any) -> str:
        symbols = {sympy.Eq: "==", sympy.Ne: "!="}
        return self._binary(expr, symbols.get(type(expr)) or str(expr.rel_op))

    def _print_FloorDiv(self, expr: Any) -> str:
        return f"({self._binary(expr, '//')})"

    _print_CleanDiv = _print_FloorDiv

    def _print_Mod(self, expr: Any) -> str:
        return f"({self._binary(expr, '%')})"

    _print_PythonMod = _print_Mod

    def _print_And(self, expr: Any) -> str:
        return " and ".join(f"({self.doprint(arg)})" for arg in expr.args)

    def _print_Or(self, expr: Any) -> str:
        return " or ".join(f"({self.doprint(arg)})" for arg in expr.args)

    def _print_Not(self, expr: Any) -> str:
        return f"not ({self.doprint(expr.args[0])})"

    def _call(self, name: str, expr: Any) -> str:
        return f"{name}({', '.join(self.doprint(arg) for arg in expr.args)})"

    def _print_Max(self, expr: Any) -> str:
        return self._call("max", expr)

    def _print_Min(self, expr: Any) -> str:
        return self._call("min", expr)

    def _print_ToFloat(self, expr: Any) -> str:
        return self._call("float", expr)

    def _print_IntTrueDiv(self, expr: Any) -> str:
        return f"({self._binary(expr, '/')})"

    _print_FloatTrueDiv = _print_IntTrueDiv

    def _print_PowByNatural(self, expr: Any) -> str:
        return f"({self._binary(expr, '**')})"

    def _print_CeilToInt(self, expr: Any) -> str:
        return f"int(-(-({self.doprint(expr.args[0])}) // 1))"

    def _print_FloorToInt(self, expr: Any) -> str:
        return f"int(({self.doprint(expr.args[0])}) // 1)"

    def _print_TruncToInt(self, expr: Any) -> str:
        return self._call("int", expr)

    def _print_Function(self, expr: Any) -> str:
        return self.emptyPrinter(expr)

    def emptyPrinter(self, expr: Any) -> str:
        raise GraphBreak("PTC-B006", f"the condition {expr} on sizes has no Python form")
