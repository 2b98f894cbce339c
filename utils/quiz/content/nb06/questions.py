"""The questions and predictions of notebook 06, with a reason for every option."""

from __future__ import annotations

from utils.quiz.questions import Prediction, Question, no, yes

QUESTIONS = (
    Question(
        id="Q06-1",
        title="Where −∞ goes",
        see="06, section 1",
        text="A key is forbidden. Where does the −∞ go?",
        options=(
            no(
                "Into the weights, after the softmax",
                after_softmax="−∞ as a weight would make the output −∞. And a 0 there, without "
                "renormalising, leaves row sums below 1 and the forbidden key in the denominator.",
            ),
            yes(
                "Into the scores, before the softmax",
                "exp(−∞) = 0: the softmax itself gives weight 0 and lets the others share the 1.",
            ),
            no(
                "Into the values",
                value_masking="0 · (−∞) is NaN, and the weights would still spend themselves on "
                "that key.",
            ),
            no(
                "Into the query",
                query_masking="Then every score of that query is infinite or NaN, and its whole "
                "row is lost.",
            ),
        ),
    ),
    Question(
        id="Q06-2",
        title="A score of 0",
        see="06, section 3",
        text="Someone sets the forbidden *scores* to 0 before the softmax. What weight do they "
        "get?",
        options=(
            no(
                "0",
                zero_score_is_zero_weight="A *weight* of 0 is wanted. But 0 is a score like any "
                "other: exp(0) = 1.",
            ),
            no("NaN", nan="NaN comes from NaN or +∞, or from a row of nothing but −∞."),
            no("1/N exactly", uniform="Only if all other scores of the row were 0 as well."),
            yes(
                "More than 0",
                "exp(0) = 1, so they keep a share: more than half of the weight in this notebook's "
                "example.",
            ),
        ),
    ),
    Question(
        id="Q06-3",
        title="The first row",
        see="06, section 1",
        text="What is the first row of a causal table of weights?",
        options=(
            yes(
                "1, 0, …, 0",
                "The first token sees only itself, so it gives itself everything, whatever its "
                "score.",
            ),
            no("All equal, 1/N", no_mask="That is a row without a preference and without a mask."),
            no(
                "All 0",
                self_excluded="A row sums to 1. The first token may look at itself: the present is "
                "allowed.",
            ),
            no(
                "NaN",
                strict_mask="That happens if the diagonal is forbidden as well: then the row is "
                "all −∞.",
            ),
        ),
    ),
    Question(
        id="Q06-4",
        title="Better than possible",
        see="06, section 10",
        text="The tokens are drawn at random from 8, so that nobody can predict them with a loss "
        "below ln 8 = 2.08. Without a mask the training loss falls to 0.18. Why?",
        options=(
            no(
                "The model has learned the random generator",
                patterns_in_noise="From a few hundred batches of fresh random numbers? There is no "
                "pattern to learn.",
            ),
            no(
                "It overfits: it knows the training data by heart",
                overfitting="Every batch is drawn anew, so no sequence comes twice.",
            ),
            yes(
                "It copies the next token, which stands in its input",
                "Position t may look at position t + 1, and that is the answer. Only the last "
                "position has nothing to copy: 2.08 / 12 ≈ 0.17.",
            ),
            no(
                "ln 8 is no lower bound for the loss",
                no_bound="It is one: the entropy of a fair choice among 8. Only who knows the "
                "answer beats it.",
            ),
        ),
    ),
    Question(
        id="Q06-5",
        title="Dropping the mask",
        see="06, section 11",
        text="A decoder of three layers generates word by word, without a cache. May the causal "
        "mask be dropped now?",
        options=(
            no(
                "Yes: the future does not exist yet",
                no_future="For the *newest* token that is true. The older ones would now see the "
                "tokens that came after them, and deeper layers read those changed states.",
            ),
            yes(
                "No: the deeper states of earlier positions would change",
                "From the second layer on, the newest token reads states that were computed with "
                "other rules than in training. With one layer there are none, and it makes no "
                "difference.",
            ),
            no(
                "Yes: the mask only serves speed",
                speed="The mask decides who may look at whom, and so which function is computed.",
            ),
            no(
                "No: the softmax would overflow",
                overflow="The softmax takes off the largest score first. Nothing overflows.",
            ),
        ),
    ),
    Question(
        id="Q06-6",
        title="Two meanings of True",
        see="06, section 6",
        text="What does True in a boolean `attn_mask` mean, for `nn.MultiheadAttention` and for "
        "`F.scaled_dot_product_attention`?",
        options=(
            no(
                "Allowed for both",
                one_convention_allowed="That would be kind. `nn.MultiheadAttention` means the "
                "opposite.",
            ),
            no(
                "Blocked for both",
                one_convention_blocked="That holds for `nn.MultiheadAttention`; the function means "
                "the opposite.",
            ),
            no(
                "Allowed for the module, blocked for the function",
                reversed="They do differ, but the other way round.",
            ),
            yes(
                "Blocked for the module, allowed for the function",
                "So a mask handed to the wrong one leaks the future without any error message. "
                "Test it: change the last token and watch the first output.",
            ),
        ),
    ),
)

PREDICTIONS = (
    Prediction(
        id="P06-1",
        title="Random digits, with and without a mask",
        see="06, section 10",
        text="Two models learn to predict the next of random tokens, one with the causal mask, one "
        "without. Nobody can do better than a loss of 2.08 honestly. What will the curves do?",
        options=(
            no(
                "Both stay at 2.08: random is random",
                both_honest="True for the one that has to predict. The other one can see.",
            ),
            no(
                "Both fall below 2.08: networks find a pattern",
                patterns_in_noise="There is none to find; every batch is drawn anew.",
            ),
            yes(
                "With the mask 2.08, without it close to 0",
                "Without the mask the answer stands in the input, one place further on.",
            ),
            no(
                "Without the mask 2.08, with it lower: the mask helps",
                mask_helps="The mask takes information away. It can only make the training loss "
                "worse.",
            ),
        ),
        reveal="A loss below what is possible is no success but an alarm: somewhere the answer "
        "leaks into the input.",
    ),
    Prediction(
        id="P06-2",
        title="Now they write",
        see="06, section 10",
        text="Each digit is the last digit of the sum of the two before it. The model without a "
        "mask has a training loss of about 0.00, the one with a mask 0.23. Both get two digits and "
        "write on. Which keeps to the rule?",
        options=(
            no(
                "The one without a mask: its loss is lower",
                low_loss_is_skill="Its loss was so low because it copied. While it writes there is "
                "nothing to copy.",
            ),
            no(
                "Both, since both have seen the same data",
                same_data_same_skill="They saw the same data, but only one of them had to compute "
                "anything.",
            ),
            yes("The one with the mask", "It learned to add, as it had no other way."),
        ),
        reveal="Honest training gives every digit right; the copyist keeps to the rule about as "
        "often as chance would.",
    ),
)
