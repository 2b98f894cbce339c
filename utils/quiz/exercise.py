"""How an author writes a code exercise: one reference with named bug switches.

    def switched(bug, x):                       # the right answer when no switch is on
        return x / x.norm() if not bug("no-root") else x / (x @ x)

Everything else (the tables of wrong answers, their pairs, the messages, the fallback) is made
from that. The author's guide with a worked example is the README beside this file.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class Bug:
    """One mistake that students really make, and what a good teaching assistant says about it."""

    name: str  # short id, such as "no-scale"
    says: str  # what happened and why it matters, to the student
    look: str = ""  # which line to look at
    see: str = ""  # section that explains it; the exercise's own section if empty
    group: str = ""  # bugs of one group exclude each other (no pairs within it)
    rare: bool = False  # named alone, but not looked for in pairs (saves time at first use)
    # A mistake no switch can produce exactly (a constant typed by hand, say) is recognised instead:
    # detect(probes, results) gives True, a sentence to add, or None; results are tuples of arrays.
    detect: Callable[[list, list], Any] | None = None
    # Where the code stops with an exception and nothing else tells: a pattern of that very line.
    line: str = ""


def told_by_call(probes: list, results: list) -> None:
    """``detect`` of a bug that the exercise's own ``call`` or ``finish`` names with `Mistake`."""


class Switches:
    """The set of switches that are on, handed to the author's reference as ``bug``."""

    def __init__(self, on: Sequence[str], known: frozenset[str]):
        self.on, self.known = frozenset(on), known
        self.asked: set[str] = set()  # as keywords, "no_scale"; the build proves that all are
        self._keywords = frozenset(name.replace("-", "_") for name in on)

    def __call__(self, name: str) -> bool:
        if name not in self.known:
            raise KeyError(f"the reference asks for a bug {name!r} that the exercise does not list")
        self.asked.add(name.replace("-", "_"))
        return name in self.on

    def choose(self, right: Callable[[], Any], **wrong: Callable[[], Any]) -> Any:
        """``right()``, or the alternative that is on. ``no_scale=`` stands for "no-scale"."""
        self.asked.update(wrong)
        on = self._keywords & wrong.keys()
        return wrong[min(on)]() if on else right()


class Mistake(Exception):
    """Raised by an exercise's own ``call`` to name a bug: ``raise Mistake("plain-tensors")``."""

    def __init__(self, name: str, extra: str = ""):
        super().__init__(name)
        self.name, self.extra = name, extra


@dataclass(frozen=True)
class Invariant:
    """Something that must not matter: after ``change(args)``, ``keep(result)`` is the same."""

    sentence: str
    change: Callable[[tuple], tuple]
    keep: Callable[[Any], Any] = lambda result: result
    keep_changed: Callable[[Any], Any] | None = (
        None  # if the result must change along, undo it here
    )


@dataclass(frozen=True, eq=False)
class Exercise:
    """A code exercise. ``probes``, ``square``, ``wider`` take ``r``, a seeded ``randn(*shape)``."""

    id: str
    title: str
    see: str  # "03, section 5"
    name: str  # what the student defines: "attention"
    reference: Callable  # clean and readable: what `solution` shows
    switched: Callable  # switched(bug, *args): the same with the mistakes built in
    bugs: tuple[Bug, ...]
    probes: Callable  # r -> [args, ...]; sizes all different, so that wrong axes cannot hide
    hints: tuple[str, ...]
    also_right: tuple[str, ...]  # sources of right solutions, each written differently
    blank: str  # the cell as the student first sees it
    parts: tuple[str, ...] = ("result",)  # what the result consists of
    square: Callable | None = None  # r -> [args, ...] of equal sizes, asked after an exception
    wider: Callable | None = None  # r -> {sentence: args}; failing these earns a remark only
    call: Callable = lambda student, *args: student(*args)
    tolerance: float = 1e-4
    rows_sum_to_one: int | None = None  # which part is a table of weights
    invariants: tuple[Invariant, ...] = ()
    gradient: bool = False  # must the first part carry gradients to tensor arguments?
    seconds: float = 4.0  # for everything the student's code does in one check
    finish: Callable | None = None  # finish(student) of a right solution: a remark, or a Mistake
    library: Callable | None = None  # what `carry_on` falls back on; the reference if not given

    def bug(self, name: str) -> Bug:
        return next(bug for bug in self.bugs if bug.name == name)

    @cached_property
    def switch_names(self) -> frozenset[str]:
        return frozenset(bug.name for bug in self.bugs if bug.detect is None)

    def right(self, *args: Any) -> Any:
        return self.switched(Switches((), self.switch_names), *args)

    def wrong(self, names: Sequence[str], *args: Any) -> Any:
        return self.switched(Switches(names, self.switch_names), *args)

    def source(self) -> str:
        return inspect.getsource(self.reference).rstrip()
