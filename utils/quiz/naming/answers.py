"""All answers that an exercise can get: the right one, and those of its wrong variants.

The variants are the author's bugs, alone and in pairs, and every small edit of the right solutions.
They are run once, when the file of fingerprints is written (`make prints`), and only looked up
afterwards. An exercise whose text has changed since makes its prints anew when they are first asked
for, which takes a second or two.
"""

from __future__ import annotations

import ast
import copy
import functools
import hashlib
import inspect
import io
import itertools
import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from utils.quiz.exercise import Exercise, Mistake
from utils.quiz.guard import guarded
from utils.quiz.naming import prints
from utils.quiz.naming.edits import edits_of
from utils.quiz.naming.prints import Print
from utils.quiz.naming.slips_of_shapes import initials
from utils.quiz.naming.sources import Source, run_source
from utils.quiz.naming.trees import number
from utils.quiz.outcome import Outcome, failed, normalise, same
from utils.quiz.surroundings import clean_torch

FOLDER = Path(__file__).with_name("fingerprints")
MADE_BY = ("edits", "slips", "slips_of_calls", "trees", "sources", "prints", "answers")
ENOUGH = 5  # edits that give the same answer and are kept


@dataclass(frozen=True)
class Variant:
    """Why an answer is wrong: bugs of the author, or an edit of a right solution."""

    bugs: tuple[str, ...] = ()
    kind: str = ""
    words: str = ""
    weight: float = 0.0
    line: int = 0  # of the reference; 0 where another right solution was edited
    piece: str = ""
    needs: tuple[str, ...] = ()  # operations that the edit put in: a text with this slip has them
    lost: tuple[str, ...] = ()  # operations that are gone from it: such a text has none of them


def random_maker(seed: int) -> Callable[..., torch.Tensor]:
    """``r(2, 5, 8)``: normal numbers, the same on every machine; `r.ints(low, high, *shape)`."""
    generator = torch.Generator(device="cpu").manual_seed(seed)

    def r(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float32, device="cpu")

    def ints(low: int, high: int, *shape: int) -> torch.Tensor:
        return torch.randint(low, high, shape, generator=generator, device="cpu")

    r.ints = ints  # type: ignore[attr-defined]
    return r


class Answers:
    """The probes of one exercise, their right answers, and the wrong ones by fingerprint."""

    def __init__(self, exercise: Exercise):
        self.exercise = exercise
        seed = zlib.crc32(exercise.id.encode())
        nothing = lambda r: ()  # noqa: E731
        with clean_torch():
            self.probes: list[tuple] = list(exercise.probes(random_maker(seed)))
            self.square: list[tuple] = list((exercise.square or nothing)(random_maker(seed + 1)))
            self.wider = dict((exercise.wider or nothing)(random_maker(seed + 2)))
            self.all = [*self.probes, *self.square]
            self.right = [self.run(exercise.reference, args) for args in self.all]
            right = exercise.reference
            self.wider_right = {s: self.run(right, args) for s, args in self.wider.items()}

    def run(self, solution: Any, args: tuple) -> Outcome:
        torch.default_generator.manual_seed(0)
        try:
            return normalise(self.exercise.run(solution, *copy_args(args)))
        except Mistake as mistake:
            return failed(f"Mistake: {mistake.name}")
        except Exception as error:
            return failed(error_text(error))

    @functools.cached_property
    def names(self) -> list[str]:
        """The reference's arguments, in the order of a probe."""
        exercise = self.exercise
        function = exercise.reference.forward if exercise.is_module else exercise.reference
        given = list(inspect.signature(function).parameters)
        return ["the sizes", *given[1:]] if exercise.is_module else given

    @functools.cached_property
    def all_names(self) -> list[str]:
        """The same, with the sizes of a module by their own names."""
        if not self.exercise.is_module:
            return self.names
        return [*inspect.signature(self.exercise.reference).parameters, *self.names[1:]]

    def flat(self, args: tuple) -> tuple:
        """A probe as ``all_names`` calls its values."""
        return (*args[0], *args[1:]) if self.exercise.is_module else args

    @functools.cached_property
    def sources(self) -> list[Source]:
        """The right solutions, the reference first."""
        exercise = self.exercise
        home = vars(inspect.getmodule(exercise.reference))
        found = [Source(exercise.source, exercise.name, home)]
        for text in exercise.also_right:
            function = run_source(text, exercise.name)
            inner = function if not isinstance(function, type) else function.__init__
            found.append(Source(text, exercise.name, inner.__globals__))
        return found

    @functools.cached_property
    def taken_apart(self) -> set[str]:
        """In which order right solutions take results apart, by the initials of the names."""
        nodes = (node for source in self.sources for node in ast.walk(source.tree))
        assigns = (n.targets[0] for n in nodes if isinstance(n, ast.Assign))
        return {initials(target.elts) for target in assigns if isinstance(target, ast.Tuple)}

    @functools.cached_property
    def bools(self) -> set[str]:
        """Arguments that hold booleans."""
        pairs = ((n, a) for args in self.all for n, a in zip(self.names, args, strict=False))
        return {n for n, a in pairs if isinstance(a, torch.Tensor) and a.dtype == torch.bool}

    @functools.cached_property
    def constants(self) -> set:
        """The numbers that right solutions are written with."""
        nodes = (node for source in self.sources for node in ast.walk(source.tree))
        found = {n for n in map(number, nodes) if isinstance(n, int | float)}
        return found | {float("-inf")}

    # The wrong answers.

    def _variants(self) -> Iterator[tuple[Variant, Callable[[], Any]]]:
        exercise = self.exercise
        names = [bug.name for bug in exercise.bugs]
        for chosen in [*((n,) for n in names), *itertools.combinations(names, 2)]:
            yield Variant(bugs=chosen), functools.partial(exercise.variant, chosen)
        for bug in (bug for bug in exercise.bugs if bug.each):
            for place in range(len(bug.changes)):
                make = functools.partial(exercise.variant, (bug.name,), place)
                yield Variant(bugs=(bug.name,)), make
        for index, source in enumerate(self.sources):
            for edit in edits_of(source.own, self.bools, set()):
                if edit.made and "a step is" not in edit.made[1]:  # of a step without a name
                    kind, words = edit.made
                    line = edit.line if index == 0 else 0
                    texts = source.changes(edit)
                    variant = Variant((), kind, words, edit.weight, line, edit.piece, *texts)
                    yield variant, functools.partial(source.define, edit)

    def build(self) -> tuple[list[Variant], Print]:
        """Run all variants on all probes, and keep those that are wrong."""
        kept: dict[bytes, list[tuple[Variant, Print]]] = {}
        parts = len(self.exercise.parts)
        with clean_torch():
            for variant, make in self._variants():
                outcomes = self._outcomes(make)
                if outcomes is None or self._right(outcomes, not variant.bugs):
                    continue
                taken = prints.stack([prints.take(o, parts) for o in outcomes])
                same_answer = kept.setdefault(np.round(taken.places, 2).tobytes(), [])
                edits = [v for v, _ in same_answer if not v.bugs]
                if (
                    variant.bugs
                    or len(edits) < ENOUGH
                    and not any(v.words == variant.words for v in edits)
                ):
                    same_answer.append((variant, taken))
        entries = [entry for same_answer in kept.values() for entry in same_answer]
        entries.sort(key=lambda e: (len(e[0].bugs) == 0, len(e[0].bugs), -e[0].weight))
        if not entries:
            right = [prints.take(o, parts) for o in self.right]
            return [], prints.stack([prints.stack(right)])
        return [v for v, _ in entries], prints.stack([p for _, p in entries])

    def _outcomes(self, make: Callable[[], Any]) -> list[Outcome] | None:
        """What a variant gives on every probe; None if it cannot be made or does not end."""
        try:
            solution = make()
        except Exception:
            return None
        ran = guarded(lambda: [self.run(solution, args) for args in self.all], 1.0)
        outcomes = ran.value if ran.ended_well else None
        if outcomes and all(o.raised for o in outcomes[: len(self.probes)]):
            usual = ("RuntimeError", "IndexError", "ValueError", "Mistake")
            if not all(o.raised.startswith(usual) for o in outcomes if o.raised):
                return None  # a name that is missing: an edit of this tree only
        return outcomes

    def _right(self, outcomes: list[Outcome], edited: bool) -> bool:
        """Nothing to tell by? (An edit that shows on square inputs only would fit many.)"""
        count = len(self.probes) if edited else len(self.all)
        pairs = zip(outcomes[:count], self.right[:count], strict=True)
        return all(same(o, r, self.exercise.tolerance) for o, r in pairs)

    # The file.

    @functools.cached_property
    def mark(self) -> str:
        """What the prints depend on, as a hash: the exercise's file and the engine's."""
        files = [Path(inspect.getfile(self.exercise.reference))]
        of_classes = ("modules", "fill") if self.exercise.is_module else ()
        files += [Path(__file__).with_name(f"{name}.py") for name in (*MADE_BY, *of_classes)]
        digest = hashlib.sha256()
        for file in files:
            digest.update(file.read_bytes().replace(b"\r\n", b"\n"))
        return digest.hexdigest()[:16]

    @property
    def file(self) -> Path:
        return FOLDER / f"{self.exercise.id}.npz"

    def save(self) -> None:
        variants, table = self.build()
        told = [{k: v for k, v in asdict(variant).items() if v} for variant in variants]
        text = json.dumps({"mark": self.mark, "variants": told}, ensure_ascii=False)
        buffer = io.BytesIO()
        np.savez_compressed(
            buffer,
            codes=table.codes,
            places=table.places.astype(np.float32),
            sizes=table.sizes.astype(np.float32),
            text=np.frombuffer(text.encode(), np.uint8),
        )
        FOLDER.mkdir(exist_ok=True)
        self.file.write_bytes(buffer.getvalue())

    def _stored(self) -> tuple[list[Variant], Print] | None:
        """What the file holds, if it was made of today's text."""
        try:
            with np.load(self.file, allow_pickle=False) as stored:
                told = json.loads(stored["text"].tobytes().decode())
                if told["mark"] != self.mark:
                    return None
                every = [
                    Variant(**{k: tuple(x) if type(x) is list else x for k, x in v.items()})
                    for v in told["variants"]
                ]
                return every, Print(stored["codes"], stored["places"], stored["sizes"])
        except (OSError, ValueError, KeyError):
            return None

    def is_fresh(self) -> bool:
        return self._stored() is not None

    @functools.cached_property
    def table(self) -> tuple[list[Variant], Print]:
        """The variants and their prints, from the file or made now."""
        return self._stored() or self.build()


def copy_args(args: tuple, requires_grad: bool = False) -> tuple:
    """Fresh copies of all arguments; a tensor keeps its strides."""

    def fresh(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            clone = value.detach().clone(memory_format=torch.preserve_format)
            return clone.requires_grad_(requires_grad and clone.is_floating_point())
        if isinstance(value, list | tuple) and type(value) in (list, tuple):
            return type(value)(fresh(item) for item in value)
        if isinstance(value, bool | int | float | str | None):
            return value
        try:
            return copy.deepcopy(value)  # a model: one student's hooks must not reach the next
        except Exception:
            return value

    return tuple(fresh(value) for value in args)


def error_text(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except BaseException:
        return type(error).__name__


@functools.cache
def answers_of(exercise: Exercise) -> Answers:
    return Answers(exercise)
