"""X03-2: how a student's module is made, filled with known weights, run and looked through."""

from __future__ import annotations

import math
import re

import torch
from torch import Tensor, nn

from utils.quiz.exercise import Mistake
from utils.quiz.modules import fill


def call(student, w_q: Tensor, w_k: Tensor, w_v: Tensor, x: Tensor):
    """Make the student's module, copy the weights into it, and run it."""
    module, filled = prepared(student, w_q, w_k, w_v)
    mine = {id(parameter) for parameter in filled.values()}
    extra = [
        name
        for name, parameter in module.named_parameters()
        if id(parameter) not in mine and (parameter.dim() > 1 or name.endswith("weight"))
    ]
    try:
        result = module(x)
    except TypeError as error:
        if f"{type(module).__name__}.forward()" in str(error):
            raise Mistake("forward-arguments") from None
        raise
    except NameError as error:
        if error.name in ("d_model", "d_k", "d_v") or hasattr(module, str(error.name)):
            raise Mistake("self-missing", f"Yours: `{error.name}`.") from None
        raise
    except AttributeError as error:
        if "'Linear' object has no attribute" in str(error):
            raise Mistake("layers-not-called") from None
        raise
    if extra:  # harmless only if it changes nothing
        q, k, v = x @ w_q.T, x @ w_k.T, x @ w_v.T
        right = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(-1) @ v
        output = result[0] if isinstance(result, tuple | list) else result
        if output.shape != right.shape or float((output - right).abs().max()) > 1e-3:
            raise Mistake("extra-layer", f"Yours: {', '.join(f'`{name}`' for name in extra)}.")
    return result


def prepared(student, w_q: Tensor, w_k: Tensor, w_v: Tensor):
    """The student's module in eval mode with our weights, and the parameters filled, by role."""
    if isinstance(student, nn.Module):
        raise Mistake("instance-given")
    if isinstance(student, type) and issubclass(student, nn.Module):
        if student.__init__ is nn.Module.__init__:
            raise Mistake("no-init")
        if student.forward is nn.Module.forward:
            raise Mistake("no-forward")
    try:
        module = student(w_q.shape[1], w_q.shape[0], w_v.shape[0])
    except (AttributeError, TypeError) as error:
        if re.search(r"before Module.__init__|descriptor '__init__' of 'super'", str(error)):
            raise Mistake("no-super-init") from None
        if f"{getattr(student, '__name__', '')}.__init__()" in str(error):
            raise Mistake("init-arguments") from None
        raise
    if not isinstance(module, nn.Module):
        raise Mistake("not-a-module")
    loose = {
        name: value
        for name, value in [*vars(module).items(), *module.named_buffers()]
        if isinstance(value, Tensor) and value.dim() == 2
    }
    if loose:
        raise Mistake("plain-tensors", f"Yours: {', '.join(f'`{name}`' for name in loose)}.")
    hidden = [n for n, v in vars(module).items() if isinstance(v, list | tuple | dict) and v]
    if not list(module.parameters()):
        if any(not n.startswith("_") for n in hidden):
            raise Mistake("plain-list")
        raise Mistake("no-parameters")
    try:
        filled = fill(module, {"q": w_q, "k": w_k, "v": w_v})
    except LookupError as error:
        raise Mistake("wrong-sizes", str(error)) from None
    return module.eval(), filled


def finish(student) -> str | None:
    """Right numbers: do gradients reach all matrices, and is there a bias?"""
    w_q, w_k, w_v = torch.eye(4, 5), torch.ones(4, 5) / 3, torch.eye(3, 5)
    module, filled = prepared(student, w_q, w_k + torch.eye(4, 5), w_v)
    with torch.enable_grad():
        x = torch.arange(30.0).reshape(2, 3, 5).cos()
        output = module(x)[0]
        if output.requires_grad:
            count = torch.arange(output.numel(), device=output.device).reshape(output.shape)
            (output * count.sin()).sum().backward()
    for name, parameter in filled.items():
        if parameter.grad is None or not float(parameter.grad.abs().sum()) > 1e-8:
            raise Mistake("no-gradient-to-weights", f"Nothing arrives at w_{name}.")
    if any(p.dim() == 1 for p in module.parameters()):
        raise Mistake("bias")
    if any(isinstance(layer, nn.Dropout) and layer.p > 0 for layer in module.modules()):
        return (
            "There is a dropout, which the formula does not have. In training mode two calls with "
            "the same x give different results."
        )
    return None
