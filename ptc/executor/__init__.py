"""The executor of the portable IR: a C++ program and library, and its Python side.

`*.cpp` and `*.h` here and in `operators/` are the executor (README.md); `build` compiles them,
`session` runs files through the library with NumPy. No torch: what runs `.ptir` files needs none.
"""
