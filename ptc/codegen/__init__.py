"""Code generation: scheduled loop programs to C++ sources, and sources to native libraries."""
