"""Class exercises: a student's module gets the reference's weights, so that numbers compare.

`run` makes the student's module, fills it (`fill`) and calls it. What keeps it from
being made or called is told as a `Mistake`; `layout` says which layers differ if numbers do.
"""

from __future__ import annotations

import copy
import inspect
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from utils.quiz.mistake import Mistake
from utils.quiz.naming.fill import Matrix, fillings, units_of
from utils.quiz.naming.finding import Finding

_ours: dict[tuple, tuple[tuple, nn.Module]] = {}


def run(reference: type, student: Any, sizes: tuple, *inputs: Any) -> Any:
    """What ``student(*sizes)``, filled with our weights, gives for the inputs."""
    ours = our_module(reference, sizes)
    if student is reference:
        return ours(*inputs)
    module, given = _new(student, sizes, ours)
    if _copied(ours, module):
        return call(module, inputs)
    first, wanted = None, None
    for way in fillings(ours, _given_of(ours, sizes), module, given, sizes):
        result = call(module, inputs)
        if way == 1:
            first, wanted = result, ours(*inputs)
        if _same(result, wanted):
            return result
    return first


def filled(reference: type, student: Any, sizes: tuple) -> nn.Module | None:
    """``student(*sizes)`` with our weights; None if its layers are not ours by name and size."""
    ours = our_module(reference, sizes)
    module, _ = _new(student, sizes, ours)
    return module if _copied(ours, module) else None


def _new(student: Any, sizes: tuple, ours: nn.Module) -> tuple[nn.Module, set[int]]:
    """The student's module, and the ids of the parameters that it was handed."""
    parts = tuple(copy.deepcopy(s) if isinstance(s, nn.Module) else s for s in sizes)
    module = made(student, parts, ours)
    given = set()
    for part, known in zip(parts, sizes, strict=True):
        if isinstance(part, nn.Module):
            part.load_state_dict(known.state_dict())  # whatever `__init__` may have done to it
            given |= {id(p) for p in part.parameters()}
    return module, given


def _copied(ours: nn.Module, module: nn.Module) -> bool:
    """Copy our weights if all names and shapes are the same."""
    if _names(module) != _names(ours):
        return False
    with torch.no_grad():
        for theirs, known in zip(module.parameters(), ours.parameters(), strict=True):
            theirs.copy_(known)
    return True


def _names(module: nn.Module) -> list[tuple[str, torch.Size]]:
    return [(name, p.shape) for name, p in module.named_parameters()]


def our_module(reference: type, sizes: tuple) -> nn.Module:
    """The reference with fixed weights far from their start, made once for each sizes."""
    key = (reference, *(id(s) if isinstance(s, nn.Module) else s for s in sizes))
    if key not in _ours:
        parts = [copy.deepcopy(s) if isinstance(s, nn.Module) else s for s in sizes]
        module = reference(*parts).eval().requires_grad_(False)
        given = {id(p) for part in parts if isinstance(part, nn.Module) for p in part.parameters()}
        norms = {id(p) for gain, shift in units_of(module, given).norms for p in (gain, shift)}
        gains = {id(gain) for gain, _ in units_of(module, given).norms}
        for name, p in module.named_parameters():  # they need no gradient, so they can be set
            if id(p) in given:
                continue
            g = torch.Generator().manual_seed(zlib.crc32(f"{name} {tuple(p.shape)}".encode()))
            random = torch.randn(p.shape, generator=g)
            if id(p) in norms:
                p.copy_(0.4 * random + (id(p) in gains))
            elif p.dim() == 1:
                p.zero_()  # so that a layer with a bias and one without are the same
            else:
                inside = 1 if p.dim() > 2 and p.shape[0] == 1 else p[0].numel()
                p.copy_(1.2 * random / inside**0.5)
        _ours[key] = (sizes, module)  # the sizes, so that their ids stay theirs
    return _ours[key][1]


def made(student: Any, sizes: tuple, ours: nn.Module) -> nn.Module:
    """The student's module in evaluation mode, or the mistake that keeps it from being one."""
    name = getattr(student, "__name__", type(student).__name__)
    if isinstance(student, nn.Module):
        raise Mistake("instance-given", "`check` needs the class itself, to make its own.")
    if isinstance(student, type) and issubclass(student, nn.Module):
        if student.forward is nn.Module.forward:
            raise Mistake("no-forward", f"`{name}` has no method `forward`. Is it spelled so?")
    try:
        module = student(*sizes)
    except (AttributeError, TypeError) as error:
        raise _not_made(error, name, len(sizes)) from error
    except NameError as error:
        raise _without_self(error, student) or error from None
    if not isinstance(module, nn.Module):
        text = f"`{name}` does not build on `nn.Module`, so nothing of it is learnt."
        raise Mistake("not-a-module", text)
    own = {n: v for n, v in vars(module).items() if not n.startswith("_")}
    if list(ours.parameters()):
        _must_learn(module, own, ours)
    return module.eval().requires_grad_(False)


def _not_made(error: Exception, name: str, count: int) -> Exception:
    text = str(error)
    if re.search("before Module.__init__|no attribute '_(buffers|parameters|modules)'", text):
        says = "`super().__init__()` has to be called first: it prepares the module for its layers."
        return Mistake("no-super-init", says)
    if f"{name}.__init__()" in text:
        says = f"`__init__` does not take what the task hands over, {count} values: {text}."
        return Mistake("init-arguments", says)
    return error


def _must_learn(module: nn.Module, own: dict[str, Any], ours: nn.Module) -> None:
    lists = [n for n, v in own.items() if _holds_layers(v)]
    if lists:
        says = f"The layers of `{lists[0]}` sit in a plain list or dict, where the module does not "
        raise Mistake("plain-list", says + "see them. `nn.ModuleList` is a list that it does see.")
    loose = [n for n, v in own.items() if isinstance(v, Tensor) and v.dim() > 1]
    loose += [n for n, b in module.named_buffers() if b.dim() == 2]
    enough = _numbers(module) >= _numbers(ours)  # then it is a mask or a table, which is as it is
    if loose and not enough:
        says = f"`{loose[0]}` is a plain tensor, so no optimiser will ever change it. A layer, or "
        raise Mistake("plain-tensors", says + "`nn.Parameter`, would be learnt.")
    if not list(module.parameters()):
        says = "The module has nothing to learn: no layer is kept on `self` in `__init__`."
        raise Mistake("no-parameters", says)


def _numbers(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


def _holds_layers(value: Any) -> bool:
    items = value.values() if isinstance(value, dict) else value
    return isinstance(value, list | tuple | dict) and any(isinstance(v, nn.Module) for v in items)


def call(module: nn.Module, inputs: tuple) -> Any:
    """The module's result; common slips of ``forward`` are told as what they are."""
    try:
        return module(*inputs)
    except NameError as error:
        raise _without_self(error, module) or error from error
    except (TypeError, AttributeError) as error:
        text, name = str(error), type(module).__name__
        if f"{name}.forward()" in text:
            says = f"`forward` does not take what the task hands over: {text}."
            raise Mistake("forward-arguments", says) from error
        if "'tuple'" in text or "not tuple" in text:
            says = (
                "A layer hands out two things together, `(output, weights)`, and both are used as "
            )
            raise Mistake("tuple-kept", says + "one. Take them apart first.") from error
        if re.search(r"'(Linear|Sequential|ModuleList|Conv2d|LayerNorm)'", text):
            says = f"A layer is used as if it were a tensor; a layer is *called*: {text}."
            raise Mistake("layers-not-called", says) from error
        raise


def _without_self(error: NameError, student: Any) -> Mistake | None:
    """A name that exists as an attribute, or came as an argument of ``__init__``."""
    owner = student if isinstance(student, type) else type(student)
    init = getattr(owner, "__init__", None)
    arguments = inspect.signature(init).parameters if inspect.isfunction(init) else ()
    if error.name not in arguments and not hasattr(student, str(error.name)):
        return None
    says = f"`{error.name}` is not known in this method. What `__init__` is told has to be kept on "
    return Mistake("self-missing", says + f"`self` to be used elsewhere: `self.{error.name}`.")


def _same(result: Any, wanted: Any) -> bool:
    if isinstance(wanted, tuple):
        several = isinstance(result, tuple | list) and len(result) == len(wanted)
        return several and all(map(_same, result, wanted))
    if not isinstance(result, Tensor) or result.shape != wanted.shape:
        return False
    return float((result - wanted).abs().max()) < 1e-4


def layout(reference: type, student: Any, sizes: tuple) -> Iterator[Finding]:
    """What differs in the layers, asked once the numbers are wrong."""
    ours = our_module(reference, sizes)
    parts = tuple(copy.deepcopy(s) if isinstance(s, nn.Module) else s for s in sizes)
    given = {id(p) for part in parts if isinstance(part, nn.Module) for p in part.parameters()}
    mine = units_of(ours, _given_of(ours, sizes))
    found = units_of(made(student, parts, ours), given)
    for what, a, b in (
        ("layer norm", mine.norms, found.norms),
        ("attention", mine.attentions, found.attentions),
    ):
        if len(a) != len(b):
            says = (
                f"The module has {len(b)} {what}{'s' * (len(b) != 1)}, the task asks for {len(a)}."
            )
            yield Finding(f"number-of-{what.split()[-1]}s", says, 7.4)
    wanted = [_shape(m) for m in mine.matrices]
    sizes_of_all = sum(m.weight.numel() for m in mine.matrices)
    total = sum(m.weight.numel() for m in found.matrices)
    if total == sizes_of_all:
        return
    odd = [m for m in found.matrices if _shape(m) not in wanted and _shape(m)[::-1] not in wanted]
    if not mine.matrices and found.matrices:
        says = f"`{found.matrices[0].name.lstrip('.')}` would be learnt, and the task has no "
        yield Finding("learnt", says + "weights to learn: everything in it is fixed.", 7.6)
    elif odd:
        shape, name = tuple(odd[0].weight.shape), odd[0].name.lstrip(".")
        says = f"`{name}` has a weight of shape {shape}, which no layer of the task has."
        yield Finding("wrong-sizes", says, 7.6)
    elif len(found.matrices) == len(wanted):
        many = Counter(_shape(m) for m in found.matrices)
        shape = next(iter(many - Counter(wanted)), many.most_common(1)[0][0])
        says = f"Of the {len(wanted)} weight matrices {many[shape]} have the shape {shape}: one of "
        yield Finding("wrong-sizes", says + "them should have another one.", 7.3)
    else:
        more = total > sizes_of_all
        says = f"There are {len(found.matrices)} weight matrices, {'more' if more else 'fewer'} "
        kind = "extra-layer" if more else "missing-layer"
        yield Finding(kind, f"{says}than the {len(wanted)} of the task.", 7.2)


def _shape(matrix: Matrix) -> tuple[int, ...]:
    """Without axes of size 1: a table may have one for the batch, or none."""
    return tuple(size for size in matrix.shape if size > 1)


def _given_of(ours: nn.Module, sizes: tuple) -> set[int]:
    """The parameters of parts that were handed in, inside of our own module."""
    kinds = tuple(type(s) for s in sizes if isinstance(s, nn.Module))
    parts = (m for m in ours.children() if isinstance(m, kinds))
    return {id(p) for part in parts for p in part.parameters()}


def drops_out(reference: type, student: type, sizes: tuple) -> bool:
    """Has the module a dropout that works in training?"""
    parts = tuple(copy.deepcopy(s) if isinstance(s, nn.Module) else s for s in sizes)
    return any(isinstance(m, nn.Dropout) and m.p > 0 for m in student(*parts).modules())


def lacks_bias(reference: type, student: type, sizes: tuple) -> bool:
    """Do its layers learn fewer biases than ours?"""
    ours = our_module(reference, sizes)
    module, given = _new(student, sizes, ours)
    mine = units_of(ours, _given_of(ours, sizes)).vectors
    return len(units_of(module, given).vectors) < len(mine)
