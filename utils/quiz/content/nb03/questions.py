"""The questions and predictions of notebook 03, with a reason for every option."""

from __future__ import annotations

from utils.quiz.questions import Prediction, Question, no, yes

QUESTIONS = (
    Question(
        id="Q03-1",
        title="Which sizes must agree",
        see="03, section 5",
        text="Attention gets queries (M, d_q), keys (N, d_k) and values (N', d_v). What has to be "
        "equal so that the formula can be computed at all?",
        options=(
            no(
                "d_q = d_k = d_v",
                all_widths_equal="d_q and d_k meet in a dot product, so they must agree. The "
                "values are only averaged: they may be as wide as you like.",
            ),
            no(
                "M = N",
                as_many_queries_as_keys="True in self-attention, where one sequence asks and "
                "answers. In general 2 queries may look at 100 keys.",
            ),
            yes(
                "d_q = d_k and N = N'",
                "The dot product needs equal widths, and each weight on a key is a weight on the "
                "value that belongs to it. M and d_v are free.",
            ),
            no(
                "d_v equals the model width",
                d_v_is_model_width="That is convenient in a large model, and a matrix after the "
                "attention can arrange it; the formula does not ask for it.",
            ),
        ),
    ),
    Question(
        id="Q03-2",
        title="How large dot products get",
        see="03, section 4",
        text="The entries of q and k are independent, with mean 0 and variance 1, and d = 256. How "
        "large is the standard deviation of q · k?",
        options=(
            no(
                "1",
                no_growth="That is the spread of a single entry. The dot product adds up 256 "
                "products.",
            ),
            yes(
                "16",
                "Each product has variance 1, and 256 of them add up to variance 256. The standard "
                "deviation is its root.",
            ),
            no(
                "256",
                variance_for_deviation="256 is the variance. The standard deviation is its root.",
            ),
            no(
                "1/16",
                factor_for_deviation="That would be a shrinking sum. 1/16 is the factor by which "
                "the scores are scaled *down* afterwards.",
            ),
        ),
    ),
    Question(
        id="Q03-3",
        title="Why the scores are divided",
        see="03, section 4",
        text="Why are the scores divided by √d?",
        options=(
            no(
                "So that exp does not overflow",
                overflow="Softmax takes the largest score off before exp, so nothing overflows "
                "with or without √d. The trouble is another one.",
            ),
            no(
                "So that the weights sum to 1",
                sum_to_one="The softmax sees to that for any scores whatever.",
            ),
            no(
                "So that q and k have length 1",
                cosine="That would be the cosine, which divides by the lengths of the two vectors. "
                "√d is the same for all of them.",
            ),
            yes(
                "So that the spread of the scores stays near 1 and the softmax does not saturate",
                "Without it the scores spread like √d, one key takes nearly all the weight, and "
                "the gradient through the softmax almost vanishes.",
            ),
        ),
    ),
    Question(
        id="Q03-4",
        title="Very high temperature",
        see="03, section 3",
        text="softmax(z / T) with a very large temperature T: what do the weights look like?",
        options=(
            yes(
                "All nearly equal",
                "z / T goes to 0 for every score, and equal scores get equal weights.",
            ),
            no(
                "One of them nearly 1, the others nearly 0",
                reversed="That is the other end: T near 0 blows the differences up.",
            ),
            no(
                "All nearly 0",
                no_normalisation="The scores go to 0, the weights cannot: they always sum to 1.",
            ),
            no(
                "As before: the order of the scores stays, so the weights stay",
                only_order_counts="The order stays, but the sizes do not: softmax looks at "
                "differences, and they shrink.",
            ),
        ),
    ),
    Question(
        id="Q03-5",
        title="Two tokens change places",
        see="03, section 10",
        text="Two words of the input of a self-attention layer change places; positions are not "
        "encoded in any way. What happens to the outputs?",
        options=(
            no(
                "All of them change, since the sentence is another one",
                order_is_seen="Self-attention sees a set of words. The sum over the keys is the "
                "same in any order, so a word that stays gets the very same output.",
            ),
            no(
                "Nothing changes: row 0 is still row 0",
                invariant="Each output belongs to a word, and it moves with its word. Only a sum "
                "over all rows would stay as it is.",
            ),
            yes(
                "The two outputs change places as well, the others stay as they are",
                "The layer is *equivariant*: reorder the inputs and the outputs are reordered "
                "likewise. It cannot know the order, which is why positions come in later.",
            ),
            no(
                "The two rows get new values, because the words have new neighbours",
                local_view="Neighbourhood means nothing here: every word looks at all words, "
                "wherever they stand.",
            ),
        ),
    ),
    Question(
        id="Q03-6",
        title="Softmax in the column convention",
        see="03, section 8",
        text="A lecture writes tokens as columns and A = KᵀQ. Along what does its softmax run?",
        options=(
            no(
                "Along each row",
                row_habit="That is the habit from the row convention, where a row is a query. In "
                "KᵀQ a row belongs to a *key*.",
            ),
            yes(
                "Along each column",
                "Column j of KᵀQ holds the scores of query j with all keys, and it is a query that "
                "shares out its weights.",
            ),
            no(
                "Over the whole matrix",
                whole_matrix="Then the queries would compete with each other. Each has a full 1 to "
                "share out.",
            ),
            no(
                "Over the features of q and k",
                features="The features are gone once the dot products are taken: A has one number "
                "per pair of tokens.",
            ),
        ),
    ),
)

PREDICTIONS = (
    Prediction(
        id="P03-1",
        title="Softmax without the scaling",
        see="03, section 4",
        text="Random queries and keys, scores q · k *without* dividing by √d. d grows from 4 to "
        "1024. What happens to the largest of a query's weights?",
        options=(
            no(
                "It stays about the same: the softmax evens everything out",
                softmax_evens_out="The softmax keeps the sum at 1. It does not shrink the scores.",
            ),
            no(
                "It falls: with more features the keys become more alike",
                more_alike="More features make the dot products *more* different: their spread "
                "grows like √d.",
            ),
            yes(
                "It climbs towards 1: one key takes nearly everything",
                "The spread of the scores grows like √d, and a softmax of large differences is "
                "nearly a hard choice.",
            ),
            no(
                "It becomes NaN: exp overflows",
                overflow="Softmax takes the largest score off first, so it stays finite. It "
                "saturates instead.",
            ),
        ),
        reveal="Without the scaling the largest weight runs to 1; divided by √d it hardly moves.",
    ),
    Prediction(
        id="P03-2",
        title="Two words change places",
        see="03, section 10",
        text="Two words of a sentence change places before it enters self-attention. What will the "
        "outputs do?",
        options=(
            yes("Change places in the same way", "Each output follows its word."),
            no(
                "Stay exactly as they were, row by row",
                invariant="Row 0 may now belong to another word; the outputs go with the words.",
            ),
            no(
                "All change a little, since the order of a sentence matters",
                order_is_seen="To us it does. The layer sums over all keys, and a sum has no "
                "order.",
            ),
        ),
        reveal="Reordered inputs give outputs reordered in the same way, and the table of weights "
        "has its rows and its columns reordered.",
    ),
)
