"""The questions and predictions of notebook 07, with a reason for every option."""

from __future__ import annotations

from utils.quiz.questions import Prediction, Question, no, yes

QUESTIONS = (
    Question(
        id="Q07-1",
        title="What layer norm looks at",
        see="07, section 3",
        text="Over which numbers does layer norm take mean and variance in a Transformer?",
        options=(
            no(
                "Over the same feature of all sentences in the batch",
                batch_norm="That is batch norm. A sentence's result would depend on its "
                "neighbours.",
            ),
            no(
                "Over all tokens of a sentence",
                over_the_sentence="Then words to come would change those before, and no causal "
                "mask could stop it.",
            ),
            yes(
                "Over the features of each token",
                "Every token is on its own: no batch and no neighbour comes into it.",
            ),
            no(
                "Over the heads",
                over_the_heads="Heads live inside the attention. The norm sees vectors of full "
                "width.",
            ),
        ),
    ),
    Question(
        id="Q07-2",
        title="What the feed-forward network is",
        see="07, section 4",
        text="What is the feed-forward network of a block?",
        options=(
            yes(
                "Two linear layers with a ReLU between, applied to each token by itself",
                "From 512 to 2,048 and back in the paper. Most parameters of a block are here.",
            ),
            no(
                "One multiplication by a weight matrix",
                one_matrix="So says a slide. Without the ReLU two matrices would be one, indeed.",
            ),
            no(
                "A layer over the whole flattened sentence",
                mixes_tokens="It would mix the tokens, and fit one length only. Each token goes "
                "alone.",
            ),
            no(
                "Another attention, with learned queries",
                block_confusion="There is no softmax and no second token in it.",
            ),
        ),
    ),
    Question(
        id="Q07-3",
        title="Who asks in cross-attention",
        see="07, section 6",
        text="In the decoder's cross-attention, where do queries, keys and values come from?",
        options=(
            no(
                "Queries from the encoder, keys and values from the decoder",
                reversed="Then there would be one result for each *source* word. It is the target "
                "words that need to know.",
            ),
            no(
                "Queries and keys from the encoder, values from the decoder",
                mixed_up="Keys and values belong together: what is looked at is what is taken "
                "home.",
            ),
            no(
                "All three from the encoder",
                self_attention="That is the encoder's own self-attention.",
            ),
            yes(
                "Queries from the decoder, keys and values from the encoder",
                "The words written so far ask, the source sentence answers.",
            ),
        ),
    ),
    Question(
        id="Q07-4",
        title="Where tokens meet",
        see="07, section 4",
        text="Which part of an encoder block lets one token learn about another?",
        options=(
            no(
                "The feed-forward network: its layers connect everything",
                dense_mixes_all="They connect all *features* of one token. Every token goes "
                "through alone.",
            ),
            yes(
                "The self-attention, and nothing else",
                "Everything else works on each token by itself: the Jacobian is block-diagonal.",
            ),
            no(
                "The layer norm: it compares the tokens",
                norm_over_tokens="It takes mean and variance of one token's features.",
            ),
            no(
                "The residual: it adds the neighbours",
                residual_adds_neighbours="It adds the token's own vector from before.",
            ),
        ),
    ),
    Question(
        id="Q07-5",
        title="Reading the table of results",
        see="07, section 13",
        text="English to French: the base Transformer reaches 38.1 BLEU, ConvS2S 40.46. What "
        "follows?",
        options=(
            no(
                "The Transformer beat all earlier models, as the caption says",
                caption_taken_literally="Not this one: 38.1 is the lowest number in its column. "
                "The caption is true of the big model.",
            ),
            no(
                "The Transformer is better: a low BLEU is good",
                lower_is_better="More BLEU is better: more overlap with human translations.",
            ),
            yes(
                "On this pair only the big model (41.8) beats the earlier single models",
                "But base needed 3.3·10¹⁸ operations, ConvS2S 1.5·10²⁰: 45 times as many.",
            ),
            no(
                "ConvS2S is better at the same cost",
                equal_costs="It cost 45 times as many operations: 1.5·10²⁰ against 3.3·10¹⁸.",
            ),
        ),
    ),
    Question(
        id="Q07-6",
        title="Why pre-norm helps",
        see="07, section 7",
        text="Why is a deep pre-norm stack easier to train?",
        options=(
            no(
                "It has fewer parameters",
                fewer_parameters="It has the same, and one final norm more.",
            ),
            no(
                "It normalises every output twice",
                twice="Each sub-layer has one norm in both orders.",
            ),
            no(
                "The norm takes the place of the residual",
                replaces_residual="The residual is there in both orders. In pre-norm it is left "
                "untouched.",
            ),
            yes(
                "Gradients find a way from top to bottom that passes no norm",
                "In post-norm every layer's norm stands in the way of what comes back.",
            ),
        ),
    ),
)

PREDICTIONS = (
    Prediction(
        id="P07-1",
        title="Twenty layers without residuals",
        see="07, section 2",
        text="Twenty tanh layers, once with residuals and once without. How large is the gradient "
        "that arrives at the bottom *without* them, compared to with?",
        options=(
            no(
                "About the same: it is the same loss",
                same="The loss is, but what comes back is multiplied in every layer.",
            ),
            no(
                "About twenty times smaller, once for each layer",
                linear_in_depth="It shrinks by a *factor* in each layer. Factors multiply.",
            ),
            yes(
                "More than ten thousand times smaller",
                "A factor below 1 twenty times over; the residual adds a 1 to each of them.",
            ),
            no(
                "Exactly 0",
                exactly_zero="It is tiny, but every layer still lets something through.",
            ),
        ),
        reveal="Without residuals the layers' factors multiply. With them each factor is 1 plus "
        "something, so there is always a way through.",
    ),
    Prediction(
        id="P07-2",
        title="Post-norm, twelve blocks, no warm-up",
        see="07, section 7",
        text="Six encoder and six decoder blocks learn to write six digits backwards: 300 steps at "
        "a learning rate of 0.008, without warm-up. With pre-norm more than nine in ten new "
        "sequences come out right. And with post-norm?",
        options=(
            no(
                "About as many: the parameters are the same",
                order_does_not_matter="They are, but not the gradients: the last blocks of a deep "
                "post-norm stack get pushes that are too large at first.",
            ),
            yes(
                "Hardly any",
                "The first steps are too large for it, and it has not recovered from them by the "
                "end.",
            ),
            no(
                "None: its loss becomes NaN",
                nan="The norms keep all numbers finite. It just learns hardly anything.",
            ),
            no(
                "Hardly any new ones, but all that it was trained on",
                overfits="It does not get as far as learning anything by heart.",
            ),
        ),
        reveal="Pre-norm is done, post-norm has hardly begun. A warm-up (small steps at first) is "
        "what the paper of 2017 used against it.",
    ),
    Prediction(
        id="P07-3",
        title="What a cache saves",
        see="07, section 10",
        text="Greedy decoding with and without a cache of keys and values. How many times faster "
        "is it with the cache, for 16, 64 and 128 words?",
        options=(
            no(
                "About twice as fast for all three",
                constant_gain="Without a cache every word costs as much as all before it together, "
                "so the gain grows.",
            ),
            no(
                "8, 32 and 64 times: half the number of words",
                gain_is_length="So it is with the *positions* computed. But a step with one word "
                "is not that much cheaper: most of its time goes into calling every layer.",
            ),
            no(
                "Not faster: storing costs as much as computing",
                no_gain="What is stored is small, and it saves all earlier words' way through all "
                "layers.",
            ),
            yes(
                "It grows: about 2 times at 16 words, several times at 128",
                "The longer the sentence, the more there is that need not be computed again.",
            ),
        ),
        reveal="The positions computed go from M(M + 1)/2 to M, so the gain grows with M. It stays "
        "far below M/2, because a step of one word has its fixed cost; how far depends on the "
        "machine.",
    ),
    Prediction(
        id="P07-4",
        title="The size of the base model",
        see="07, section 8",
        text="The base model: 6 + 6 layers, width 512, feed-forward width 2,048, one table of "
        "37,000 words. How many parameters?",
        options=(
            no("About 6 million", too_few="Two decoder layers alone have 8 million."),
            yes("About 63 million", "44 million in the layers, 19 million in the table."),
            no(
                "About 340 million",
                bert_large="That is the size of BERT-large. The base model is smaller.",
            ),
            no("About 175 billion", gpt_3="That is GPT-3, three years later."),
        ),
        reveal="6 · 3,152,384 + 6 · 4,204,032 + 37,000 · 512 = 63,082,496. (The paper counts 65 "
        "million.)",
    ),
)
