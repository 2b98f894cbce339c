"""Make a student's module, and say what is wrong if that does not even work."""

from __future__ import annotations

from torch import Tensor, nn

from utils.quiz import modules
from utils.quiz.bugs import told
from utils.quiz.exercise import Bug, Mistake
from utils.quiz.modules import holds_layers

INIT = "`__init__`, where the layers are made"


def made(student, *sizes) -> nn.Module:
    """``student(*sizes)`` in evaluation mode, with something to learn."""
    module = modules.made(student, *sizes)
    own = {n: v for n, v in vars(module).items() if not n.startswith("_")}
    if any(isinstance(v, Tensor) and v.dim() > 1 for v in own.values()):
        raise Mistake("plain-tensors")
    if any(holds_layers(v) for v in own.values()):
        raise Mistake("plain-list")
    if not list(module.parameters()):
        raise Mistake("no-parameters")
    return module


def general(key: str, name: str) -> tuple[Bug, ...]:
    """What ``made`` can find."""
    return (
        *told(INIT)(
            no_super_init="Call `super().__init__()` first: it prepares the module.",
            not_a_module=f"The class does not build on nn.Module: `class {name}(nn.Module):`",
            plain_tensors="The matrices are plain tensors, so no optimiser will ever change them. "
            "Use `nn.Linear`.",
            plain_list="The layers sit in a plain list or dict, where the module does not see "
            "them. Use `nn.ModuleList` or `nn.Sequential`.",
            no_parameters="The module has nothing to learn: no layer is stored on `self` in "
            "`__init__`.",
        ),
        *told("the call of `check`")(
            instance_given="`check` needs the class itself, to build its own: "
            f'`check("{key}", {name})`.'
        ),
    )
