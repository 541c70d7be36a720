"""The bytecode layer: everything that knows how CPython 3.11, 3.12 and 3.13 lay out code objects.

In: code objects. Out: decoded instructions, facts about each instruction boundary (stack, live
variables, handlers), control flow, and new code objects (generated functions, resume functions,
step functions). It must not know torch, symbolic values, guards or sources; it imports no torch.

    decode(code)            DecodedCode: instructions without CACHE and EXTENDED_ARG, by index
    analyse(code)           Analysis: stack, live and bound variables, handlers at any index
    control_flow(code)      ControlFlow: basic blocks, post-dominators, join points
    place_flow(code)        PlaceFlow: the same by single places, with handlers and loops
    Emitter(...)            builds a function, one method a stack operation, same on every Python
    make_resume(code, ...)  ResumeCode: the original code entered in its middle
    make_step(code, ...)    StepCode: runs one instruction natively, then calls a resume function
    build_function(...)     a function from readable generated Python, known to linecache

What differs between the Pythons, opcode by opcode, is in `versions`.
"""

from ptc.capture.code.analysis import Analysis, analyse
from ptc.capture.code.assemble import Label
from ptc.capture.code.decode import (
    DecodedCode,
    Handler,
    Instruction,
    Position,
    Slot,
    SlotKind,
    decode,
)
from ptc.capture.code.emitter import Emitter
from ptc.capture.code.flow import EXIT, Block, ControlFlow, PlaceFlow, control_flow, place_flow
from ptc.capture.code.layout import Argument, ArgumentKind, EnteredCode, Layout, ResumeRefused
from ptc.capture.code.per_code import forget_all
from ptc.capture.code.resume import Origin, ResumeCode, make_resume, origin
from ptc.capture.code.source import build_function
from ptc.capture.code.stack_state import FrameState, ItemKind
from ptc.capture.code.step import StepCode, make_step

__all__ = [
    "EXIT",
    "Analysis",
    "Argument",
    "ArgumentKind",
    "Block",
    "ControlFlow",
    "DecodedCode",
    "Emitter",
    "EnteredCode",
    "FrameState",
    "Handler",
    "Instruction",
    "ItemKind",
    "Label",
    "Layout",
    "Origin",
    "PlaceFlow",
    "Position",
    "ResumeCode",
    "ResumeRefused",
    "Slot",
    "SlotKind",
    "StepCode",
    "analyse",
    "build_function",
    "control_flow",
    "decode",
    "forget_all",
    "make_resume",
    "make_step",
    "origin",
    "place_flow",
]
