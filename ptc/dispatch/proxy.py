"""`ptc.compile`: a decorator factory that returns a proxy of a function or module.

A compiled function is a plain function with the original's name and signature. A compiled module is
an object of a dynamic subclass of the module's class that shares the original's `__dict__`: every
attribute, parameter, hook and `train()` or `load_state_dict` acts on the one module, and
`isinstance` holds. Pickling and copying a compiled module pickle and copy the original.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any, TypeVar, overload

import torch
from torch import nn

from ptc.backends import eager
from ptc.backends.registry import BackendOptions, resolve_backend
from ptc.dispatch import native
from ptc.dispatch.config import CompileConfig
from ptc.dispatch.entries import Compiler
from ptc.dispatch.notices import notify
from ptc.support.diagnostics import CompileError, Diagnostic

F = TypeVar("F", bound=Callable[..., Any])

_MODES = ("default", "reduce-overhead", "max-autotune")
#: The modules that register backends; ptc.compile needs them loaded.
BACKEND_MODULES = (eager, native)


@overload
def compile(
    model_or_function: F,
    *,
    backend: str | Callable[..., Any] = "native",
    mode: str = "default",
    fullgraph: bool = False,
    dynamic: bool | None = None,
    freeze: bool = False,
    control_flow: bool = False,
    options: dict[str, Any] | None = None,
) -> F: ...


@overload
def compile(
    model_or_function: None = None,
    *,
    backend: str | Callable[..., Any] = "native",
    mode: str = "default",
    fullgraph: bool = False,
    dynamic: bool | None = None,
    freeze: bool = False,
    control_flow: bool = False,
    options: dict[str, Any] | None = None,
) -> Callable[[F], F]: ...


def compile(
    model_or_function: Any = None,
    *,
    backend: str | Callable[..., Any] = "native",
    mode: str = "default",
    fullgraph: bool = False,
    dynamic: bool | None = None,
    freeze: bool = False,
    control_flow: bool = False,
    options: dict[str, Any] | None = None,
) -> Any:
    """Compile a module or function at its first call, for the inputs that it gets.

    model_or_function  an `nn.Module`, a Python function or a bound method; None makes a decorator
    backend            a name from `ptc.list_backends()` or a callable
    mode               torch.compile's names; on the CPU they make no difference
    fullgraph          a graph break is a CompileError instead
    dynamic            True: sizes are symbolic from the first call; False: never; None: those seen
                       to change
    freeze             weights are taken as they are at the first call: packed and folded. Taken
                       anew where a call finds one changed (by the module, an optimizer,
                       `load_state_dict`), and by `refresh()`, which writes through `.data` or NumPy
                       need. One that keeps changing is read live
    control_flow       branches and loops that data decides are part of one graph, instead of graph
                       breaks. What truly needs Python, and calls that record gradients, are
                       compiled with breaks, and a warning says so once. Backends other than
                       `native` do not see such programs: torch runs them operator by operator
    options            further options of the backend

    Parameters and buffers are read from the module's live storage at each call, unless `freeze`.
    Raises CompileError for arguments that cannot be compiled.
    """
    if model_or_function is None:
        return functools.partial(
            compile, backend=backend, mode=mode, fullgraph=fullgraph, dynamic=dynamic,
            freeze=freeze, control_flow=control_flow, options=options,
        )  # fmt: skip
    _check_mode(mode)
    config = CompileConfig(
        backend=resolve_backend(backend),
        backend_name=backend if isinstance(backend, str) else getattr(backend, "__name__", "?"),
        backend_options=BackendOptions(freeze, mode, dict(options or {})),
        fullgraph=fullgraph,
        dynamic=dynamic,
        control_flow=control_flow,
    )
    if isinstance(model_or_function, nn.Module):
        return compile_module(model_or_function, config)
    return compile_function(model_or_function, config)


def _check_mode(mode: str) -> None:
    if mode not in _MODES:
        raise CompileError(
            "PTC-D002", f"unknown mode {mode!r}", hint=f"choose one of {', '.join(_MODES)}"
        )
    if mode != "default":
        notify(
            Diagnostic(
                "PTC-D004",
                f"mode {mode!r} makes no difference on the CPU",
                hint="leave it out; freeze=True is what makes inference faster",
                severity="note",
            )
        )


def compile_function(function: Any, config: CompileConfig) -> Callable[..., Any]:
    """The proxy of a Python function or bound method."""
    if getattr(function, "__ptc_compiler__", None) is not None:
        return function
    bound = getattr(function, "__self__", None)
    target: Any = getattr(function, "__func__", function)
    if isinstance(target, type) or not hasattr(target, "__code__"):
        call: Any = vars(type(target)).get("__call__")
        if isinstance(target, type) or not hasattr(call, "__code__"):
            raise CompileError(
                "PTC-D003",
                f"cannot compile {function!r}: it is neither an nn.Module nor a Python function",
                hint="pass a module instance, a function or a bound method",
            )
        bound, target = target, call
    compiler = Compiler(config)
    run = compiler.dispatch(target)

    @functools.wraps(target)
    def compiled(*args: Any, **kwargs: Any) -> Any:
        return run(*args, **kwargs)

    compiled.__ptc_compiler__ = compiler  # type: ignore[attr-defined]
    if bound is not None:
        return _bound(compiled, bound)
    return compiled


def _bound(compiled: Callable[..., Any], owner: Any) -> Callable[..., Any]:
    @functools.wraps(compiled)
    def method(*args: Any, **kwargs: Any) -> Any:
        return compiled(owner, *args, **kwargs)

    return method


class CompiledModule(nn.Module):
    """The behaviour that a compiled module adds to its class. Never instantiated by itself."""

    _ptc_original: nn.Module
    _ptc_config: CompileConfig
    _ptc_compiler: Compiler

    def __init_subclass__(cls, **options: Any) -> None:
        """A proxy class is no subclass that the module's author needs to hear of."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        original = type(self)._ptc_original
        if _has_hooks(original):
            return super().__call__(*args, **kwargs)
        return type(self)._ptc_run(original, *args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return type(self)._ptc_run(type(self)._ptc_original, *args, **kwargs)

    @staticmethod
    def _ptc_run(original: nn.Module, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def refresh(self) -> None:
        """Forget what was compiled, and so take frozen weights anew; live weights need none."""
        type(self)._ptc_compiler.refresh()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return compile_module, (type(self)._ptc_original, type(self)._ptc_config)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return compile_module(copy.deepcopy(type(self)._ptc_original, memo), type(self)._ptc_config)

    def __copy__(self) -> Any:
        return compile_module(copy.copy(type(self)._ptc_original), type(self)._ptc_config)


def compile_module(module: nn.Module, config: CompileConfig) -> nn.Module:
    """The proxy of a module; of a proxy, the proxy itself."""
    if isinstance(module, CompiledModule):
        return module
    cls = type(module)
    compiler = Compiler(config)

    def run(original: nn.Module, *args: Any, **kwargs: Any) -> Any:
        forward = original.__dict__.get("forward")
        if forward is None:
            return dispatch_class_forward(original, *args, **kwargs)
        # A forward set on the instance (as peft and accelerate do) is called without self.
        return compiler.dispatch_any(forward)(*args, **kwargs)

    def dispatch_class_forward(original: nn.Module, *args: Any, **kwargs: Any) -> Any:
        return compiler.dispatch(_function_of(type(original).forward))(original, *args, **kwargs)

    namespace = {
        "__module__": cls.__module__,
        "__qualname__": f"Compiled{cls.__qualname__}",
        "__doc__": cls.__doc__,
        "_ptc_original": module,
        "_ptc_config": config,
        "_ptc_compiler": compiler,
        "_ptc_run": staticmethod(run),
        "__class__": property(lambda self: type(self), _swap_class),
    }
    proxy_class = type(f"Compiled{cls.__name__}", (CompiledModule, cls), namespace)
    proxy = object.__new__(proxy_class)
    object.__setattr__(proxy, "__dict__", module.__dict__)
    return proxy


def _swap_class(proxy: Any, cls: type) -> None:
    """`proxy.__class__ = X` (parametrizations do this) changes the original module's class."""
    type(proxy)._ptc_original.__class__ = cls


def _function_of(forward: Any) -> Any:
    """The plain function of a method, which decorators may have turned into a callable object."""
    if not hasattr(forward, "__code__"):
        raise CompileError(
            "PTC-D003",
            f"cannot compile {forward!r}: forward is not a Python function",
            hint="define forward with `def`",
        )
    return forward


def _has_hooks(module: nn.Module) -> bool:
    state = module.__dict__
    return bool(
        state["_forward_hooks"]
        or state["_forward_pre_hooks"]
        or state["_backward_hooks"]
        or state["_backward_pre_hooks"]
        or torch.nn.modules.module._has_any_global_hook()  # pyright: ignore[reportPrivateUsage]
    )


def compiler_of(compiled: Any) -> Compiler:
    """The compiler behind a compiled module, function or bound method."""
    if isinstance(compiled, CompiledModule):
        return type(compiled)._ptc_compiler  # pyright: ignore[reportPrivateUsage]
    return compiled.__ptc_compiler__
