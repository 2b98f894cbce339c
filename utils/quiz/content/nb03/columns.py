"""X03-4: from the column convention of some lectures to rows."""

from __future__ import annotations

import math

from torch import Tensor

from utils.quiz.bugs import group, single
from utils.quiz.exercise import Exercise

PROJECT = "the lines that make q, k and v"
SOFTMAX = "the softmax"
OUTPUT = "the last product"


def column_to_row(w_q: Tensor, w_k: Tensor, w_v: Tensor, x_columns: Tensor) -> Tensor:
    x = x_columns.T  # (N, D): one token per row
    q, k, v = x @ w_q.T, x @ w_k.T, x @ w_v.T
    scores = q @ k.T / math.sqrt(q.shape[-1])  # (N, N): rows are queries
    return scores.softmax(dim=-1) @ v


def switched(bug, w_q: Tensor, w_k: Tensor, w_v: Tensor, x: Tensor):
    """Attention on columns, as rows; ``bug`` says which mistakes are on."""
    tokens = bug.choose(
        lambda: x,
        x_not_transposed=lambda: x.T,
        x_reshaped=lambda: x.reshape(x.shape[1], x.shape[0]).T,
    )
    if bug("weights-not-transposed"):
        w_q, w_k, w_v = w_q.T, w_k.T, w_v.T
    q, k, v = w_q @ tokens, w_k @ tokens, w_v @ tokens  # columns: (d_k, N), (d_k, N), (d_v, N)
    q, k, v = bug.choose(
        lambda: (q, k, v),
        query_for_key=lambda: (q, q, v),
        key_for_query=lambda: (k, k, v),
        key_for_value=lambda: (q, k, k),
        query_for_value=lambda: (q, k, q),
        projections_reshaped=lambda: tuple(p.reshape(p.shape[1], p.shape[0]).T for p in (q, k, v)),
        value_not_projected=lambda: (q, k, tokens),
        nothing_projected=lambda: (tokens, tokens, tokens),
        swapped=lambda: (k, q, v),
        keys_and_values_swapped=lambda: (q, v, k),
    )
    for name, axis in (("columns-as-rows", -1), ("columns-as-rows-scaled", 0)):
        if bug(name):
            return (q @ k.T / math.sqrt(q.shape[axis])).softmax(-1) @ v
        if bug(f"{name}-then-transposed"):
            return ((q @ k.T / math.sqrt(q.shape[axis])).softmax(-1) @ v).T
    d = k.shape[0]
    scores = bug.choose(
        lambda: k.T @ q,
        features_against_features=lambda: k @ q.T,
        elementwise=lambda: k * q,
    )
    raw = scores
    scores = bug.choose(
        lambda: scores / math.sqrt(d),
        no_scale=lambda: scores,
        scale_d=lambda: scores / d,
        scale_times=lambda: scores * math.sqrt(d),
        scale_d_model=lambda: scores / math.sqrt(x.shape[0]),
        scale_tokens=lambda: scores / math.sqrt(x.shape[1]),
        scale_d_v=lambda: scores / math.sqrt(w_v.shape[0]),
    )
    weights = bug.choose(  # column j belongs to query j
        lambda: scores.softmax(0),
        softmax_over_queries=lambda: scores.softmax(1),
        softmax_over_all=lambda: scores.flatten().softmax(0).reshape(scores.shape),
        no_softmax=lambda: scores,
        softmax_twice=lambda: scores.softmax(0).softmax(0),
        scale_after=lambda: raw.softmax(0) / math.sqrt(d),
        sigmoid=lambda: scores.sigmoid(),
    )
    output = bug.choose(
        lambda: (v @ weights).T,
        columns_returned=lambda: v @ weights,
        output_reshaped=lambda: (v @ weights).reshape(x.shape[1], v.shape[0]),
        weights_not_transposed_back=lambda: (v @ weights.T).T,
        columns_of_transposed=lambda: v @ weights.T,
        values_not_transposed=lambda: weights.T @ v,
        output_softmax=lambda: (v @ scores).T.softmax(-1),
        values_first=lambda: v.T @ weights.T,
        values_first_columns=lambda: v.T @ weights,
    )
    return bug.choose(
        lambda: output,
        pair_returned=lambda: (output, weights.T),
        pair_returned_columns=lambda: (output, weights),
        weights_returned=lambda: weights.T,
        weights_returned_columns=lambda: weights,
        batch_axis_added=lambda: output[None],
        tokens_returned=lambda: x.T,
        values_returned=lambda: v.T,
        projections_returned=lambda: (q.T, k.T, v.T),
    )


COLUMNS = Exercise(
    id="X03-4",
    title="From columns to rows",
    see="03, section 8",
    name="column_to_row",
    reference=column_to_row,
    switched=switched,
    bugs=(
        *group("x", PROJECT)(
            x_not_transposed="The matrices meet the rows of `x_columns`, but in the column "
            "convention each *column* is a token. It is `w @ x_columns`, or with rows `x_columns.T "
            "@ w.T`: transpose both or neither.",
            x_reshaped="`x_columns` is reshaped instead of transposed: the shape fits, but the "
            "numbers of one token are scattered. Use `.T`.",
        ),
        *single(PROJECT)(
            weights_not_transposed="The matrices are used as in the row convention (`x @ w`). In "
            "the column convention it is `w @ x`, so with rows it becomes `x @ w.T`."
        ),
        *group("projections", PROJECT, "03, section 7")(
            query_for_key="The keys are made with w_q as well, so w_k is never used.",
            key_for_query="The queries are made with w_k as well, so w_q is never used.",
            key_for_value="The values are made with w_k. They have a matrix of their own, w_v.",
            query_for_value="The values are made with w_q. They have a matrix of their own, w_v.",
            projections_reshaped="q, k and v are reshaped instead of transposed: the shapes fit, "
            "but the numbers of one token are scattered. Use `.T`.",
            value_not_projected="The weights mix the tokens themselves. Mix the values, w_v times "
            "the tokens.",
            nothing_projected="The three matrices are not used: the tokens themselves serve as "
            "queries, keys and values.",
            keys_and_values_swapped="Keys and values have changed places: the queries are compared "
            "with the keys, and the values are what is mixed.",
            swapped="Queries and keys have changed places. In columns A = KᵀQ has one *column* per "
            "query; QᵀK is its mirror image, so there the softmax would run along rows.",
        ),
        *group("layout", "the line that computes the scores")(
            **dict.fromkeys(
                (
                    "columns_as_rows",
                    "columns_as_rows_scaled",
                    "columns_as_rows_then_transposed",
                    "columns_as_rows_scaled_then_transposed",
                ),
                "q, k and v still have one *column* per token, but the formula for rows is used on "
                "them: q kᵀ then compares features. Transpose first, or use KᵀQ.",
            ),
        ),
        *group("product", "the line that computes the scores")(
            features_against_features="The scores compare features with features (a table of d_k "
            "by d_k). They need one row and one column per token.",
            elementwise="`*` multiplies entry by entry. The scores are a matrix product: `@`.",
        ),
        *group("scale", "the division by √d_k", "03, section 4")(
            no_scale="The scores are not divided by √d_k. Changing the convention does not change "
            "the formula.",
            scale_d="The scores are divided by d_k instead of √d_k.",
            scale_times="The scores are multiplied by √d_k instead of divided.",
            scale_d_model="The root is taken of the model width. It is the width of the queries "
            "and keys, d_k, that is summed over.",
            scale_tokens="The root is taken of the number of tokens. In columns the *first* axis "
            "of q is its width d_k, the second one counts tokens.",
            scale_d_v="The root is taken of d_v, the width of the values. Take that of the queries "
            "and keys.",
        ),
        *group("softmax", SOFTMAX)(
            softmax_over_queries="The softmax runs over the wrong axis. In A = KᵀQ a *column* "
            "holds one query's scores, so the columns have to sum to 1 (`dim=0`); after a "
            "transpose, the rows (`dim=-1`).",
            softmax_over_all="The softmax runs over the whole table. Each query shares out its own "
            "weights.",
            no_softmax="There is no softmax: the scores themselves are used as weights.",
            softmax_twice="There are two softmaxes, one after the other.",
            scale_after="The scaling comes after the softmax. It belongs on the scores.",
            sigmoid="A sigmoid takes the place of the softmax: a query's weights do not sum to 1.",
        ),
        *group("output", OUTPUT)(
            columns_returned="The output still has one *column* per token, (d_v, N). Transpose it: "
            "rows are asked for, (N, d_v).",
            output_reshaped="The output is reshaped instead of transposed, which scatters the "
            "numbers of a token. Use `.T`.",
            weights_not_transposed_back="The weights meet v with their axes swapped. In columns it "
            "is O = V Â; as rows the transpose turns the order round, Âᵀ Vᵀ.",
            values_not_transposed="v still has one *column* per token when it meets the weights. "
            "As rows it is Âᵀ Vᵀ.",
            output_softmax="The softmax is taken of the output. It belongs on the scores, before "
            "they meet v.",
            values_first="The order is turned round: Vᵀ times the weights. A transpose swaps the "
            "order of a product, so O = V Â becomes Âᵀ Vᵀ.",
            values_first_columns="The order is turned round: Vᵀ times the weights. A transpose "
            "swaps the order of a product, so O = V Â becomes Âᵀ Vᵀ.",
            columns_of_transposed="The weights meet v with their axes swapped, and the output "
            "still has one column per token. In columns it is O = V Â; its transpose is Âᵀ Vᵀ.",
        ),
        *group("return", "the return line")(
            pair_returned="Output and weights come back. Only the output is asked for here.",
            pair_returned_columns="Output and weights come back. Only the output is asked for "
            "here.",
            batch_axis_added="There is a further axis of length 1 in front: (1, N, d_v). Take it "
            "off again, `output[0]`.",
            tokens_returned="Only the tokens are transposed. Attention is still to be done: q, k "
            "and v, scores, softmax, times v.",
            values_returned="The values come back as rows. They are still to be mixed by the "
            "weights.",
            projections_returned="q, k and v come back as rows. Attention is still to be done: "
            "scores, softmax, times v.",
            weights_returned="The weights come back. The output is asked for: the weights times v.",
            weights_returned_columns="The weights come back. The output is asked for: the weights "
            "times v.",
        ),
    ),
    probes=lambda r: [
        (r(8, 5), r(8, 5), r(3, 5), r(5, 7)),
        (0.7 * r(3, 9), r(3, 9), r(5, 9), 0.6 * r(9, 4)),
    ],
    square=lambda r: [(r(4, 4), r(4, 4), r(4, 4), r(4, 4)), (r(5, 5), r(5, 5), r(5, 5), r(5, 7))],
    parts=("output",),
    hints=(
        "Write the shapes down: in columns a token is a column of `x_columns`, (D, N). What is one "
        "token in `x_columns.T`?",
        "(w x)ᵀ = xᵀ wᵀ. So with rows the queries are `x_columns.T @ w_q.T`, and likewise k and v.",
        "From there it is the attention you know: scores q kᵀ / √d_k, softmax over the last axis, "
        "times v. The output has one row per token, (N, d_v).",
    ),
    also_right=(
        """
def column_to_row(w_q, w_k, w_v, x_columns):
    q, k, v = w_q @ x_columns, w_k @ x_columns, w_v @ x_columns
    a = torch.softmax(k.T @ q / q.shape[0] ** 0.5, dim=0)
    return (v @ a).T
""",
        """
def column_to_row(w_q, w_k, w_v, x_columns):
    x = x_columns.t()
    q, k, v = (F.linear(x, w) for w in (w_q, w_k, w_v))
    return F.scaled_dot_product_attention(q[None], k[None], v[None])[0]
""",
        """
def column_to_row(w_q, w_k, w_v, x_columns):
    rows = []
    for i in range(x_columns.shape[1]):
        query = w_q @ x_columns[:, i]
        keys = [w_k @ x_columns[:, j] for j in range(x_columns.shape[1])]
        scores = torch.stack([query.dot(key) for key in keys]) / math.sqrt(len(query))
        weights = scores.softmax(0)
        rows.append(sum(w * (w_v @ x_columns[:, j]) for j, w in enumerate(weights)))
    return torch.stack(rows)
""",
    ),
    blank="def column_to_row(w_q, w_k, w_v, x_columns):\n    ...\n",
)
