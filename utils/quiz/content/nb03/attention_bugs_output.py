"""The mistakes of X03-1 that come after the softmax: in the output and on the return line."""

from __future__ import annotations

from utils.quiz.bugs import group

OUTPUT = "the line that computes the output"
RETURN = "the return line"

BUGS = (
    *group("output", OUTPUT, "03, section 5")(
        weights_times_keys="The weights mix the keys. It is the values that are taken home: "
        "`weights @ v`.",
        weights_times_queries="The weights mix the queries. It is the values that are taken home: "
        "`weights @ v`.",
        weights_transposed="The weights are transposed before they meet v. Row i of the weights "
        "belongs to query i and stays a row: `weights @ v`.",
        values_first="The order is turned round: `v @ weights`. Each output is a row of weights "
        "times v: `weights @ v`.",
        values_transposed="v is transposed in the last product. It fits as it is: (M, N) @ (N, "
        "d_v).",
        values_reversed="v is transposed in the last product, and `.T` turns round *all* axes, the "
        "batch too. It fits as it is: `weights @ v`.",
        values_elementwise="`*` multiplies weights and values entry by entry. The weighted sum is "
        "a matrix product: `weights @ v`.",
        scores_times_values="The output is made with the scores instead of the weights. The "
        "softmax has to come in between.",
        mean_of_values="The output is the plain mean of the values; the weights are not used.",
        sum_of_values="The output is the plain sum of the values; the weights are not used.",
        last_value_only="Only the last key's share arrives in the output. In a loop over the keys, "
        "`=` starts anew each time; `+=` adds up.",
        best_value_only="The output is the value of the best key only. Mix all of them: `weights @ "
        "v`.",
        output_scaled="The output is divided by √d instead of the scores. The scaling has to tame "
        "the softmax, so it belongs before it.",
        output_scaled_again="The output is divided by √d once more. The scaling belongs on the "
        "scores, and nowhere else.",
        output_times="The output is multiplied by √d. Nothing is scaled after the softmax.",
        output_averaged="The output is divided by the number of keys. The weights sum to 1 "
        "already: that is the average.",
        output_softmax="There is a softmax on the output. The last step is `weights @ v`, nothing "
        "more.",
        output_normalised="The output is cut to length 1. The last step is `weights @ v`, nothing "
        "more.",
        residual_query="The queries are added to the output. A residual connection comes later, "
        "outside of attention.",
        residual_value="The values are added to the output. A residual connection comes later, "
        "outside of attention.",
        output_transposed="The output is transposed. It has one row per query: (M, d_v).",
        output_summed="The output is summed over the queries. Each query keeps a row of its own.",
        output_mean="The output is averaged over the queries. Each query keeps a row of its own.",
        output_beside_query="The queries are attached to the output. Return the mixture of values "
        "alone.",
        values_softmax="There is a softmax on v. The values are mixed as they are.",
    ),
    *group("return", RETURN, "03, section 5")(
        only_output="Only the output comes back. The function returns two things: `return output, "
        "weights`.",
        only_weights="Only the weights come back. The function returns two things: `return output, "
        "weights`.",
        order_swapped="The two results have changed places. Output first: `return output, "
        "weights`.",
        scores_returned="The second result is the scores, before the softmax. The weights are what "
        "comes after it.",
        raw_scores_returned="The second result is q kᵀ before scaling and softmax. Return the "
        "weights.",
        weights_returned_transposed="The weights come back transposed. Rows are queries, columns "
        "are keys.",
        three_returned="Three things come back. Two are wanted: `return output, weights`.",
        lists_returned="The results come as lists, one tensor per sequence. Put them together with "
        "`torch.stack`, or drop the loop: `@` takes the whole batch at once.",
        first_sequence_only="Only the first sequence of the batch comes back. Does the `return` "
        "stand inside the loop?",
        batch_flattened="The sequences of the batch come back one below the other, in one long "
        "table. `torch.stack` keeps the batch axis, `torch.cat` does not.",
        squeezed="`squeeze` drops every axis of length 1, also a batch of one sequence or a single "
        "query. The results keep all axes: (..., M, d_v) and (..., M, N).",
        returned_dict="The results come in a dict. A pair is wanted: `return output, weights`.",
        output_twice="The output comes back twice. The second result is the weights.",
        weights_averaged="The weights come back averaged over the queries. Return the whole table.",
        no_output_step="The weights and the scores come back, and the values were never used. The "
        "output is `weights @ v`.",
    ),
)
