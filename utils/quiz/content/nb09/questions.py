"""The questions and predictions of notebook 09, with a reason for every option."""

from __future__ import annotations

from utils.quiz.questions import Prediction, Question, no, yes

QUESTIONS = (
    Question(
        id="Q09-1",
        title="Which layer's features",
        see="09, section 3",
        text="Why does the decoder get features of a convolutional layer, and not of the fully "
        "connected layer behind it?",
        options=(
            no(
                "They have fewer parameters",
                cost="That is a matter of cost. A decoder that looks has another reason.",
            ),
            yes(
                "They still know where: each vector belongs to a part of the picture",
                "Only then can a weight on a vector mean a look at a place.",
            ),
            no(
                "A fully connected layer is not differentiable",
                not_differentiable="It is: gradients pass a matrix product without trouble.",
            ),
            no(
                "A fully connected layer holds no meaning",
                no_meaning="Rather more than the layers below it. What it has lost is the place.",
            ),
        ),
    ),
    Question(
        id="Q09-2",
        title="A grid of weights",
        see="09, section 5",
        text="A decoder looks at a 3 × 3 grid of features. What do its nine weights sum to?",
        options=(
            no(
                "3",
                last_axis_only="That is what you get if the softmax runs over the last axis only: "
                "each row then sums to 1.",
            ),
            no("9", no_normalisation="Then nothing would compete. A softmax shares one unit out."),
            no(
                "It depends on the word",
                depends_on_step="How the unit is shared depends on the word. The sum does not: the "
                "softmax is taken anew at each step.",
            ),
            yes("1", "The softmax runs over all cells of the grid, at each word."),
        ),
    ),
    Question(
        id="Q09-3",
        title="What changes with the word",
        see="09, section 5",
        text="The context is a weighted sum over all cells, c = Σ a · z. What on the right-hand "
        "side changes from word to word?",
        options=(
            yes(
                "Only the weights a",
                "The picture is read once, before the first word. What changes is the look at it.",
            ),
            no(
                "Only the features z",
                recomputes_features="That would mean running the CNN again for each word, on the "
                "same picture.",
            ),
            no(
                "Both",
                features_with_time="The slide writes z with an index t, but no step computes it "
                "anew.",
            ),
            no("Neither", fixed_context="That is the fixed context: the same c at each word."),
        ),
    ),
    Question(
        id="Q09-4",
        title="No recurrence",
        see="09, section 10",
        text="A captioner of Transformers has “no recurrence at all”. What does it still need when "
        "it describes a new picture?",
        options=(
            no(
                "Nothing: all words come out at once",
                training_for_test="In training they do, because all words are known. A new "
                "caption's next word needs those before it.",
            ),
            no(
                "An LSTM, for the order of the words",
                recurrence_for_order="The positions tell the order (notebook 05).",
            ),
            yes(
                "A loop over the words, one step after the other",
                "No module is recurrent, but each word is fed back before the next is chosen.",
            ),
            no(
                "The right caption",
                teacher_forcing="That is teacher forcing, for training. Nobody has it for a new "
                "picture.",
            ),
        ),
    ),
)

PREDICTIONS = (
    Prediction(
        id="P09-1",
        title="Where the fixed vector fails",
        see="09, section 4",
        text="The fixed-vector captioner describes pictures with 1 to 4 things in them. How does "
        "the share of captions that are right in every word depend on their number?",
        options=(
            no(
                "It is about the same for all",
                no_bottleneck="Then one vector would hold four things as easily as one.",
            ),
            no(
                "It falls a little, as longer captions have more words to go wrong",
                only_length="If each thing were named as well as a single one is, that would be "
                "all. But the things have to share the vector.",
            ),
            yes(
                "Good for one thing, poor for four",
                "All that will be said has to fit into c before the first word.",
            ),
            no(
                "It fails even for one thing",
                fails_always="One thing, a colour and a shape, fits into the vector easily.",
            ),
        ),
        reveal="One thing fits. Four things in their order do not, at this width and in this time.",
    ),
    Prediction(
        id="P09-2",
        title="Patches instead of convolutions",
        see="09, section 11",
        text="The pretrained CNN is replaced by a linear layer on raw patches and one encoder "
        "layer, which learn from captions alone. How many captions of new pictures will be right?",
        options=(
            no(
                "None: without convolutions a network cannot see shapes",
                convolution_needed="A linear layer and the encoder's feed-forward networks can "
                "tell shapes apart.",
            ),
            no(
                "About half: captions do not say which patch is meant",
                places_needed="No captioner was ever told. Attention finds out.",
            ),
            yes(
                "Nearly all",
                "Where a patch holds a whole shape, patches are as good a grid as the CNN's.",
            ),
            no(
                "Nearly all of one thing, few of four, as with the fixed vector",
                bottleneck_again="The fixed vector failed because it was one vector. Here there "
                "are 16 to look at.",
            ),
        ),
        reveal="From pixels to language with nothing but Transformers.",
    ),
)
