"""The bytecode layer: everything that knows how CPython 3.11, 3.12 and 3.13 lay out code objects.

In: code objects. Out: decoded instructions, facts about each instruction boundary (stack, live
variables, handlers), control flow, and new code objects (generated functions, resume functions, step
functions). It must not know torch, symbolic values, guards or sources, and imports without torch.

    decode(code)            -> DecodedCode     instructions without CACHE/EXTENDED_ARG, jump targets by index
    analyse(code)           -> Analysis        stack layout, live names, bound names, handlers at any index
    control_flow(code)      -> ControlFlow     basic blocks, post-dominators, join points
    Emitter(...)            -> builds a function, one method a stack operation, same on every version
    make_resume(code, at..) -> ResumeCode      the original code entered in its middle
    make_step(code, at..)   -> StepCode        runs one instruction natively, then calls a resume function
    build_function(text..)  -> function        readable generated Python, known to linecache
"""

from ptc.capture.code.analysis import Analysis, analyse
from ptc.capture.code.decode import DecodedCode, Handler, Instruction, Position, Slot, SlotKind, decode
from ptc.capture.code.emitter import Emitter
from ptc.capture.code.flow import Block, ControlFlow, control_flow
from ptc.capture.code.layout import Argument, ArgumentKind, Layout, ResumeRefused
from ptc.capture.code.resume import ResumeCode, make_resume
from ptc.capture.code.source import build_function
from ptc.capture.code.stack_state import FrameState, ItemKind
from ptc.capture.code.step import StepCode, make_step

__all__ = [
    "Analysis",
    "Argument",
    "ArgumentKind",
    "Block",
    "ControlFlow",
    "DecodedCode",
    "Emitter",
    "FrameState",
    "Handler",
    "Instruction",
    "ItemKind",
    "Layout",
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
    "make_resume",
    "make_step",
]
