"""The symbolic interpreter of CPython bytecode.

`machine.Machine` holds the state of one capture; its operations (`vm.getattr`, `vm.call`, ...) are
free functions in `attributes`, `calls`, `operators` and `wrapping`; opcode handlers are in `ops_*`.
"""
