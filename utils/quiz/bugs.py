"""Bugs by the handful: each helper takes what several have in common, then ``name="what to say"``.

bugs=(
    *group("axis", "the line with the sum")(
        first_axis="The sum runs over the first axis.", all_axes="One sum is taken of all."
    ),
    *told("`__init__`")(no_super_init="Call `super().__init__()` first."),
)
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from utils.quiz.exercise import Bug, told_by_call

Bugs = tuple[Bug, ...]


def group(name: str, look: str = "", see: str = "", detect: Any = None) -> Callable[..., Bugs]:
    """Bugs that exclude each other; ``no_scale=`` is the bug "no-scale"."""

    def bugs(**says: str) -> Bugs:
        return tuple(
            Bug(key.replace("_", "-"), text, look, see, name, detect=detect)
            for key, text in says.items()
        )

    return bugs


def single(look: str = "", see: str = "", detect: Any = None) -> Callable[..., Bugs]:
    """Bugs of no group: each may come together with any other."""
    return group("", look, see, detect)


def told(look: str, see: str = "") -> Callable[..., Bugs]:
    """Bugs that the exercise's own ``call`` or ``finish`` names with `Mistake`."""
    return single(look, see, told_by_call)


def rare(names: Collection[str], *bugs: Bug) -> Bugs:
    """The bugs, with those of these names not looked for in pairs."""
    return tuple(replace(bug, rare=True) if bug.name in names else bug for bug in bugs)
