"""The questions and predictions of notebook 04, with a reason for every option."""

from __future__ import annotations

from utils.quiz.questions import Prediction, Question, no, yes

QUESTIONS = (
    Question(
        id="Q04-1",
        title="Twice as many heads",
        see="04, section 5",
        text="d_model = 512. You change the number of heads from 8 to 16 and leave d_model as it "
        "is. What happens to the number of parameters?",
        options=(
            no(
                "It doubles",
                heads_add_parameters="It would if every head kept its width, as in the lecture's "
                "first version. Here the heads share the width: 16 of 32 instead of 8 of 64.",
            ),
            no(
                "It halves",
                narrower_heads="Each head is half as wide, but there are twice as many of them.",
            ),
            yes("It stays the same", "h heads of (512, 512/h) make one (512, 512), whatever h is."),
            no(
                "It becomes four times as large",
                quadratic_guess="Quadratic is the growth with the *width*, and that has not "
                "changed.",
            ),
        ),
    ),
    Question(
        id="Q04-2",
        title="What a head sees",
        see="04, section 4",
        text="d = 16, h = 2. What does head 0 see of X?",
        options=(
            no(
                "X[:, :8], the first 8 numbers of each token",
                slices_of_x="So a slide says, but the formula beside it says otherwise: X is "
                "projected as a whole. What is cut in two is Q, K and V.",
            ),
            yes(
                "All 16 numbers, through its own matrices of shape (16, 8)",
                "Its 8 queries, keys and values are made from everything that X holds.",
            ),
            no(
                "The first half of the tokens",
                splits_the_sequence="Then no head could relate the first token to the last. Every "
                "head sees all tokens.",
            ),
            no(
                "8 numbers chosen at random",
                dropout="Chance comes in with dropout, which is something else.",
            ),
        ),
    ),
    Question(
        id="Q04-3",
        title="What PyTorch hands back",
        see="04, section 7",
        text="`nn.MultiheadAttention` with 4 heads returns weights of shape (2, 8, 8). They are …",
        options=(
            no("those of head 0", index="No head is preferred; look at the mean once more."),
            no("the sum over the heads", summed="Then each row would sum to 4. It sums to 1."),
            no(
                "one table that all heads share",
                one_table_for_all="Each head has its own queries and keys, so its own table.",
            ),
            yes(
                "the mean over the heads",
                "`average_attn_weights=False` gives all of them: (2, 4, 8, 8).",
            ),
        ),
    ),
    Question(
        id="Q04-4",
        title="Why one head was not enough",
        see="04, section 6",
        text="Why could one head not name both neighbours?",
        options=(
            yes(
                "It has one row of weights per query, so it can only mix the two words",
                "A mixture of two words does not say which of them stood before and which after, "
                "at least not to a linear layer.",
            ),
            no(
                "It has too few parameters",
                capacity="Both models have exactly the same number of them.",
            ),
            no(
                "A softmax can give weight to one key only",
                softmax_is_argmax="It can spread its weight as it likes; that is the trouble: what "
                "arrives is a mixture.",
            ),
            no(
                "It does not know the positions",
                positions_missing="Its queries and keys are made of nothing else.",
            ),
        ),
    ),
    Question(
        id="Q04-5",
        title="A short cut",
        see="04, section 4",
        text="Someone writes `x.reshape(B, h, N, dh)` straight from (B, N, d). What is it?",
        options=(
            no(
                "The usual way to split heads",
                shape_is_content="The shape is the usual one. But what is in it?",
            ),
            no(
                "An error: PyTorch refuses",
                expects_a_guard="The number of entries fits, so PyTorch does as it is told.",
            ),
            yes(
                "The right shape with the wrong content",
                "Head 0 gets the first tokens cut into pieces; no head sees them all.",
            ),
            no(
                "Fine, as W^O comes afterwards and can undo it",
                linear_layer_repairs="W^O works on each token alone. What was mixed between tokens "
                "stays mixed.",
            ),
        ),
    ),
    Question(
        id="Q04-6",
        title="Reading 94.3 %",
        see="04, section 9",
        text="A head of BERT puts its largest weight on the right noun for 94.3 % of the "
        "determiners. Which number do you need before you are impressed?",
        options=(
            no(
                "None: 94.3 % is high",
                no_baseline="In many languages the noun mostly follows its determiner at once.",
            ),
            no(
                "50 %, the chance of being right",
                binary_chance="There are as many wrong words as the sentence has others.",
            ),
            yes(
                "How often a fixed distance is right, and how many heads were tried",
                "“Always the next word” needs no understanding at all, and the best of 144 is "
                "flattered by the choice.",
            ),
            no(
                "The perplexity of the model",
                other_metric="That says how well BERT guesses words, not where this head looks.",
            ),
        ),
    ),
)

PREDICTIONS = (
    Prediction(
        id="P04-1",
        title="One head, two heads",
        see="04, section 6",
        text="Two models have to name the word before and the word after each place. They have the "
        "same width and the same number of parameters; one has a single head, the other two. How "
        "many neighbours will they get right?",
        options=(
            no(
                "Both nearly all: the width is the same",
                width_decides="The width is. But how many rows of weights does a query have?",
            ),
            yes(
                "One head about 60 %, two heads nearly all",
                "One row of weights can be right about one side; the other side is guesswork.",
            ),
            no(
                "One head nearly all, two heads fewer: their heads are narrower",
                narrow_heads_suffer="Narrower, but wide enough for 8 words, and there are two of "
                "them.",
            ),
            no(
                "One head about 12 %, which is chance among 8 words",
                chance="It can do better than that: it may look at one neighbour and name it.",
            ),
        ),
        reveal="One head is stuck at 5/8, which can be computed beforehand; two heads do it all.",
    ),
    Prediction(
        id="P04-2",
        title="A head is switched off",
        see="04, section 8",
        text="Three heads have learned to answer who, what and when. You switch off the head that "
        "looks at *when*. What happens to the three answers?",
        options=(
            no(
                "All three become worse by about a third",
                shared_work="That would be so if each head did a bit of everything.",
            ),
            no(
                "Nothing much: the other two take over",
                others_take_over="They might have learned to, had a head been missing in training. "
                "Nobody trained them for this.",
            ),
            no(
                "All three break down, as W^O needs all heads",
                all_or_nothing="The heads' contributions are added. The other two terms of the sum "
                "are as before.",
            ),
            yes(
                "*When* falls to guessing, the other two stay",
                "Each head writes its own term of the sum, and only one term is gone.",
            ),
        ),
        reveal="Heads write additively. This model has no head to spare, so each loss shows.",
    ),
)
