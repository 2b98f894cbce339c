"""How an author writes a code exercise: the right solution, and what students get wrong about it.

Most mistakes need no author: the engine makes them itself by editing the reference, and repairs the
student's code until it is right. An author adds what a machine cannot know, the concept behind a
step (`Exercise.steps`) and the misunderstandings with a name of their own (`bug`), each as a change
of the reference's own text:

    bug("no-self", "A token cannot see itself: ...", ("<=", "<"))

`docs/add_an_exercise.md` has a worked example.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from utils.quiz.mistake import Mistake
from utils.quiz.naming import modules

__all__ = ["Bug", "Exercise", "Mistake", "bug"]
Change = tuple[str, str]


@dataclass(frozen=True)
class Bug:
    """A misunderstanding, what a good teaching assistant says about it, and what it does."""

    name: str  # short id, such as "no-scale"
    says: str  # what happened and why it matters, to the student
    changes: tuple[
        Change, ...
    ] = ()  # pieces of the reference's text, and what stands there instead
    whole: str = ""  # or a whole wrong solution, where it is written too differently for changes
    see: str = ""  # section that explains it; the exercise's own section if empty
    each: bool = False  # is each of the changes by itself this misunderstanding too?


def bug(name: str, says: str, *changes: Change | str, see: str = "", each: bool = False) -> Bug:
    """A bug by its changes, ``("<=", "<")`` each, or by one text that is a whole wrong solution."""
    if len(changes) == 1 and isinstance(changes[0], str):
        return Bug(name, says, whole=changes[0], see=see)
    return Bug(name, says, changes=changes, see=see, each=each)


def _plain_call(student: Any, *args: Any) -> Any:
    return student(*args)


@dataclass(frozen=True, eq=False)
class Exercise:
    """A code exercise. ``probes``, ``square``, ``wider`` take ``r``, a seeded ``randn(*shape)``.

    If ``reference`` is a class of nn.Module, each probe is ``(sizes, *inputs)``: the module is made
    by ``reference(*sizes)``, the student's gets its weights, and both are called on the inputs.
    """

    id: str
    title: str
    see: str  # "03, section 5"
    name: str  # what the student defines: "attention"
    reference: Callable  # clean and readable: what `solution` shows, and what everything is made of
    probes: Callable  # r -> [args, ...]; sizes all different, so that wrong axes cannot hide
    hints: tuple[str, ...]
    also_right: tuple[str, ...]  # sources of right solutions, each written differently
    blank: str  # the cell as the student first sees it
    bugs: tuple[Bug, ...] = ()
    # A piece of the reference's text, and why that step is as it is: told with every finding there.
    steps: Mapping[str, str] = field(default_factory=dict)
    parts: tuple[str, ...] = ("result",)  # what the result consists of
    square: Callable | None = None  # r -> [args, ...] of equal sizes, asked after an exception
    wider: Callable | None = None  # r -> {sentence: args}; failing these earns a remark only
    call: Callable = _plain_call
    tolerance: float = 1e-4
    gradient: bool = False  # must the first part carry gradients to tensor arguments?
    seconds: float = 4.0  # for everything the student's code does in one check
    finish: Callable | None = None  # finish(student) of a right solution: a remark, or a Mistake
    library: Callable | None = None  # what `carry_on` falls back on; the reference if not given

    def run(self, student: Any, *args: Any) -> Any:
        """What a solution gives for one probe."""
        if self.is_module:
            return modules.run(self.reference, student, *args)
        return self.call(student, *args)

    @functools.cached_property
    def is_module(self) -> bool:
        return isinstance(self.reference, type) and self.call is _plain_call

    def right(self, *args: Any) -> Any:
        return self.run(self.reference, *args)

    def wrong(self, name: str, *args: Any) -> Any:
        """What the reference gives with one bug built in."""
        return self.run(self.variant((name,)), *args)

    def bug(self, name: str) -> Bug:
        return next(bug for bug in self.bugs if bug.name == name)

    @functools.cached_property
    def source(self) -> str:
        return inspect.getsource(self.reference).rstrip()

    def variant(self, names: Sequence[str], only: int | None = None) -> Any:
        """The reference with these bugs built in, or ``only`` one change of them.

        Raises ValueError if a change fits nowhere.
        """
        source = self.source
        for bug in map(self.bug, names):
            source = bug.whole or source
            for old, new in bug.changes if only is None else bug.changes[only : only + 1]:
                if old not in source:
                    raise ValueError(f"{self.id}, {bug.name}: the reference has no {old!r}")
                source = source.replace(old, new)
        return self.define(source)

    def define(self, source: str) -> Any:
        """What ``source`` defines under the exercise's name, where the reference lives."""
        space = dict(vars(inspect.getmodule(self.reference)))
        exec(compile(source, f"<{self.id}>", "exec", dont_inherit=True), space)
        return space[self.name]
