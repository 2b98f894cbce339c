"""The mistakes of X03-1 in words: what a teaching assistant says about each of them.

What each one computes stands in `attention_switches.py`, under the same name. Those after the
softmax are in `attention_bugs_output.py`.
"""

from __future__ import annotations

from utils.quiz.bugs import group, single
from utils.quiz.content.nb03 import attention_bugs_output
from utils.quiz.content.nb03.attention_common import marked
from utils.quiz.content.nb03.attention_detect import any_other_scale, half_precision, rounded

SCORES = "the line that computes the scores"
SCALE = "the division by √d"
SOFTMAX = "the line that turns scores into weights"

BUGS = marked(
    *group("inputs", SCORES, "03, section 5")(
        swapped="Queries and keys have changed places: row i of the scores must belong to query i "
        "and column j to key j. That is `q @ kᵀ`; yours is its mirror image `k @ qᵀ`.",
        query_twice="Both sides of the product are q, so the queries are compared with themselves "
        "and the keys are never looked at.",
        key_twice="Both sides of the product are k, so the keys are compared with themselves and "
        "the queries are never asked.",
        values_as_keys="The queries are compared with the values. They should be compared with the "
        "keys; the values come in only at the end.",
        values_as_queries="The left side of the product is v. It is the queries that look at the "
        "keys.",
        values_twice="The values are compared with themselves; queries and keys are not used.",
        first_keys_for_all="All sequences of the batch are compared with the keys of the first one "
        "(`k[0]`). Each has its own: `q @ k.transpose(-2, -1)`.",
        keys_and_values_swapped="Keys and values have changed places: the queries are compared "
        "with the keys, and the values are what is mixed.",
        softmax_on_inputs="There is a softmax on q and on k themselves. It belongs after their "
        "product: it turns scores into weights, not vectors into other vectors.",
        softmax_on_queries="There is a softmax on q itself. It belongs after the product of q and "
        "k.",
        softmax_on_keys="There is a softmax on k itself. It belongs after the product of q and k.",
        cosine="q and k are cut to length 1 first (cosine similarity). Attention takes the plain "
        "dot product divided by √d.",
        cosine_scaled="q and k are cut to length 1 first (cosine similarity) and scaled on top. "
        "Attention takes the plain dot product divided by √d.",
    ),
    *group("product", SCORES, "03, section 5")(
        no_transpose="k is not transposed: `q @ k` multiplies features with positions. Each query "
        "needs a dot product with each key, `q @ k.transpose(-2, -1)`.",
        all_axes_reversed="The batch axis takes part in the transpose: `.T` turns round *all* "
        "axes. Swap the last two only: `k.transpose(-2, -1)`.",
        batch_axis_moved="The transpose moves the batch axis (`transpose(0, 1)`). Swap the last "
        "two axes: `k.transpose(-2, -1)`.",
        reshaped="`view` or `reshape` gives k the right shape but shuffles its numbers: they are "
        "read in the old order. A transpose is needed, `k.transpose(-2, -1)`.",
        features_against_features="`qᵀ @ k` compares features with features. The scores need one "
        "row per query and one column per key: `q @ kᵀ`.",
        elementwise="`*` multiplies entry by entry. Every query with every key is a matrix "
        "product: `@`.",
        elementwise_transposed="`*` multiplies entry by entry, also with a transposed k. Every "
        "query with every key is a matrix product: `@`.",
        elementwise_reversed="`*` multiplies entry by entry, and `.T` turns round all axes. Every "
        "query with every key is a matrix product: `q @ k.transpose(-2, -1)`.",
        batch_summed="The scores are summed over the batch: all sequences share one table. The "
        "batch axis has to stay (in einsum: on the right of the arrow as well).",
        last_key_skipped="The last key is left out: its scores are 0. Does a loop stop one too "
        "early?",
        own_key_only="Query i meets key i only (product entry by entry, then a sum). Each query "
        "has to meet every key: `q @ kᵀ`.",
        distance="The scores are negative squared distances. Attention uses dot products.",
        distance_plus="The scores are distances, so the farthest key would get the largest weight. "
        "Attention uses dot products.",
        sum_not_product="q and k are added before the sum over features. A dot product multiplies "
        "them.",
        difference="q and k are subtracted before the sum over features. A dot product multiplies "
        "them.",
        mean_not_sum="The products are averaged over the features instead of summed. A dot product "
        "is a sum; the only scaling is 1/√d.",
        absolute_scores="The scores lose their sign (`abs`). A negative score says *look away*; "
        "keep it.",
        negative_scores="The scores have the wrong sign, so the best matching key gets the "
        "smallest weight.",
        needs_two_axes="It works for one sequence, (M, d), but not for a batch, (B, M, d). A loop "
        "over `q`, `.t()`, `torch.mm` and `einsum` without `...` know matrices only; "
        "`k.transpose(-2, -1)`, `@` and softmax over `dim=-1` take both.",
        needs_equal_lengths="It works only if there are as many keys as queries: somewhere M is "
        "taken for N. Does a loop over the keys run over `range(M)`, is a table (M, M) made, or "
        "are the weights reshaped before they meet v? The scores are (M, N), N = `k.shape[-2]`.",
    ),
    *group("scale", SCALE, "03, section 4")(
        no_scale="The scores are not divided by √d. Their spread grows with d, and the softmax "
        "then puts nearly all weight on one key.",
        scale_d="The scores are divided by d instead of √d, so they are too small and the weights "
        "too even. (Dividing both q and k by √d does the same.)",
        scale_d_squared="The scores are divided by d². It is the root of d: `d ** 0.5`.",
        scale_times="The scores are multiplied by √d. Divide: the scaling has to make them "
        "smaller.",
        scale_times_d="The scores are multiplied by d. Divide by √d: the scaling has to make them "
        "smaller.",
        scale_fourth_root="The scores are divided by the fourth root of d. Is one root too many, "
        "or only one of q and k scaled?",
        scale_log="The scores are divided by log d instead of √d.",
        scale_half="The scores are divided by d/2: `d ** 1/2` means (d ** 1)/2. Write `d ** 0.5` "
        "or `math.sqrt(d)`.",
        scale_precedence="The scores are divided by 2d: `/ d ** 1 / 2` divides by d and then by 2. "
        "Write `d ** 0.5` or `math.sqrt(d)`.",
        scale_d_v="The root is taken of the width of v. What is summed up in q · k is the width of "
        "q and k.",
        scale_keys="The root is taken of the number of keys N. It is the width d, the last axis of "
        "q, that makes dot products large.",
        scale_queries="The root is taken of the number of queries M. It is the width d, the last "
        "axis of q, that makes dot products large.",
        scale_batch="The root is taken of the first axis, the batch (`len(q)` or `shape[0]`). Take "
        "the last one, `q.shape[-1]`.",
        scale_by_keys="The scores are divided by the number of keys N, not by √d.",
        scale_by_queries="The scores are divided by the number of queries M, not by √d.",
        scale_numel="The root is taken of the count of all numbers in k. Take the width only, "
        "`k.shape[-1]`.",
        scale_norms="The scores are divided by the length of each key. Divide by √d, the same "
        "number for all.",
        scale_std="The scores are divided by their own standard deviation. Divide by √d: a number "
        "known before any score is.",
        floor_division="`//` cuts the scores down to whole numbers. Divide with `/`.",
        scale_before_root="The root is taken of the whole quotient. Only d stands under the root: "
        "scores / √d.",
        scale_after_softmax="The scaling comes after the softmax, so the rows sum to 1/√d. It "
        "belongs before, on the scores.",
        scale_again_after_softmax="The scaling comes twice: on the scores, where it belongs, and "
        "again after the softmax, so the rows sum to 1/√d.",
        times_after_softmax="The weights are multiplied by √d after the softmax, so their rows sum "
        "to √d. The scaling belongs on the scores, and it divides.",
        scale_after_softmax_d="The weights are divided by d after the softmax, so their rows do "
        "not sum to 1. The scaling belongs on the scores, by √d.",
    ),
    *single(SCALE, "03, section 4", any_other_scale)(
        other_scale="The weights are a softmax of q kᵀ times some number, but that number is not "
        "1/√d."
    ),
    *single(SOFTMAX, "03, section 5", half_precision)(
        half_precision="The weights are computed with 16 bits (`half`), so only three digits are "
        "right. Keep the type of the inputs."
    ),
    *single(SOFTMAX, "03, section 3", rounded)(
        rounded="The weights are rounded. Small differences matter for learning: return them as "
        "computed."
    ),
    *group("weights", SOFTMAX, "03, section 3")(
        softmax_over_queries="The softmax runs over the queries: the columns sum to 1, the rows do "
        "not. Each query shares out its own weights over the keys, the last axis: `dim=-1`.",
        **dict.fromkeys(
            (
                "softmax_on_inputs_only",
                "softmax_on_inputs_unscaled",
                "softmax_on_inputs_and_tokens",
                "softmax_on_tokens",
            ),
            "There is a softmax on q and one on k, and none on their product. It belongs after the "
            "product: it turns a query's scores into weights.",
        ),
        softmax_over_batch="The softmax runs over the batch axis, so sequences compete with each "
        "other. (Without `dim=` torch may pick that axis.) Take the keys, `dim=-1`.",
        softmax_over_all="The softmax runs over all entries together, the batch too: the whole "
        "tensor sums to 1. Each row has to: `dim=-1`.",
        softmax_over_table="The softmax runs over queries and keys together: each table sums to 1. "
        "Each row has to: `dim=-1`.",
        softmax_over_queries_then_keys="There are two softmaxes, one over the queries and one over "
        "the keys. Only the one over the keys belongs here.",
        no_softmax="There is no softmax: the scores themselves are used as weights. Weights are "
        "positive and each row sums to 1.",
        sigmoid="A sigmoid takes the place of the softmax: each weight is decided alone, and the "
        "rows do not sum to 1.",
        sigmoid_normalised="A sigmoid divided by its sum takes the place of the softmax. It "
        "flattens large scores; softmax uses exp.",
        tanh="A tanh takes the place of the softmax: weights become negative and do not sum to 1.",
        relu="A ReLU takes the place of the softmax: the rows do not sum to 1.",
        relu_normalised="A ReLU divided by its sum takes the place of the softmax, which uses exp.",
        tanh_before_softmax="The scores go through a tanh before the softmax. They go in as they "
        "are.",
        relu_before_softmax="The scores go through a ReLU before the softmax. They go in as they "
        "are: a negative score says *look away*.",
        sigmoid_before_softmax="The scores go through a sigmoid before the softmax. They go in as "
        "they are.",
        exp_only="The exp is there, but it is not divided by its sum over the keys, so the rows do "
        "not sum to 1.",
        exp_sum_no_keepdim="The sum of the exps has lost an axis, so it lines up with the wrong "
        "one. Write `.sum(-1, keepdim=True)`.",
        exp_sum_queries_no_keepdim="The exps are summed over the queries, and the sum has lost an "
        "axis. Sum over the keys and keep the axis: `.sum(-1, keepdim=True)`.",
        sum_no_keepdim="The sum of the exps has lost an axis, so it lines up with the wrong one. "
        "Write `.sum(-1, keepdim=True)`.",
        max_and_sum_no_keepdim="Maximum and sum have lost their axis, so they line up with the "
        "wrong one. Write `keepdim=True` in both.",
        sum_over_queries="The exps are divided by their sum over the queries: the columns sum to "
        "1, the rows do not. A query's weights are a row: `.sum(-1, keepdim=True)`.",
        max_no_keepdim="The maximum has lost its axis, so it lines up with the wrong one. Write "
        "`.amax(-1, keepdim=True)`.",
        log_softmax="`log_softmax` gives logarithms of weights: all negative. Use `softmax`.",
        softmax_twice="There are two softmaxes, one after the other. The second one makes the "
        "weights nearly even. Is one of them hidden in another line?",
        divided_by_sum="The scores are divided by their sum, without exp. Negative scores give "
        "negative weights, and a sum near 0 explodes. Softmax takes exp first.",
        divided_by_abs_sum="The scores are divided by the sum of their absolute values. Weights "
        "may not be negative: softmax takes exp first.",
        abs_normalised="The absolute scores are divided by their sum. Softmax takes exp, so that a "
        "negative score gets little weight instead of much.",
        squares_normalised="The squared scores are divided by their sum. Softmax takes exp, so "
        "that a negative score gets little weight instead of much.",
        divided_by_norm="The rows are cut to length 1 (squares sum to 1). Weights sum to 1 "
        "themselves: softmax.",
        divided_by_max="The rows are divided by their maximum. Weights have to sum to 1: softmax.",
        min_max="The rows are stretched to 0…1 by their minimum and maximum. Weights have to sum "
        "to 1: softmax.",
        power_of_two="Powers of 2 take the place of exp: all differences shrink. Softmax uses e.",
        exp_over_scores="The exp is divided by the sum of the scores. Divide it by the sum of the "
        "exps.",
        argmax="Each query takes its best key only (argmax). That is no soft choice, and no "
        "gradient flows through it. Use softmax.",
        uniform="All weights are equal, whatever the queries say.",
        rounded_to_whole="The weights are rounded to 0 and 1. Keep them as they are.",
        causal_mask="Keys after the query's own position are hidden (a causal mask). Nobody asked "
        "for a mask here: each query may look at every key.",
    ),
    *attention_bugs_output.BUGS,
)
