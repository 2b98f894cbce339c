"""X04-3: multi-head attention as a module."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from utils.layers.attention import MultiHeadAttention
from utils.quiz.bugs import group, single
from utils.quiz.content.nb04.multihead_fill import FORWARD, TOLD, call
from utils.quiz.exercise import Exercise, Invariant

ATTENTION = "`forward`, scores and softmax"
SHAPES = "`forward`, where heads are cut and joined"
RETURN = "the last line"


class MHA(nn.Module):
    def __init__(self, d_model: int, h: int):
        super().__init__()
        self.h = h
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        q, k, v = (
            layer(x).unflatten(-1, (self.h, -1)).transpose(1, 2)  # (B, h, N, dh)
            for layer in (self.w_q, self.w_k, self.w_v)
        )
        weights = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(dim=-1)
        heads = weights @ v
        return self.w_o(heads.transpose(1, 2).flatten(-2)), weights


def _split(bug, x: Tensor, h: int) -> Tensor:
    B, N, d = x.shape
    cut = x.reshape(B, N, h, d // h)
    return bug.choose(
        lambda: cut.transpose(1, 2),
        split_mixes_tokens=lambda: x.reshape(B, h, N, d // h),
        interleaved=lambda: x.reshape(B, N, d // h, h).permute(0, 3, 1, 2),
        same_slice_for_all=lambda: cut[:, :, :1].transpose(1, 2).expand(B, h, N, d // h),
        heads_look_at_heads=lambda: cut,
        one_head=lambda: x[:, None],
    )


def switched(bug, w: dict[str, Tensor], h: int, x: Tensor):
    """Projections, split, attention, merge, W^O; ``bug`` says which mistakes are on."""
    q, k, v = (x @ w[name].T for name in "qkv")
    q, k, v = bug.choose(
        lambda: (q, k, v),
        query_for_key=lambda: (q, q, v),
        key_for_query=lambda: (k, k, v),
        key_for_value=lambda: (q, k, k),
        query_for_value=lambda: (q, k, q),
        one_matrix_for_all=lambda: (q, q, q),
        value_not_projected=lambda: (q, k, x),
        nothing_projected=lambda: (x, x, x),
        only_value_projected=lambda: (x, x, v),
    )
    q, k, v = (_split(bug, t, h) for t in (q, k, v))
    d, dh = x.shape[-1], x.shape[-1] // h
    raw = q @ k.transpose(-2, -1)
    scores = bug.choose(
        lambda: raw / math.sqrt(q.shape[-1]),
        scale_d_model=lambda: raw / math.sqrt(d),
        no_scale=lambda: raw,
        scale_d_head=lambda: raw / dh,
        scale_heads=lambda: raw / math.sqrt(h),
        scale_times=lambda: raw * math.sqrt(dh),
    )
    weights = bug.choose(
        lambda: scores.softmax(-1),
        softmax_over_heads=lambda: scores.softmax(1),
        softmax_over_queries=lambda: scores.softmax(-2),
        softmax_over_batch=lambda: scores.softmax(0),
        no_softmax=lambda: scores,
    )
    heads = weights @ v
    B, N = x.shape[:2]
    merged = bug.choose(
        lambda: heads.flatten(-2) if bug("heads-look-at-heads") else _merge(heads, h, x),
        merge_mixes_tokens=lambda: heads.reshape(B, N, d),
        merge_interleaved=lambda: heads.permute(0, 2, 3, 1).reshape(B, N, d),
    )
    out = bug.choose(
        lambda: merged @ w["o"].T,
        no_output_matrix=lambda: merged,
        output_before_merge=lambda: (merged @ w["o"].T) @ w["o"].T,
    )
    if bug("residual"):
        out = out + x
    return bug.choose(
        lambda: (out, weights),
        weights_averaged=lambda: (out, weights.mean(1)),
        weights_summed=lambda: (out, weights.sum(1)),
        first_head_weights=lambda: (out, weights[:, 0]),
        only_output=lambda: out,
        only_weights=lambda: weights,
        order_swapped=lambda: (weights, out),
        scores_returned=lambda: (out, scores),
        heads_returned=lambda: (heads, weights),
    )


def _merge(heads: Tensor, h: int, x: Tensor) -> Tensor:
    return heads.transpose(1, 2).reshape(x.shape)


BUGS = (
    *group("projections", FORWARD, "03, section 7")(
        query_for_key="The keys come from the same matrix as the queries. They need w_k.",
        key_for_query="The queries come from the same matrix as the keys. They need w_q.",
        key_for_value="The values come from the same matrix as the keys. They need w_v.",
        query_for_value="The values come from the same matrix as the queries. They need w_v.",
        one_matrix_for_all="One matrix makes queries, keys and values. Each needs its own.",
        value_not_projected="The heads mix slices of x itself. Mix the values, `self.w_v(x)`.",
        nothing_projected="The heads get slices of x itself: w_q, w_k and w_v are not used. The "
        "split is of Q, K and V, after the projections, so that each head can read all of x.",
        only_value_projected="Queries and keys are x itself. They come from w_q and w_k.",
    ),
    *group("split", SHAPES)(
        split_mixes_tokens="The heads are cut by `reshape(B, h, N, dh)` straight from (B, N, d): "
        "right shape, mixed tokens. Cut the width first, (B, N, h, dh), then exchange axes 1 and 2 "
        "(X04-1).",
        interleaved="Head i gets every h-th number of the width instead of a block. Cut (h, d/h), "
        "heads first (X04-1).",
        same_slice_for_all="All heads work with the same slice, so all heads are the same. Head i "
        "gets its own slice of Q, K and V.",
        heads_look_at_heads="The heads still stand behind the tokens, (B, N, h, dh), when queries "
        "meet keys. So inside each token the *heads* look at each other. Exchange axes 1 and 2 "
        "before.",
        one_head="Nothing is cut into heads: this is one head of full width.",
    ),
    *group("scale", ATTENTION)(
        scale_d_model="The scores are divided by √d_model. Inside a head queries and keys are "
        "d_model / h wide, so it is √(d_model / h). The difference is small here, and it matters.",
        no_scale="The scores are not divided by √(d_model / h).",
        scale_d_head="The scores are divided by d_model / h instead of its square root.",
        scale_heads="The scores are divided by √h, the number of heads. It is the root of a head's "
        "*width*.",
        scale_times="The scores are multiplied by √(d_model / h). Divide.",
    ),
    *group("softmax", ATTENTION, "03, section 5")(
        softmax_over_heads="The softmax runs over the *heads* (dim=1): they share out the weight "
        "among themselves. Each head has its own: softmax over the keys, `dim=-1`.",
        softmax_over_queries="The softmax runs over the queries. Over the keys: `dim=-1`.",
        softmax_over_batch="The softmax runs over the batch. Over the keys: `dim=-1`.",
        no_softmax="There is no softmax: the scores are used as weights.",
    ),
    *group("merge", SHAPES)(
        merge_mixes_tokens="The heads are joined by reshaping (B, h, N, dh) directly: tokens are "
        "mixed up. Exchange axes 1 and 2 first (X04-2).",
        merge_interleaved="The numbers of the heads are mixed like cards when they are joined. Put "
        "whole heads side by side (X04-2).",
    ),
    *group("out", FORWARD, "04, section 3")(
        no_output_matrix="W^O is left out: the heads stand side by side, and nothing mixes them. "
        "End with `self.w_o(...)`.",
        output_before_merge="W^O is applied twice. Once, after joining the heads.",
    ),
    *single(FORWARD)(
        residual="x is added to the output. The residual connection comes in notebook 07, outside "
        "of this."
    ),
    *group("return", RETURN)(
        weights_averaged="The weights are averaged over the heads, as PyTorch does. Return those "
        "of every head, (B, h, N, N): section 7 shows what an average hides.",
        weights_summed="The weights are summed over the heads. Return those of every head.",
        first_head_weights="Only the first head's weights come back. Return all: (B, h, N, N).",
        only_output="Only the output comes back: `return output, weights`.",
        only_weights="Only the weights come back: `return output, weights`.",
        order_swapped="The two results have changed places: `return output, weights`.",
        scores_returned="The second result is the scores. Weights come after the softmax.",
        heads_returned="The heads come back unjoined, without W^O.",
    ),
    *TOLD,
)


def _probe(r, d: int, h: int, batch: int, tokens: int) -> tuple:
    scale = 1.5 / math.sqrt(d)
    return {name: scale * r(d, d) for name in "qkvo"}, h, r(batch, tokens, d)


def _finish(student) -> str | None:
    """Right numbers: the rest of what is asked for, as remarks."""
    module = student(8, 2)
    if not any(p.dim() == 1 for p in module.parameters()):
        return "Your layers have no bias; PyTorch's have one by default. Both are fine."
    return None


MULTIHEAD = Exercise(
    id="X04-3",
    title="Multi-head attention as a module",
    see="04, section 4",
    name="MHA",
    reference=MHA,
    library=MultiHeadAttention,
    switched=switched,
    call=call,
    finish=_finish,
    bugs=BUGS,
    parts=("output", "weights"),
    rows_sum_to_one=1,
    seconds=10.0,
    tolerance=1e-4,  # √d_model for √d_head differs by 0.01 only
    probes=lambda r: [_probe(r, 16, 4, 2, 5), _probe(r, 12, 3, 3, 7)],
    square=lambda r: [_probe(r, 16, 4, 4, 4), _probe(r, 9, 3, 3, 3)],
    invariants=(
        Invariant(
            "The first sequence of the batch changes when only the second one does.",
            lambda a: (a[0], a[1], torch.cat([a[2][:1], a[2][1:] + 1])),
            lambda result: tuple(part[0] for part in result),
        ),
        Invariant(
            "When the tokens come in another order, the outputs do not simply follow.",
            lambda a: (a[0], a[1], a[2].flip(1)),
            lambda result: result[0],
            lambda result: result[0].flip(1),
        ),
    ),
    hints=(
        "Four layers from d_model to d_model: w_q, w_k, w_v before the heads, w_o after them. "
        "Between them stand three things that you have written already.",
        "Project x, cut each of q, k, v with your `split_heads`, apply `attention` (it works for "
        "any axes in front), join with `merge_heads`, then `self.w_o`.",
        "The scale is the root of a *head's* width, `q.shape[-1]` after the cut. Return "
        "`self.w_o(merged), weights` with weights of shape (B, h, N, N).",
    ),
    also_right=(
        """
class MHA(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.dh = h, d // h
        self.qkv = nn.Linear(d, 3 * d, bias=False)
        self.out = nn.Linear(d, d, bias=False)

    def forward(self, x):
        B, N, d = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (t.view(B, N, self.h, self.dh).transpose(1, 2) for t in (q, k, v))
        w = F.softmax(q @ k.mT * self.dh ** -0.5, dim=-1)
        return self.out((w @ v).transpose(1, 2).reshape(B, N, d)), w
""",
        """
class MHA(nn.Module):
    def __init__(self, d_model, h):
        super().__init__()
        dh = d_model // h
        self.heads = nn.ModuleList(
            nn.ModuleDict({n: nn.Linear(d_model, dh) for n in ("query", "key", "value")})
            for _ in range(h))
        self.proj = nn.Linear(d_model, d_model)

    def forward(self, x):
        outs, maps = [], []
        for head in self.heads:
            q, k, v = head["query"](x), head["key"](x), head["value"](x)
            w = torch.softmax(q @ k.transpose(1, 2) / q.size(-1) ** 0.5, dim=-1)
            outs.append(w @ v)
            maps.append(w)
        return self.proj(torch.cat(outs, dim=-1)), torch.stack(maps, dim=1)
""",
        """
class MHA(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.qkv_proj = nn.Linear(d_model, 3 * d_model)
        self.o_proj = nn.Linear(d_model, d_model)

    def forward(self, x):
        B, N, D = x.size()
        qkv = self.qkv_proj(x).reshape(B, N, self.num_heads, 3 * self.head_dim)
        q, k, v = qkv.permute(0, 2, 1, 3).chunk(3, dim=-1)
        attn = (q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)).softmax(dim=-1)
        values = (attn @ v).permute(0, 2, 1, 3).reshape(B, N, D)
        return self.o_proj(values), attn
""",
        """
class MHA(nn.Module):
    def __init__(self, d_model, h):
        super().__init__()
        self.wq = nn.Parameter(torch.randn(h, d_model, d_model // h))
        self.wk = nn.Parameter(torch.randn(h, d_model, d_model // h))
        self.wv = nn.Parameter(torch.randn(h, d_model, d_model // h))
        self.wo = nn.Parameter(torch.randn(d_model, d_model))

    def forward(self, x):
        q, k, v = (torch.einsum("bnd,hde->bhne", x, w) for w in (self.wq, self.wk, self.wv))
        w = torch.einsum("bhme,bhne->bhmn", q, k).div(math.sqrt(q.shape[-1])).softmax(-1)
        return (w @ v).transpose(1, 2).flatten(-2) @ self.wo, w
""",
    ),
    blank=(
        "class MHA(nn.Module):\n    def __init__(self, d_model, h):\n        super().__init__()\n"
        "        ...\n\n    def forward(self, x):\n        ...\n"
    ),
)
