"""How calls of C functions and of library functions are captured, by family.

Importing `ptc.capture.builtins_table.all_tables` fills the registry of `interpreter.calls`.
Handlers take the machine and symbolic arguments under the names Python has for them.
"""
