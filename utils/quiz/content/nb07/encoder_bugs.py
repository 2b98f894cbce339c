"""What goes wrong in an encoder block, and what to say about it."""

from __future__ import annotations

from utils.quiz.bugs import group, rare
from utils.quiz.content.nb07.block_fill import FORWARD, general_bugs

SEE = "07, section 5"
PRE, POST = "`forward`, the pre-norm branch", "`forward`, the post-norm branch"

RARE = ("attention-twice", "only-weights", "norm-of-x-only", "no-attention", "mask-inverted")
BUGS = rare(
    RARE,
    *group("order", FORWARD)(
        always_pre="The norm always comes first. With `pre_norm=False` it comes after each sum: x "
        "= norm(x + f(x)).",
        always_post="The norm always comes after the sum. With `pre_norm=True` it comes first: x = "
        "x + f(norm(x)).",
        orders_exchanged="The two branches have changed places: pre-norm is x + f(norm(x)), "
        "post-norm is norm(x + f(x)).",
    ),
    *group("mask", FORWARD)(
        mask_ignored="The mask is not handed on, so every token looks at padding and future too: "
        "`self.attention(..., mask=mask)`.",
        mask_inverted="The mask means the opposite of what the attention takes. In this course "
        'True is "may look"; `nn.MultiheadAttention` says True for "forbidden".',
    ),
    *group("pre", PRE)(
        residual_from_normed="In pre-norm the *normalised* x is added back, as if it read `x = "
        "norm(x); x = x + f(x)`. The residual carries x itself, untouched: x + f(norm(x)). "
        "Otherwise nothing of the input comes through unchanged.",
        residual_from_normed_once="Around the feed-forward network the *normalised* x is added "
        "back. The residual carries x itself: x + ffn(norm2(x)).",
        normed_twice="In pre-norm the sum is normalised once more. The norm stands before the "
        "sub-layer only, and the residual path stays free.",
        normed_at_the_end="The pre-norm block ends with another norm. Only the whole stack does.",
        keys_not_normed="Queries come from norm(x), but keys and values from x itself. It is "
        "self-attention of norm(x): `self.attention(self.norm1(x), mask=mask)`.",
    ),
    *group("post", POST)(
        norm_before_add="In post-norm f(x) is normalised and then added: x + norm(f(x)). The norm "
        "comes after the sum: norm(x + f(x)).",
        norm_of_x_only="In post-norm only x is normalised: norm(x) + f(x). The norm takes the sum: "
        "norm(x + f(x)).",
        unnormed_residual="The second residual starts from the sum before norm1. In post-norm all "
        "goes on from norm1(x + mixed).",
    ),
    *group("norms", FORWARD)(
        shared_norm="One layer norm serves both sub-layers. Each has its own g and b: norm1 for "
        "the attention, norm2 for the network.",
        no_norms="There is no norm at all.",
        no_first_norm="The norm of the attention, norm1, is missing.",
        no_second_norm="The norm of the feed-forward network, norm2, is missing.",
    ),
    *group("residual", FORWARD)(
        no_residuals="Nothing is added back: both residuals are missing. With many layers the "
        "gradient then dies on its way down (section 2).",
        no_network_residual="The residual around the feed-forward network is missing: add x to "
        "what it gives.",
        no_attention_residual="The residual around the attention is missing: add x to what it "
        "gives.",
    ),
    *group("stale", FORWARD)(
        stale_residual="The second residual adds the *input of the block*, so what the attention "
        "found is lost on that path. Go on with the x that already holds it.",
        parallel="The feed-forward network reads the *input of the block*, not what the attention "
        "has made of it. (Some models do that on purpose, to compute both at once.)",
    ),
    *group("layers", FORWARD)(
        network_first="The feed-forward network comes first. Attention first: gather, then think.",
        no_network="The feed-forward network is not used.",
        no_attention="The attention is not used, so no token learns of any other.",
        attention_twice="The attention is applied twice, and the feed-forward network not at all.",
    ),
    *group("return", "the return line")(
        weights_too="The weights come back as well. Return x alone here.",
        only_weights="The attention's weights come back. Return x.",
    ),
    *general_bugs("X07-3", "EncoderBlock"),
)
