"""Make a student's module, and say what is wrong if that does not even work."""

from __future__ import annotations

from torch import Tensor, nn

from utils.quiz.exercise import Bug, Mistake, told_by_call

INIT = "`__init__`, where the layers are made"


def made(student, *sizes) -> nn.Module:
    """``student(*sizes)`` in evaluation mode."""
    if isinstance(student, nn.Module):
        raise Mistake("instance-given")
    try:
        module = student(*sizes)
    except AttributeError as error:
        if "before Module.__init__" in str(error):
            raise Mistake("no-super-init") from None
        raise
    if not isinstance(module, nn.Module):
        raise Mistake("not-a-module")
    own = {n: v for n, v in vars(module).items() if not n.startswith("_")}
    if any(isinstance(v, Tensor) and v.dim() > 1 for v in own.values()):
        raise Mistake("plain-tensors")
    if any(_holds_layers(v) for v in own.values()):
        raise Mistake("plain-list")
    if not list(module.parameters()):
        raise Mistake("no-parameters")
    return module.eval()


def _holds_layers(value) -> bool:
    items = value.values() if isinstance(value, dict) else value
    return isinstance(value, list | tuple | dict) and any(isinstance(v, nn.Module) for v in items)


def told(name: str, says: str, look: str = INIT, see: str = "") -> Bug:
    return Bug(name, says, look, see, detect=told_by_call)


def general(key: str, name: str) -> tuple[Bug, ...]:
    """What ``made`` can find."""
    return (
        told("no-super-init", "Call `super().__init__()` first: it prepares the module."),
        told("not-a-module", f"The class does not build on nn.Module: `class {name}(nn.Module):`"),
        told(
            "plain-tensors",
            "The matrices are plain tensors, so no optimiser will ever change them. Use "
            "`nn.Linear`.",
        ),
        told(
            "plain-list",
            "The layers sit in a plain list or dict, where the module does not see them. Use "
            "`nn.ModuleList` or `nn.Sequential`.",
        ),
        told(
            "no-parameters",
            "The module has nothing to learn: no layer is stored on `self` in `__init__`.",
        ),
        told(
            "instance-given",
            f'`check` needs the class itself, to build its own: `check("{key}", {name})`.',
            "the call of `check`",
        ),
    )
