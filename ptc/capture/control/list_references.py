"""Lists that are in lists whose length data decides: references to lists that variables hold.

Every list that may be referred to by two names has elements of one form, which does not change. An
element that does not fit is learned: capture starts again, and what is made at the same places is
wide enough from the beginning. Lists of one known length and no second name may be kept in place
instead (`list_rows`), as long as nothing asks for more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from ptc.capture.control import lists
from ptc.capture.control.element_forms import LongForm, has_references
from ptc.capture.control.kept_forms import Unkept, element_of, list_form
from ptc.capture.control.list_classes import Site, place_of
from ptc.capture.control.list_forms import (
    EMPTY,
    Form,
    ListForm,
    OneOfForm,
    Perhaps,
    TupleForm,
    Unlistable,
    joined,
    same_form,
)
from ptc.capture.control.list_rows import RowValue, TakenList
from ptc.capture.control.list_shapes import depth, has_objects, has_several
from ptc.capture.control.lists import DataListValue, ListState
from ptc.capture.control.splits import Restart
from ptc.capture.control.tuples import DataTupleValue
from ptc.capture.errors import GraphBreak
from ptc.capture.values.base import Value
from ptc.capture.values.births import now
from ptc.capture.values.containers import ListValue, TupleValue
from ptc.graph.control import ListVar

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine

_DEEPEST = 6
_MOST_APART = 8
_MOST_MIXED = 16


class References:
    """What one capture knows of lists in lists."""

    def __init__(self, vm: ControlMachine) -> None:
        self._vm = vm
        self._births: dict[int, Site] = {}
        self._alive: list[Any] = []
        self._names: dict[int, str] = {}  # of lists that no variable holds yet
        self._learned: dict[Site, Form] = {}
        self._open: set[int] = set()  # lists whose elements are being looked at
        self._apart = 0
        self._mixed = 0  # of which elements of several kinds would have been enough

    # -- places --------------------------------------------------------------------------------

    def born(self, content: Any) -> None:
        """A list, dictionary or set with this content is on top of the stack."""
        if id(content) not in self._births:
            self._note_birth(content, self.here())

    def _note_birth(self, content: Any, site: Site) -> None:
        self._births[id(content)] = site
        self._alive.append(content)

    def birth_of(self, content: Any) -> Site | None:
        """Where the list, dictionary or set with this content was first on top of the stack."""
        return self._births.get(id(content))

    def part(self, column: ListValue, content: Any, number: int) -> None:
        """A list is made of the content of a dictionary or set, and counts as made where that
        was."""
        self.born(content)
        self._note_birth(column.items, (self._births[id(content)], number))

    def here(self) -> Site:
        return place_of(self._vm.frames)

    def site_of(self, value: Any) -> Site:
        """Where a list was made, or is first asked for."""
        if value.source is not None:
            return ("outside", value.source.text())
        self.born(value.items)
        return self._births[id(value.items)]

    def name_of(self, value: Any) -> str:
        """The first variable of a list, or what stands for it."""
        if isinstance(value, DataListValue):
            return value.state.name
        found = self._names.get(id(value.items))
        if found is None:
            found = self._names[id(value.items)] = f"list {now()}"
            self._alive.append(value.items)
            self._vm.lists.classes.note(found, id(value.items), self.site_of(value))
        return found

    # -- forms ---------------------------------------------------------------------------------

    def form_at(self, site: Site, form: Form | None) -> Form | None:
        """The form of a list that is made there, with elements of a form."""
        vm = self._vm
        if site not in vm.state.known.elements:
            return form
        if site not in self._learned:
            self._learned[site] = list_form(vm.state.known.elements[site])
        learned = self._learned[site]
        return learned if form is None else joined(vm, learned, form)

    def form(self, value: Value, like: Form | None) -> ListForm | LongForm | None:
        """The form of a list as an element, if it is a reference; of a tuple of unknown length."""
        if isinstance(value, DataTupleValue):
            if has_references(value.elements.state.form):
                raise Unlistable("lists in tuples of unknown length")
            return LongForm(value.elements.state.form)
        if isinstance(value, TakenList):
            raise Unlistable(value.describe(), by_reference=True)
        if isinstance(value, DataListValue) and value.klass is list:
            return ListForm(value.state.form, value.state.name)
        if not isinstance(value, ListValue) or value.klass is not list or value.attrs:
            return None
        wanted = isinstance(like, ListForm)
        if isinstance(value, RowValue):
            raise Unlistable("a list that is in another list", by_reference=True)
        sure = wanted or not value.items or any(map(_is_list, value.items))
        known = self._vm.state.known
        if not sure and not known.by_reference and self.site_of(value) not in known.elements:
            return None
        try:
            element = self.element_form(value)
        except Unlistable:
            if sure:
                raise
            return None
        return ListForm(element, self.name_of(value))

    def element_form(self, value: Any) -> Form:
        """The form of the elements of a list, when variables hold it."""
        if isinstance(value, DataListValue):
            return value.state.form
        if id(value) in self._open:
            raise Unlistable("a list that holds itself")
        self._open.add(id(value))
        try:
            form = lists.common_form(self._vm, [value.items])
        finally:
            self._open.discard(id(value))
        return self.form_at(self.site_of(value), form) or EMPTY

    def resolved(self, items: Sequence[Any], content: Callable[[Any], list[Any]]) -> list[Any]:
        """Elements with the lists among them as they are in another state, where their `content` is
        that."""
        return [self._resolved(item, content) for item in items]

    def _resolved(self, item: Any, content: Callable[[Any], list[Any]]) -> Any:
        if isinstance(item, Perhaps):
            return Perhaps(self._resolved(item.value, content), item.choice)
        if isinstance(item, TupleValue) and not item.attrs:
            parts = self.resolved(item.items, content)
            same = all(a is b for a, b in zip(parts, item.items, strict=True))
            return item if same else TupleValue(parts, item.klass)
        if not _is_list(item) or isinstance(item, RowValue) or id(item) in self._open:
            return item
        items = content(item)
        if lists.is_state(items):
            known = bool(item.items) and items[0] is item.items[0]
            return item if known else DataListValue(items[0])
        self._open.add(id(item))
        try:
            return self._like(item, self.resolved(items, content))
        finally:
            self._open.discard(id(item))

    def _like(self, value: Any, items: list[Any]) -> ListValue:
        """What stands for a list with this content."""
        result = ListValue(items)
        self._note_birth(result.items, self.site_of(value))
        self._names[id(result.items)] = self.name_of(value)
        return result

    # -- going in ------------------------------------------------------------------------------

    def handles(self, form: ListForm, value: Any) -> tuple[ListVar, ...]:
        """The variables of a list that goes into another one, which it gets if it has none."""
        vm = self._vm
        if not isinstance(value, DataListValue):
            lists.hold(vm, value, wide=form.element)
        if not same_form(vm, value.state.form, form.element):
            self._fit(value, form.element)
        vm.lists.same(value.state.name, form.group)
        vm.lists.classes.of(form.group).in_list = True
        return value.state.vars

    def _fit(self, value: DataListValue, form: Form) -> None:
        """Make a list one with elements of this form, which is wider."""
        vm, state = self._vm, value.state
        if joined(vm, form, state.form) is not form or not vm.lists.alone(state.name):
            self.require_form(state, form)
        lists.replace(vm, value, form, [state])

    def require_alike(self, state: ListState, source: ListState) -> None:
        """Two variables are about to have one list. By one name it may have become wider: the other
        variable is used no more. By two they have to be of one form."""
        vm = self._vm
        if not same_form(vm, state.form, source.form):
            mine, its = vm.lists.classes.of(state.name), vm.lists.classes.of(source.name)
            other_leaves = has_several(state.form) and source.form is not EMPTY
            if its.in_list or its.origins != mine.origins or other_leaves:
                self.learn([state.name, source.name], joined(vm, state.form, source.form))
        self._require_same_references(state.form, source.form)

    def require_same_leaves(self, state: ListState, form: Form) -> None:
        """A list that is to have elements of this form has a variable for each part of it. Where
        lists have elements of several kinds, it numbers its objects in the same way, too."""
        several = has_several(form) or (self._vm.state.known.mixed and has_objects(form))
        if several and state.form is not EMPTY:
            self.require_form(state, form)

    def require_form(self, state: ListState, form: Form) -> None:
        """A list that has two names keeps its form."""
        if not same_form(self._vm, state.form, form):
            self.learn([state.name], joined(self._vm, form, state.form))

    def _require_same_references(self, form: Form, other: Form) -> None:
        """The lists in two lists that are to be one, or to share elements, are of one form."""
        vm = self._vm
        parts = (TupleForm, OneOfForm)
        if isinstance(form, parts) and isinstance(other, parts):
            for mine, its in zip(form.parts, other.parts, strict=True):
                self._require_same_references(mine, its)
        if isinstance(form, ListForm) and isinstance(other, ListForm):
            if not same_form(vm, form.element, other.element):
                element = joined(vm, form.element, other.element)
                self.learn([form.group, other.group], element)
            vm.lists.same(form.group, other.group)
            self._require_same_references(form.element, other.element)

    require_same_references = _require_same_references

    def joined(self, one: ListForm, other: ListForm) -> ListForm:
        """The form of a list with references of both forms; `one` itself if that is enough."""
        vm = self._vm
        element = joined(vm, one.element, other.element)
        in_list = vm.lists.classes.of(one.group).in_list
        vm.lists.same(one.group, other.group)
        if element is one.element:
            return one
        if in_list:
            self.learn([one.group], element)
        return ListForm(element, one.group)

    # -- learning ------------------------------------------------------------------------------

    def learn(self, names: list[str], form: Form) -> NoReturn:
        """Start again with what is made where these lists are wide enough for a form."""
        vm = self._vm
        sites = set[Site]().union(*(vm.lists.classes.of(name).sites for name in names))
        try:
            if depth(form) > _DEEPEST:
                raise Unkept("lists that hold themselves")
            element = element_of(form)
            # Each has to learn it, not only the first
            learned = [vm.state.found.learn(site, element) for site in sites]
        except Unkept as why:
            raise _refusal(str(why)) from None
        if not any(learned):
            raise _refusal("elements of a kind that is seen too late")
        raise Restart

    def kept_apart(self, by_reference: bool, mixed: bool) -> None:
        """Ways go on apart as a list cannot have the content of each. Where references would do, or
        elements of several kinds, few may."""
        self._apart += by_reference
        self._mixed += mixed
        self.reconsider(self._apart > _MOST_APART, self._mixed > _MOST_MIXED)

    def last_resort(self) -> None:
        """Ways cannot go on apart."""
        self.reconsider(self._apart > 0, self._mixed > 0)

    def reconsider(self, by_reference: bool, mixed: bool = False) -> None:
        """Start again with lists in lists as references, if that may help where lists of a known
        length, kept in place, do not; or with elements of several kinds."""
        if mixed and not self._vm.state.known.mixed:
            self._vm.state.found.learn_mixed()
            raise Restart
        if by_reference and not self._vm.state.known.by_reference:
            self._vm.state.found.learn_references()
            raise Restart


def _refusal(what: str) -> GraphBreak:
    return GraphBreak(
        "PTC-B006",
        f"lists that are in other lists, or have two names, would hold {what}",
        "keep numbers of one type, or tensors of one dtype and number of dimensions, in them",
    )


def _is_list(value: Value) -> bool:
    return isinstance(value, (ListValue, DataListValue))
