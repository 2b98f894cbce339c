"""The questions and predictions of notebook 02, with a reason for every option."""

from __future__ import annotations

from utils.quiz.questions import Prediction, Question, no, yes

QUESTIONS = (
    Question(
        id="Q02-1",
        title="The bottleneck",
        see="02, section 5",
        text="What is the bottleneck of the basic encoder-decoder?",
        options=(
            no(
                "The softmax over the vocabulary",
                compute_for_information="It costs time, but it loses nothing the decoder knew. The "
                "bottleneck is about information.",
            ),
            yes(
                "One vector of fixed size has to hold a source of any length",
                "Four words or thirty: all the decoder ever gets to know is that one vector.",
            ),
            no(
                "Teacher forcing",
                training_for_architecture="That is a way to train. The same architecture trained "
                "otherwise has the same one vector.",
            ),
            no(
                "The decoder has no hidden state",
                no_decoder_state="It has one: s_t. It starts from the summary of the source, and "
                "there the squeeze has already happened.",
            ),
        ),
    ),
    Question(
        id="Q02-2",
        title="What the weights sum over",
        see="02, section 6",
        text="The weights α_ij are normalised: over what do they sum to 1?",
        options=(
            yes(
                "Over the source positions j, for each output word i",
                "Each output word has 1 to share out over the source. In the map: each row.",
            ),
            no(
                "Over the output words i, for each source position j",
                wrong_axis="Then each source word would have to be used exactly once. Some are "
                "used often, some never: columns may sum to anything.",
            ),
            no(
                "Over both, so that the whole map sums to 1",
                joint_distribution="Then a long translation would have little attention left for "
                "each word. Every row has its own 1.",
            ),
            no(
                "Over the sentences of the batch",
                batch_axis="Sentences of a batch share nothing but the computation.",
            ),
        ),
    ),
    Question(
        id="Q02-3",
        title="Annotations in another order",
        see="02, section 6",
        text="After encoding, the annotations h_j are put into another order; the state s stays "
        "the same. What happens to the context c_i?",
        options=(
            no(
                "It is put into another order too",
                equivariant="The context is one vector, a sum; it has no positions to reorder. The "
                "weights are what follows the new order.",
            ),
            no(
                "It changes in an unforeseeable way",
                sum_is_ordered="Each h_j keeps its score, so it keeps its weight, and a sum does "
                "not care about the order of its terms.",
            ),
            no(
                "It becomes the plain average",
                order_makes_weights="The weights come from what the annotations hold, not from "
                "where they stand.",
            ),
            yes(
                "Nothing",
                "Same vectors, same scores, same sum. Attention sees a set; the order is known "
                "only because the encoder wrote it into the vectors.",
            ),
        ),
    ),
    Question(
        id="Q02-4",
        title="A block across the diagonal",
        see="02, section 9",
        text="In the map of the agreement sentence a small block runs from lower left to upper "
        "right, against the diagonal. What does it say?",
        options=(
            no(
                "The model made a mistake there",
                diagonal_is_right="The diagonal means *same order*, not *right*. French has "
                "another order here.",
            ),
            yes(
                "These words stand in reverse order in French",
                "European Economic Area becomes zone économique européenne: noun first, and the "
                "adjectives the other way round.",
            ),
            no(
                "A mask keeps the decoder from looking ahead",
                mask_for_alignment="The decoder may look at the whole source at every step. Masks "
                "over the future come with self-attention.",
            ),
            no(
                "These words were not in the vocabulary",
                unknown_words="Unknown words would not be translated rightly, and nothing would "
                "make their attention cross over so neatly.",
            ),
        ),
    ),
    Question(
        id="Q02-5",
        title="Teacher forcing",
        see="02, section 4",
        text="What does teacher forcing feed to the decoder?",
        options=(
            no(
                "In training, the word the model itself said before",
                reversed="That is free running. It is what happens later, when nobody knows the "
                "right words.",
            ),
            no(
                "In training, the right word for this very step",
                no_shift="Then it would see what it has to say. It gets the word *before*: hence "
                "the shift by one.",
            ),
            yes(
                "In training, the right word before this step, whatever the model said",
                "So a first mistake does not spoil the rest of the sentence, and all steps can be "
                "trained at once.",
            ),
            no(
                "In testing, the right word before this step",
                leak_in_testing="In a test nobody knows the right words; a score got that way is "
                "too good.",
            ),
        ),
    ),
    Question(
        id="Q02-6",
        title="One position beside",
        see="02, section 7",
        text="A trained alignment peaks one position beside the word that is translated, and the "
        "translations are right. What is the best reading?",
        options=(
            no(
                "Training failed",
                attention_is_supervised="The translations are right. Nobody ever told the model "
                "where to look; it only had to get the information.",
            ),
            no(
                "The softmax runs over the wrong axis",
                over_diagnosis="Then the rows would not sum to 1, and the translations would "
                "suffer.",
            ),
            no(
                "The data are off by one",
                off_by_one_data="Then the translations would be off as well.",
            ),
            yes(
                "The annotation next door knows the word too",
                "h_{j+1} was made from h_j, so it carries x_j along. Attention points at vectors, "
                "not at words.",
            ),
        ),
    ),
)

PREDICTIONS = (
    Prediction(
        id="P02-1",
        title="Longer and longer",
        see="02, section 5",
        text="A model with one fixed vector learns to reverse sequences of 2 to 12 digits. It is "
        "nearly perfect at 3 digits. How often will all digits be right at length 10?",
        options=(
            no(
                "Nearly always: it was trained on that length",
                trained_so_fine="It was, and that does not help: the vector does not grow with the "
                "sequence.",
            ),
            no(
                "About 3/10 as often",
                in_proportion="That would be a loss in proportion. Each digit more is one more "
                "that must be right, and one more that must fit into the same vector.",
            ),
            yes(
                "Nearly never",
                "The vector must hold ten digits and their order, and all ten have to come out "
                "right.",
            ),
            no(
                "As often as at length 3: the vector is the same",
                same_vector_same_score="The vector is the same, what has to go into it is not.",
            ),
        ),
        reveal="The share of perfect answers falls from nearly 1 to nearly 0 within the trained "
        "lengths.",
    ),
    Prediction(
        id="P02-2",
        title="Beyond the trained lengths",
        see="02, section 7",
        text="With attention the same task works at every trained length (2 to 12). What will "
        "happen at length 20?",
        options=(
            no(
                "It stays perfect: attention does not care about length",
                attention_extrapolates="The squeeze is gone, but the decoder has never had to find "
                "its way in so long a sequence.",
            ),
            yes(
                "It falls as well",
                "Attention removes the bottleneck. It does not promise lengths that training never "
                "showed.",
            ),
            no(
                "It falls below the model with a fixed vector",
                worse_than_fixed="That one is at 0 already.",
            ),
        ),
        reveal="Attention holds up to the trained lengths and a little beyond, then it falls too.",
    ),
)
