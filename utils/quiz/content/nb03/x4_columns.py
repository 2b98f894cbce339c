"""X03-4: from the lecture's columns to our rows."""

from __future__ import annotations

import math

from torch import Tensor

from utils.quiz.exercise import Exercise, bug


def column_to_row(w_q: Tensor, w_k: Tensor, w_v: Tensor, x_columns: Tensor) -> Tensor:
    x = x_columns.T  # (N, D): one token per row
    q, k, v = x @ w_q.T, x @ w_k.T, x @ w_v.T
    scores = q @ k.T / math.sqrt(q.shape[-1])  # (N, N): rows are queries
    weights = scores.softmax(dim=-1)
    return weights @ v


OF_COLUMNS = (
    ("x = x_columns.T", "x = x_columns"),
    ("x @ w_q.T, x @ w_k.T, x @ w_v.T", "w_q @ x, w_k @ x, w_v @ x"),
)
EXERCISE = Exercise(
    id="X03-4",
    title="From columns to rows",
    see="03, section 8",
    name="column_to_row",
    reference=column_to_row,
    parts=("output",),
    bugs=(
        bug(
            "x-not-transposed",
            "The matrices meet the rows of `x_columns`, but in the column convention each *column* "
            "is a token. Transpose both x and the matrices, or neither.",
            ("x = x_columns.T", "x = x_columns"),
        ),
        bug(
            "x-reshaped",
            "`x_columns` is reshaped instead of transposed: the shape fits, but the numbers of one "
            "token are scattered.",
            ("x_columns.T", "x_columns.reshape(x_columns.shape[::-1])"),
        ),
        bug(
            "weights-not-transposed",
            "The matrices are used as in the row convention. In the column convention a matrix "
            "stands on the left, and (w x)ᵀ = xᵀ wᵀ.",
            ("x @ w_q.T, x @ w_k.T, x @ w_v.T", "x @ w_q, x @ w_k, x @ w_v"),
        ),
        bug(
            "columns-as-rows",
            "q, k and v still have one *column* per token, but the formula for rows is used on "
            "them: q kᵀ then compares features with features.",
            *OF_COLUMNS,
        ),
        bug(
            "nothing-projected",
            "The three matrices are not used: the tokens themselves serve as queries, keys and "
            "values.",
            ("x @ w_q.T, x @ w_k.T, x @ w_v.T", "x, x, x"),
            see="03, section 7",
        ),
        bug(
            "no-scale",
            "The scores are not divided by √d_k. Changing the convention does not change the "
            "formula.",
            (" / math.sqrt(q.shape[-1])", ""),
            see="03, section 4",
        ),
        bug(
            "scale-d-model",
            "The root is taken of the model width. It is the width of the queries and keys, d_k, "
            "that is summed over.",
            ("math.sqrt(q.shape[-1])", "math.sqrt(x.shape[-1])"),
            see="03, section 4",
        ),
        bug(
            "scale-tokens",
            "The root is taken of the number of tokens. In columns the *first* axis of q is its "
            "width d_k, the second one counts tokens.",
            ("math.sqrt(q.shape[-1])", "math.sqrt(x.shape[0])"),
            see="03, section 4",
        ),
        bug(
            "softmax-over-queries",
            "The softmax runs over the wrong axis. In A = KᵀQ a *column* holds one query's scores, "
            "so the columns have to sum to 1; after a transpose, the rows.",
            ("softmax(dim=-1)", "softmax(dim=0)"),
        ),
        bug(
            "columns-returned",
            "The output still has one *column* per token, (d_v, N). Rows are asked for, (N, d_v).",
            ("return weights @ v", "return (weights @ v).T"),
        ),
        bug(
            "weights-not-transposed-back",
            "The weights meet v with their axes swapped. In columns it is O = V Â; as rows the "
            "transpose turns the order round.",
            ("return weights @ v", "return weights.T @ v"),
        ),
    ),
    steps={
        "x_columns.T": "In the lecture's convention a token is a column; with rows it is a row, so "
        "x is transposed, never reshaped.",
        "x @ w_q.T, x @ w_k.T, x @ w_v.T": "(w x)ᵀ = xᵀ wᵀ: with rows the matrices stand on the "
        "right and are transposed; each of q, k and v has its own.",
        "q @ k.T / math.sqrt(q.shape[-1])": "Every query meets every key, divided by the root of "
        "their width d_k.",
        "scores.softmax(dim=-1)": "Each query shares out its weight over the keys: with rows, "
        "along the row.",
        "weights @ v": "Each output is a row of weights times the values, (N, d_v).",
    },
    probes=lambda r: [
        (r(8, 5), r(8, 5), r(3, 5), r(5, 7)),
        (0.7 * r(3, 9), r(3, 9), r(5, 9), 0.6 * r(9, 4)),
    ],
    square=lambda r: [(r(4, 4), r(4, 4), r(4, 4), r(4, 4)), (r(5, 5), r(5, 5), r(5, 5), r(5, 7))],
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
    x = x_columns.transpose(0, 1)
    q, k, v = x.mm(w_q.t()), x.mm(w_k.t()), x.mm(w_v.t())
    e = torch.exp(q.mm(k.t()) / math.sqrt(w_q.shape[0]))
    return (e / e.sum(1, keepdim=True)).mm(v)
""",
    ),
    blank="def column_to_row(w_q, w_k, w_v, x_columns):\n    ...\n",
)
