"""The questions and predictions of notebook 05, with a reason for every option."""

from __future__ import annotations

from utils.quiz.questions import Prediction, Question, no, yes

QUESTIONS = (
    Question(
        id="Q05-1",
        title="Why sine and cosine",
        see="05, section 6",
        text="Why does each frequency have a sine *and* a cosine?",
        options=(
            no(
                "They have different periods, so together they cover more distances",
                different_periods="Sine and cosine of one pair have the same period; they are a "
                "quarter turn apart. The different periods come from the different frequencies.",
            ),
            no(
                "Sines alone are never negative",
                both_signs="A sine takes both signs all by itself.",
            ),
            yes(
                "The pair is a point on a circle, so a shift by k is a rotation, the same for all "
                "positions",
                "With the sine alone half of the point is missing: no fixed matrix leads from one "
                "position to the one k steps later.",
            ),
            no(
                "The sine is for the encoder, the cosine for the decoder",
                encoder_decoder_split="Both parts of a Transformer use the same table.",
            ),
        ),
    ),
    Question(
        id="Q05-2",
        title="Which columns share a frequency",
        see="05, section 4",
        text="Which columns of the sinusoidal table have the same frequency?",
        options=(
            yes("2i and 2i + 1", "They are the sine and the cosine of the same angle."),
            no(
                "None: each column has its own",
                own_exponent="That is the mistake of the slide's snippet. The i of the formula "
                "counts pairs.",
            ),
            no(
                "All even columns",
                grouped_by_function="All even columns are sines, but each of another frequency.",
            ),
            no(
                "i and d − i",
                mirror="Frequencies fall steadily from left to right; there is no mirror.",
            ),
        ),
    ),
    Question(
        id="Q05-3",
        title="What is encoded",
        see="05, section 6",
        text="What does row `pos` of the sinusoidal table tell?",
        options=(
            no(
                "How far the token is from the others",
                relative_only="Row 3 is the same whatever stands around it. Distances can be "
                "*computed* from two rows.",
            ),
            yes(
                "The absolute position; the offset of two positions is a linear map between their "
                "rows",
                "One fixed rotation leads from any row to the one k steps later.",
            ),
            no(
                "Which token stands there",
                token_identity="That is what the embedding tells. The row is the same for every "
                "word.",
            ),
            no(
                "How long the sentence is",
                sentence_length="The row does not depend on the length; fractions of the length "
                "would.",
            ),
        ),
    ),
    Question(
        id="Q05-4",
        title="Positions between 0 and 1",
        see="05, section 2",
        text="What is wrong with numbering a sentence from 0 (first word) to 1 (last word)?",
        options=(
            no(
                "The values get too large",
                too_large="They never exceed 1. Growing values are the trouble of 1, 2, 3, …",
            ),
            no(
                "Two words can get the same number",
                not_unique="Within a sentence all numbers differ.",
            ),
            no(
                "It is not deterministic",
                not_deterministic="The same sentence always gets the same numbers.",
            ),
            yes(
                "One step means another distance in every sentence",
                "0.1 is the next word in a sentence of 11 words, and two words on in one of 21.",
            ),
        ),
    ),
    Question(
        id="Q05-5",
        title="Longer than in training",
        see="05, section 11",
        text="A model with sinusoidal positions was trained on up to 16 tokens. What happens with "
        "32?",
        options=(
            no(
                "It works: that is what sinusoids are made for",
                extrapolates_by_design="They are *defined* there. Whether the model can use them "
                "is another matter, and you measured it.",
            ),
            yes(
                "It may fail: the rows exist, but the model was never trained on them",
                "Defined is not the same as usable.",
            ),
            no(
                "An IndexError",
                index_error="That is the learned table, which has no row 16. A formula has all of "
                "them.",
            ),
            no("The values exceed 1", unbounded="Sines and cosines never do."),
        ),
    ),
    Question(
        id="Q05-6",
        title="Adding and concatenating",
        see="05, section 7",
        text="p is one-hot and W = [W^I W^P]. How does W[x; p] compare with W^I x + e?",
        options=(
            no(
                "They have nothing to do with each other",
                unrelated="Write the product with the two halves of W apart, and the sum appears.",
            ),
            no(
                "Adding destroys x for good, concatenating keeps it",
                adding_destroys="The projection W adds up the two parts as well. And in a wide "
                "space a model can keep them apart.",
            ),
            no(
                "Concatenating needs no W^P",
                no_w_p="[x; p] is longer than x, so W needs columns for p: these are W^P.",
            ),
            yes(
                "They are the same if e is the column of W^P that p picks out",
                "A matrix times a one-hot vector is one of its columns.",
            ),
        ),
    ),
)

PREDICTIONS = (
    Prediction(
        id="P05-1",
        title="Dot products of positions",
        see="05, section 5",
        text="Take the dot product of row 25 of the table with every other row. What will the "
        "curve look like?",
        options=(
            no(
                "Flat: all rows have the same length",
                flat="Equal lengths say nothing about the angle between two rows.",
            ),
            no(
                "It falls in a straight line to the left and to the right",
                straight_line="Each pair adds a cosine of the offset. A sum of cosines is no "
                "straight line.",
            ),
            yes(
                "A peak at 25, the same to both sides, wavy further out",
                "It is a sum of cosines of the offset: largest at 0, and no longer in step further "
                "out.",
            ),
            no(
                "Noise: the rows look random",
                noise="They look so in the picture, but there is only a sum of cosines in it.",
            ),
        ),
        reveal="The dot product is Σ cos(ω (pos − pos')): it depends on the offset alone.",
    ),
    Prediction(
        id="P05-2",
        title="Twice as long as in training",
        see="05, section 11",
        text="Three models learn to repeat the previous token, with 16 tokens at a time. All reach "
        "100 %. Which of them still do it at positions 16 to 31?",
        options=(
            no(
                "Learned table, sinusoids and rotary",
                all_generalise="The learned table never met these rows in training: they are still "
                "noise.",
            ),
            no(
                "Sinusoids and rotary",
                sinusoids_generalise="The sinusoids are defined there, but the model has only "
                "learned to read the first 16 rows.",
            ),
            yes(
                "Rotary alone",
                "Its scores know nothing but the offset, and the offset −1 was trained.",
            ),
            no(
                "None",
                none_generalises="Rotary scores depend on the offset alone, and the offset −1 was "
                "trained.",
            ),
        ),
        reveal="Only where the *offset* is all that the scores see does the model go on as "
        "trained.",
    ),
)
