"""X02-1: the additive score of a decoder state against all annotations."""

from __future__ import annotations

import torch
from torch import Tensor

from utils.quiz.bugs import group
from utils.quiz.exercise import Exercise

PRODUCTS = "where W meets s and U meets h"
JOIN = "where the two are brought together"
END = "where v makes one number of each hidden vector"


def additive_scores(s: Tensor, h: Tensor, w: Tensor, u: Tensor, v: Tensor) -> Tensor:
    # s (B, Ds), h (B, N, Dh), w (A, Ds), u (A, Dh), v (A)
    hidden = torch.tanh((s @ w.T)[:, None, :] + h @ u.T)  # (B, 1, A) + (B, N, A)
    return hidden @ v  # (B, N)


def switched(bug, s: Tensor, h: Tensor, w: Tensor, u: Tensor, v: Tensor) -> Tensor:
    """v · tanh(W s + U h); ``bug`` says which mistakes are on."""
    ws = bug.choose(
        lambda: s @ w.T,
        no_transpose=lambda: s @ w,
        state_twice=lambda: 2 * (s @ w.T),
        state_left_out=lambda: 0 * (s @ w.T),
    )
    uh = bug.choose(
        lambda: h @ u.T,
        u_not_transposed=lambda: h @ u,
        mean_annotation=lambda: (h @ u.T).mean(1, keepdim=True).expand(-1, h.shape[1], -1),
        last_annotation=lambda: (h @ u.T)[:, -1:].expand(-1, h.shape[1], -1),
        annotations_left_out=lambda: 0 * (h @ u.T),
    )
    joined = bug.choose(
        lambda: ws[:, None] + uh,
        not_unsqueezed=lambda: ws + uh,
        multiplied=lambda: ws[:, None] * uh,
        minus=lambda: ws[:, None] - uh,
        neighbour_state=lambda: ws.roll(1, 0)[:, None] + uh,
    )
    hidden = bug.choose(
        lambda: torch.tanh(joined),
        no_tanh=lambda: joined,
        sigmoid=lambda: torch.sigmoid(joined),
        relu=lambda: torch.relu(joined),
        tanh_each=lambda: torch.tanh(ws)[:, None] + torch.tanh(uh),
        tanh_on_state_only=lambda: torch.tanh(ws)[:, None] + uh,
        tanh_on_annotations_only=lambda: ws[:, None] + torch.tanh(uh),
        softmax_inside=lambda: torch.softmax(joined, -1),
    )
    scores = bug.choose(
        lambda: hidden @ v,
        mean_instead_of_sum=lambda: (hidden * v).mean(-1),
        v_left_out=lambda: hidden.sum(-1),
        not_summed=lambda: hidden * v,
        column=lambda: hidden @ v[:, None],
        tanh_after_v=lambda: torch.tanh(joined @ v),
        scaled=lambda: hidden @ v / v.shape[0] ** 0.5,
        absolute=lambda: (hidden @ v).abs(),
    )
    return bug.choose(
        lambda: scores,
        softmax=lambda: scores.softmax(-1),
        transposed=lambda: scores.transpose(0, 1),
        first_sentence_only=lambda: scores[0],
        negative=lambda: -scores,
        summed_over_source=lambda: scores.sum(1),
    )


SCORES = Exercise(
    id="X02-1",
    title="The additive score",
    see="02, section 6",
    name="additive_scores",
    reference=additive_scores,
    switched=switched,
    bugs=(
        *group("state", PRODUCTS)(
            no_transpose="W has shape (A, Ds), so W s is `s @ w.T`. Without the transpose it runs "
            "only if A = Ds, and then with the wrong weights.",
            state_twice="The state is added twice.",
            state_left_out="The state s has no influence: every output word would look at the same "
            "place. W s has to be part of the sum.",
        ),
        *group("annotations", PRODUCTS)(
            u_not_transposed="U has shape (A, Dh), so U h is `h @ u.T`. Without the transpose it "
            "runs only if A = Dh, and then with the wrong weights.",
            mean_annotation="All source positions get the same score: the annotations are averaged "
            "before they are scored. Each h_j needs a score of its own.",
            last_annotation="All source positions get the score of the last annotation. That is "
            "the fixed vector again; each h_j needs a score of its own.",
            annotations_left_out="The annotations have no influence, so all positions get the same "
            "score. U h has to be part of the sum.",
        ),
        *group("join", JOIN)(
            not_unsqueezed="W s has shape (B, A), U h has (B, N, A). Added as they are, torch "
            "lines the batch of one up with the positions of the other; where B = N this even "
            "runs, and mixes sentences. Give W s a position axis: `(s @ w.T)[:, None]`.",
            multiplied="W s and U h are multiplied. The additive score adds them, hence its name.",
            minus="U h is taken off W s. They are added.",
            neighbour_state="Each sentence is scored with another sentence's state.",
        ),
        *group("hidden", JOIN)(
            no_tanh="There is no tanh. Then v · (W s) is the same number for every position j, the "
            "softmax takes it out again, and where you look no longer depends on s at all.",
            sigmoid="A sigmoid stands in place of the tanh.",
            relu="A ReLU stands in place of the tanh.",
            tanh_each="tanh is taken of W s and of U h separately, then they are added. It belongs "
            "around the sum; otherwise the part with s is the same for every position.",
            tanh_on_state_only="tanh is taken of W s alone. It belongs around the sum W s + U h.",
            tanh_on_annotations_only="tanh is taken of U h alone. It belongs around the sum W s + "
            "U h.",
            softmax_inside="A softmax stands in place of the tanh. The softmax comes later, over "
            "the source positions.",
        ),
        *group("end", END)(
            mean_instead_of_sum="The products with v are averaged. v · is a dot product: a sum.",
            v_left_out="v is not used: the hidden vector is simply summed.",
            not_summed="The hidden vectors are multiplied by v but not summed, so each position "
            "has A numbers instead of one score.",
            column="The scores come as a column, (B, N, 1). Drop the last axis, or the softmax "
            "over it will give 1 everywhere.",
            tanh_after_v="tanh is taken after v. It belongs inside: v · tanh(W s + U h).",
            scaled="The scores are divided by √A. The additive score has no such scaling.",
            absolute="The scores lose their sign. A negative score says: look away.",
        ),
        *group("after", END)(
            softmax="These are the weights already. The exercise asks for the scores, before the "
            "softmax.",
            transposed="The axes are swapped: (N, B) instead of (B, N).",
            first_sentence_only="Only the first sentence of the batch is scored.",
            negative="The scores have the wrong sign: the best match gets the lowest score.",
            summed_over_source="The scores are summed over the positions. Each h_j keeps its own.",
        ),
    ),
    probes=lambda r: [
        (r(2, 3), r(2, 5, 4), r(6, 3), r(6, 4), r(6)),
        (r(3, 4), r(3, 2, 6), r(5, 4), r(5, 6), r(5)),
        (r(4, 2), r(4, 7, 3), r(8, 2), r(8, 3), r(8)),
    ],
    square=lambda r: [(r(4, 4), r(4, 4, 4), r(4, 4), r(4, 4), r(4))],
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
    B, N, _ = h.shape
    rows = []
    for b in range(B):
        row = [torch.dot(v, torch.tanh(w @ s[b] + u @ h[b, j])) for j in range(N)]
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
        """
def additive_scores(s, h, w, u, v):
    e = F.linear(torch.tanh(F.linear(s, w)[:, None] + F.linear(h, u)), v[None])
    return e.squeeze(-1)
""",
    ),
    blank="def additive_scores(s, h, w, u, v):\n    ...\n",
)
