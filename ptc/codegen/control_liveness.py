"""Where the variables of a program with control flow are read for the last time.

Takes a tree of items, gives for each item the tensors, texts and lists that are dead after it, so
that the generated function can give their memory back. Knows no C++.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ptc.graph.control import (
    Assign,
    Body,
    ControlProgram,
    DataSized,
    If,
    Item,
    ListItem,
    ListVar,
    MakeText,
    Raise,
    Segment,
    Switch,
    TensorVar,
    TextItem,
    TextVar,
    While,
    bodies,
)
from ptc.graph.control_parts import reads_of
from ptc.graph.program import InputKind

Names = frozenset[str]


@dataclass(slots=True)
class Liveness:
    """Names that are dead: after an item (`after`), at the start of a body (`before`)."""

    after: dict[int, Names] = field(default_factory=dict[int, Names])  # by id of the item
    before: dict[int, Names] = field(default_factory=dict[int, Names])  # by id of the body


def liveness(program: ControlProgram) -> Liveness:
    """Where each tensor and list of the program dies."""
    buffers = frozenset(i.name for i in program.inputs if i.live is not None) & program.written
    kept = frozenset(reference.variable.name for reference in program.references)
    return _Analysis(buffers | kept).run(program)


@dataclass(slots=True)
class _Analysis:
    kept: Names  # from call to call, however the run ends
    found: Liveness = field(default_factory=Liveness)

    def run(self, program: ControlProgram) -> Liveness:
        outputs = _names(output.value for output in program.outputs)
        needed = self.body(program.body, outputs | self.kept)
        inputs = frozenset(i.name for i in program.inputs if i.kind is InputKind.USER)
        self.found.before[id(program.body)] = inputs - needed
        return self.found

    def body(self, body: Body, live: Names) -> Names:
        """The names that are live before `body` if `live` are after it."""
        for item in reversed(body.items):
            before = self.before(item, live)
            self.found.after[id(item)] = self.dying(item, before, live)
            live = before
        self.found.before.setdefault(id(body), frozenset())
        return live

    def dying(self, item: Item, before: Names, live: Names) -> Names:
        if isinstance(item, If | Switch | Raise):
            return frozenset()  # arms drop what they leave behind themselves
        return (before | assigned(item)) - live

    def before(self, item: Item, live: Names) -> Names:
        if isinstance(item, While):
            # What the next iteration needs is live at the end of this one.
            joined = live
            while True:
                needed = self.body(item.body, joined)
                if needed <= joined:
                    return needed
                joined = joined | needed
        if isinstance(item, If | Switch):
            arms = [self.body(arm, live) for arm in bodies(item)]
            joined = frozenset[str]().union(*arms)
            for arm, needed in zip(bodies(item), arms, strict=True):
                self.found.before[id(arm)] = joined - needed
            return joined
        if isinstance(item, Raise):
            return reads(item) | self.kept
        return (live - assigned(item)) | reads(item)


def reads(item: Item) -> Names:
    """The tensors and lists that an item without bodies reads."""
    if isinstance(item, Segment):
        kinds = (InputKind.PARAMETER, InputKind.CONSTANT, InputKind.SCALAR)
        return frozenset(i.name for i in item.program.inputs if i.kind not in kinds)
    return _names(reads_of(item))


def assigned(item: Item) -> Names:
    """The tensors and lists that an item without bodies assigns as a whole."""
    if isinstance(item, Segment):
        return frozenset(o.name for o in item.program.outputs)
    if isinstance(item, Assign | ListItem | MakeText | TextItem):
        return _names([item.target])
    if isinstance(item, DataSized):
        return _names(item.targets)
    return frozenset()


def _names(values: Iterable[object]) -> Names:
    return frozenset(v.name for v in values if isinstance(v, TensorVar | TextVar | ListVar))
