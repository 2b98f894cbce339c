"""The questions and predictions of notebook 01, with a reason for every option."""

from __future__ import annotations

from utils.quiz.questions import Prediction, Question, no, yes

QUESTIONS = (
    Question(
        id="Q01-1",
        title="John or Vienna",
        see="01, section 5",
        text="“John, the artist who has painted many Murals in Vienna, is visiting New York this "
        "summer.” Why may a plain RNN, asked where John is, answer Vienna?",
        options=(
            no(
                "Because Vienna comes first, and an RNN holds on to what it read first",
                first_wins="It is the other way round: what was read first has been squeezed "
                "through the most steps and has faded most.",
            ),
            yes(
                "Vienna is 2 steps from “visiting”, John is 11, and influence shrinks with each "
                "step",
                "At each step the gradient passes through the same matrix and a tanh. After 11 "
                "steps next to nothing of John is left.",
            ),
            no(
                "An RNN cannot represent proper names",
                vocabulary="A name is a token with an embedding like any other. What is missing is "
                "not the word but the memory of it.",
            ),
            no(
                "The commas reset the hidden state",
                comma_resets="Nothing resets it. A comma, if it is a token at all, is one more "
                "step.",
            ),
        ),
    ),
    Question(
        id="Q01-2",
        title="What has to wait",
        see="01, section 8",
        text="What cannot be computed in parallel in the forward pass of an RNN?",
        options=(
            no(
                "The sequences of a batch",
                batch="They do not know of each other: all of them take step 1 together, then step "
                "2.",
            ),
            no(
                "The units inside one hidden state",
                units="They are one matrix product, computed together. They need the *previous* "
                "state, not each other.",
            ),
            no(
                "Nothing: a GPU computes everything in parallel",
                gpu_magic="A GPU can do much at once, but not what needs a result that is not "
                "there yet.",
            ),
            yes(
                "The time steps of one sequence",
                "State t needs state t - 1. No hardware can change that order.",
            ),
        ),
    ),
    Question(
        id="Q01-3",
        title="The earliest step",
        see="01, section 8",
        text="A two-layer RNN that reads from left to right: what is the earliest step in which "
        "the state of layer 2 at time 4 can be computed?",
        options=(
            yes(
                "5",
                "Four steps to the right and one up: layer 1 needs 4 steps to reach time 4, then "
                "layer 2 needs one more. Its own past is ready at the same moment.",
            ),
            no(
                "8",
                layer_after_layer="That lets layer 2 wait until layer 1 is done with everything, "
                "and pays for each layer in full. The layers follow each other as a wave.",
            ),
            no(
                "4",
                forgets_the_layer="At step 4 the state *below* it is being computed. It has to "
                "wait for that.",
            ),
            no(
                "2",
                only_layers="That counts the layers only. The state also waits for three states "
                "before it.",
            ),
        ),
    ),
    Question(
        id="Q01-4",
        title="What a deep convolution sees",
        see="01, section 9",
        text="Six convolution layers with stride 1 and kernel 3 on top of each other: how many "
        "inputs can one output see?",
        options=(
            no(
                "18",
                overlap_counted="6 × 3 counts the overlap of the windows again and again. Each "
                "layer adds only 2 new inputs.",
            ),
            no(
                "729",
                power="3 to the power of 6 would be right if the windows did not overlap, that is, "
                "with stride 3.",
            ),
            yes("13", "One, and each of the six layers adds one on either side: 1 + 6 · 2."),
            no(
                "All of them",
                attention="That is attention. A convolution sees a window, however deep it is.",
            ),
        ),
    ),
    Question(
        id="Q01-5",
        title="The missing batch_first",
        see="01, section 2",
        text="The lecture's classifier feeds (batch, time, width) to `nn.RNN` without "
        "`batch_first=True`. What happens?",
        options=(
            no(
                "A shape error in `self.fc`",
                framework_notices="All shapes fit: axes are just numbers to the framework, it "
                "cannot know what they mean.",
            ),
            no(
                "Nothing: PyTorch sees which axis is the batch",
                layout_inferred="It cannot see that. Axis 0 is time unless you say otherwise.",
            ),
            no(
                "It is only slower",
                only_speed="The order of the axes is not a matter of speed: it decides what is "
                "computed.",
            ),
            yes(
                "No error and the right output shape, but the recurrence runs over the batch",
                "Each sentence is fed with the states of the sentences before it in the batch, and "
                "only its last token is read.",
            ),
        ),
    ),
    Question(
        id="Q01-6",
        title="Four tokens for two words",
        see="01, section 4",
        text="A model turns “Hello world” into 4 tokens. Which is true?",
        options=(
            no(
                "Its tokenizer is broken: there are two words",
                token_is_word="A token is the unit a model reads, a word is a unit of language. "
                "They need not agree.",
            ),
            yes(
                "Tokens may be parts of words; more tokens than words is quite usual",
                "Sub-word pieces let a small vocabulary write any word. Frequent words are one "
                "piece, rare ones several.",
            ),
            no(
                "The model makes 4 time steps for each word",
                steps_per_word="It makes one time step for each *token*: 4 in all.",
            ),
            no(
                "The tokens are the four embedding vectors",
                token_is_embedding="A token is a symbol with a whole number as its id. The vector "
                "is looked up afterwards: that is the embedding.",
            ),
        ),
    ),
)

PREDICTIONS = (
    Prediction(
        id="P01-1",
        title="One word of one sentence",
        see="01, section 2",
        text="The lecture's classifier gets four sentences at once. We change the *first word of "
        "the first sentence*. Whose logits will move?",
        options=(
            no(
                "Those of the first sentence only",
                as_intended="That is what everyone wants, and what the repaired version does.",
            ),
            no(
                "Those of all four sentences",
                all_leak="Close: sentences do leak into each other here. But the first word is not "
                "even read.",
            ),
            yes("None at all", "Right: only the last token of each sentence is ever read."),
            no(
                "None, because PyTorch raises an error",
                error="All shapes fit, so nothing is raised.",
            ),
        ),
        reveal="As printed on the slide nothing moves: the recurrence runs over the batch and only "
        "the last token of each sentence is read. With batch_first=True the first sentence moves "
        "and no other.",
    ),
    Prediction(
        id="P01-2",
        title="Who remembers over 40 tokens",
        see="01, section 7",
        text="Each model was trained for 300 steps to say which token came first, 40 noise tokens "
        "ago. Who can do it?",
        options=(
            no(
                "All four: it is only one token to remember",
                all="One token is little to store, but learning *that* it has to be stored needs a "
                "gradient that arrives.",
            ),
            no(
                "GRU, LSTM and attention: gates were invented for this",
                gates_suffice="Gates help, and at distance 10 one sees it. At 40 they too are left "
                "without a gradient at the start.",
            ),
            no(
                "The LSTM best of all: it has the most gates",
                most_gates="More gates are more parameters, not a shorter way.",
            ),
            yes(
                "Attention alone",
                "For attention the first token is one step away, whatever the distance.",
            ),
        ),
        reveal="The recurrent models fall to chance one after the other as the distance grows; "
        "attention does not notice the distance.",
    ),
)
