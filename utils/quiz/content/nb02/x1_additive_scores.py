"""X02-1: the additive score of a decoder state against all annotations."""

from __future__ import annotations

import torch
from torch import Tensor

from utils.quiz.exercise import Exercise, bug


def additive_scores(s: Tensor, h: Tensor, w: Tensor, u: Tensor, v: Tensor) -> Tensor:
    # s (B, Ds), h (B, N, Dh), w (A, Ds), u (A, Dh), v (A)
    query = s @ w.T  # (B, A)
    keys = h @ u.T  # (B, N, A)
    hidden = torch.tanh(query[:, None, :] + keys)  # (B, N, A)
    return hidden @ v  # (B, N)


def _probe(r, batch: int, n: int, ds: int, dh: int, a: int) -> tuple:
    return r(batch, ds), r(batch, n, dh), r(a, ds), r(a, dh), r(a)


EXERCISE = Exercise(
    id="X02-1",
    title="The additive score",
    see="02, section 6",
    name="additive_scores",
    reference=additive_scores,
    bugs=(
        bug(
            "state-left-out",
            "The state s has no influence: every output word would look at the same place. W s has "
            "to be part of the sum.",
            ("query[:, None, :] + keys", "keys"),
        ),
        bug(
            "mean-annotation",
            "All source positions get the same score: the annotations are averaged before they are "
            "scored. Each h_j needs a score of its own.",
            ("h @ u.T", "(h @ u.T).mean(dim=1, keepdim=True).expand(-1, h.shape[1], -1)"),
        ),
        bug(
            "not-unsqueezed",
            "W s has shape (B, A), U h has (B, N, A). Added as they are, torch lines the batch of "
            "one up with the positions of the other; where B = N this even runs, and mixes "
            "sentences. W s lacks an axis for the positions.",
            ("query[:, None, :]", "query"),
        ),
        bug(
            "no-tanh",
            "There is no tanh. Then v · (W s) is the same number for every position j, the softmax "
            "takes it out again, and where you look no longer depends on s at all.",
            ("torch.tanh", ""),
        ),
        bug(
            "tanh-each",
            "tanh is taken of W s and of U h separately, then they are added. It belongs around "
            "the sum; otherwise the part with s is the same for every position.",
            ("torch.tanh(query[:, None, :] + keys)", "query.tanh()[:, None, :] + keys.tanh()"),
        ),
        bug(
            "tanh-after-v",
            "tanh is taken of the finished score. It belongs inside, before v: without it there, "
            "W s and U h never meet.",
            ("torch.tanh", ""),
            ("hidden @ v", "torch.tanh(hidden @ v)"),
        ),
        bug(
            "column",
            "The scores come as a column, (B, N, 1). A softmax over that last axis would give 1 "
            "everywhere.",
            ("hidden @ v", "hidden @ v[:, None]"),
        ),
        bug(
            "softmax",
            "These are the weights already. The exercise asks for the scores, before the softmax.",
            ("hidden @ v", "(hidden @ v).softmax(dim=-1)"),
        ),
    ),
    steps={
        "s @ w.T": "W has shape (A, Ds): the features of s meet its last axis, so without the "
        "transpose it runs only if A = Ds, and then with the wrong weights.",
        "h @ u.T": "U has shape (A, Dh): each annotation's features meet its last axis.",
        "query[:, None, :] + keys": "The *additive* score adds the two; the one state of a "
        "sentence goes with all its N positions.",
        "torch.tanh(": "tanh around the sum is where state and annotation meet; without it the "
        "state would add the same to all positions.",
        "hidden @ v": "v · is a dot product, a sum over the A features: one score for each "
        "position, of either sign.",
    },
    probes=lambda r: [
        _probe(r, *sizes)
        for sizes in ((2, 5, 3, 4, 6), (3, 2, 4, 6, 5), (4, 7, 2, 3, 8), (1, 3, 5, 2, 4))
    ],
    square=lambda r: [_probe(r, 4, 4, 4, 4, 4)],
    hints=(
        "Write the shapes first: W s is (B, A), U h is (B, N, A), the result is (B, N). What is "
        "missing before the two can be added?",
        "`s @ w.T` is W s for a whole batch, `h @ u.T` is U h for all positions. `[:, None]` puts "
        "in the position axis.",
        "`hidden = torch.tanh((s @ w.T)[:, None] + h @ u.T)`, and then the product with v over the "
        "last axis: `hidden @ v`.",
    ),
    also_right=(
        """
def additive_scores(s, h, w, u, v):
    rows = []
    for b in range(len(h)):
        row = [torch.dot(v, torch.tanh(w @ s[b] + u @ h_j)) for h_j in h[b]]
        rows.append(torch.stack(row))
    return torch.stack(rows)
""",
        """
def additive_scores(s, h, w, u, v):
    query = torch.einsum("ad,bd->ba", w, s).unsqueeze(1)
    keys = torch.einsum("ad,bnd->bna", u, h)
    return torch.einsum("a,bna->bn", v, torch.tanh(query + keys))
""",
        """
def additive_scores(s, h, w, u, v):
    both = torch.cat([s.unsqueeze(1).expand(-1, h.shape[1], -1), h], dim=-1)
    hidden = torch.tanh(both @ torch.cat([w, u], dim=1).T)
    return (hidden * v).sum(-1)
""",
    ),
    blank="def additive_scores(s, h, w, u, v):\n    ...\n",
)
