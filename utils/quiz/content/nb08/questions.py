"""The questions and predictions of notebook 08, with a reason for every option."""

from __future__ import annotations

from utils.quiz.questions import Prediction, Question, no, yes

QUESTIONS = (
    Question(
        id="Q08-1",
        title="How many tokens",
        see="08, section 3",
        text="An image of 224 × 224 pixels, patches of 16 × 16 pixels, one class token. How many "
        "tokens does the encoder read?",
        options=(
            no(
                "196", no_class_token="These are the patches, 14 · 14. The class token is one more."
            ),
            no(
                "257",
                grid_of_16="That would be a grid of 16 × 16 patches. 16 is a patch's side in "
                "*pixels*: there are 224 / 16 = 14 in a row.",
            ),
            yes("197", "224 / 16 = 14 patches on each side, 14 · 14 = 196, and the class token."),
            no(
                "50,176",
                pixels_as_tokens="These are the pixels. A patch gathers 256 of them into one "
                "token.",
            ),
        ),
    ),
    Question(
        id="Q08-2",
        title="What the patch embedding is",
        see="08, section 2",
        text="ViT's patch embedding (patches of 16 × 16 pixels) is the same as …",
        options=(
            no(
                "a convolution with kernel 16 and stride 1",
                overlap="Its windows overlap. Patches lie side by side.",
            ),
            yes(
                "a convolution with kernel 16 and stride 16",
                "Each window is one patch, and all are multiplied with the same matrix.",
            ),
            no(
                "average pooling over 16 × 16 pixels",
                pooling="Pooling has nothing to learn and keeps one number a channel. The "
                "projection keeps D learned sums.",
            ),
            no(
                "a look-up in a table, as for words",
                lookup="Words have numbers, patches have not: there are far more possible patches "
                "than any table has rows.",
            ),
        ),
    ),
    Question(
        id="Q08-3",
        title="Shuffled patches",
        see="08, section 4",
        text="You take the positions away and shuffle the patches of an image. The class token's "
        "output …",
        options=(
            no(
                "becomes random",
                implicit_order="Nothing in an encoder knows an order, if it is not told. The class "
                "token looks at a set.",
            ),
            no(
                "cannot be computed: the shapes no longer fit",
                shape_error="There are as many patches as before.",
            ),
            no(
                "changes a little, because the embedding is a convolution",
                local_bias="Its windows do not overlap: each patch is embedded by itself.",
            ),
            yes(
                "stays the same",
                "Self-attention sees a set, as in notebook 05. The patches are the same set.",
            ),
        ),
    ),
    Question(
        id="Q08-4",
        title="Patches half as large",
        see="08, section 6",
        text="You halve the side of the patches. How many times as many attention scores does each "
        "head compute?",
        options=(
            yes("about 16", "Four times as many patches, and every one looks at all: 4² = 16."),
            no("2", linear="The side is halved in both directions, and then tokens meet in pairs."),
            no(
                "4",
                tokens_only="So many more *tokens*. Scores are pairs of tokens: the square of "
                "that.",
            ),
            no("1: it is the same image", same_image="The image is, but it is cut finer."),
        ),
    ),
    Question(
        id="Q08-5",
        title="ViT and ResNet",
        see="08, section 10",
        text="“At the same compute, ViT beats ResNet.” When?",
        options=(
            no(
                "Always",
                always="On few digits your CNN was ahead. The published comparison follows "
                "pre-training on hundreds of millions of images.",
            ),
            no(
                "Only on small data sets",
                reversed="It is the other way round: there the CNN's built-in knowledge of "
                "neighbours pays.",
            ),
            yes(
                "After pre-training on very many images",
                "Then there is enough to learn from what a CNN has built in.",
            ),
            no(
                "Only as a hybrid, with convolutions in front",
                hybrids_only="Hybrids help the *small* models; for large ones the gap closes.",
            ),
        ),
    ),
)

PREDICTIONS = (
    Prediction(
        id="P08-1",
        title="A plain reshape",
        see="08, section 1",
        text="`photo.reshape(1, 196, 768)` has the right shape too. What does its “patch” number "
        "100 show?",
        options=(
            no(
                "A piece of the flower, as it should be",
                reshape_cuts="`reshape` does not move anything: it reads the numbers in the order "
                "in which they lie in memory.",
            ),
            no(
                "The whole photograph, 14 times smaller",
                shrinks="Nothing is made smaller: 768 numbers are taken that lie side by side in "
                "memory.",
            ),
            yes(
                "A few lines of one colour channel",
                "In memory all of red comes first, then green, then blue, each line by line: 768 "
                "numbers are 3.4 lines.",
            ),
            no("An error comes", error="The number of entries fits, so there is none."),
        ),
        reveal="`reshape` reads line by line. The shape is right, and every “patch” is wrong.",
    ),
    Prediction(
        id="P08-2",
        title="Without positions",
        see="08, section 9",
        text="The same ViT is trained without positions: it gets the 16 patches as a bag. How many "
        "of the test digits will it name?",
        options=(
            no(
                "One in ten, as by chance",
                chance="The bag still tells much: how much ink there is, and which strokes.",
            ),
            yes(
                "Clearly fewer, but most of them",
                "Which pieces of stroke there are says a lot about the digit; where they were says "
                "the rest.",
            ),
            no(
                "As many as with positions",
                no_loss="Then it would not matter where a stroke is. A 6 and a 9 share most of "
                "their pieces.",
            ),
            no(
                "More: it cannot be misled by where the digit stands",
                gain="The digits are centred, so the place says a lot.",
            ),
        ),
        reveal="A bag of pieces tells most digits, but far from all.",
    ),
    Prediction(
        id="P08-3",
        title="Few images",
        see="08, section 10",
        text="ViT and a small CNN, each trained for the same time, with 5, 20 and 120 images of "
        "each digit. Who wins?",
        options=(
            no(
                "ViT everywhere: attention sees the whole image",
                always_vit="It may look anywhere, and has to learn where it is worth it.",
            ),
            no(
                "ViT with few images, the CNN with many",
                reversed="It is the model with more built in that needs fewer examples.",
            ),
            yes(
                "The CNN, most clearly with few images",
                "It knows from the start that neighbours belong together.",
            ),
            no(
                "Nobody: the same time gives the same accuracy",
                time_is_all="Time is not what is missing; examples are.",
            ),
        ),
        reveal="The CNN is ahead, and the gap closes as the images become more.",
    ),
)
