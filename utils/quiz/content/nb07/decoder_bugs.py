"""What goes wrong in a decoder block, and what to say about it."""

from __future__ import annotations

from utils.quiz.bugs import group, rare, single
from utils.quiz.content.nb07.block_fill import FORWARD, general_bugs

SEE = "07, section 6"
CROSS = "`forward`, where `self.cross_attention` is called"

RARE = (
    *(
        "key-from-decoder",
        "all-from-memory",
        "memory-unused-masked",
        "memory-mask-twice",
        "reversed-unmasked",
    ),
    *("both-on-cross", "two-share", "network-early", "only-weights", "order-exchanged"),
    *("no-self-attention", "stale-middle", "normed-at-the-end", "stale-query", "all-three"),
)
BUGS = rare(
    RARE,
    *group("cross", CROSS)(
        reversed="The memory asks and the decoder answers. The decoder's words need to know, so "
        "the queries come from x, and keys and values from the memory: "
        "`self.cross_attention(self.norm2(x), memory, memory_mask)`.",
        reversed_unmasked="The memory asks and the decoder answers, without any mask. The queries "
        "come from x, keys and values from the memory: `self.cross_attention(self.norm2(x), "
        "memory, memory_mask)`.",
        value_from_decoder="The keys come from the memory, but the values from the decoder: what "
        "is found is not what was looked at. Both come from the memory.",
        key_from_decoder="The values come from the memory, but the keys from the decoder. Both "
        "come from the memory.",
        memory_unused="The second attention looks at x again. The memory is not used, so the "
        "decoder never sees the source sentence.",
        memory_unused_masked="The second attention is masked self-attention once more. The memory "
        "is not used, so the decoder never sees the source sentence.",
        all_from_memory="The second attention is self-attention of the memory. The queries come "
        "from x.",
    ),
    *group("masks", FORWARD)(
        no_causal_mask="The self-attention has no mask: in training every word sees the ones it is "
        "to guess.",
        no_memory_mask="The cross-attention has no mask: words look at the padding of the source. "
        "Hand it `memory_mask`.",
        no_masks="No mask is used: words see those that they are to guess, and the source's "
        "padding.",
        masks_exchanged="The masks have changed places: `mask` is for the self-attention, "
        "`memory_mask` for the cross-attention.",
        causal_on_cross="The causal mask is used in the cross-attention. The source is known in "
        "full: every word may look at all of it, but for padding. Hand it `memory_mask`.",
        both_on_cross="Both masks are used in the cross-attention. The source is known in full: "
        "only `memory_mask`.",
        memory_mask_twice="`memory_mask` is used in both attentions. The self-attention takes "
        "`mask`.",
    ),
    *group("norms", FORWARD)(
        shared_norm="One layer norm serves all sub-layers. Each has its own: norm1, norm2, norm3.",
        two_share="The cross-attention and the network share norm2. The network has norm3.",
        no_norms="There is no norm at all.",
        no_norm_1="The norm before the self-attention, norm1, is missing.",
        no_norm_2="The norm before the cross-attention, norm2, is missing.",
        no_norm_3="The norm before the feed-forward network, norm3, is missing.",
    ),
    *group("layers", FORWARD)(
        cross_first="The cross-attention comes first. First the decoder's own words, then the "
        "memory.",
        no_self_attention="The decoder's own words never look at each other: the self-attention is "
        "missing.",
        no_cross_attention="The cross-attention is missing, so the decoder never sees the source "
        "sentence.",
        no_network="The feed-forward network is missing.",
        network_early="The feed-forward network comes before the cross-attention. It is last.",
    ),
    *group("residual", FORWARD)(
        no_first_residual="The residual around the self-attention is missing: x = x + mixed.",
        no_middle_residual="The residual around the cross-attention, in the middle, is missing: "
        "what the decoder had of its own words is lost. x = x + found.",
        no_last_residual="The residual around the feed-forward network is missing.",
        no_residuals="All three residuals are missing.",
    ),
    *group("base", FORWARD)(
        stale_residual="The last residual adds the *input of the block*, so what both attentions "
        "found is lost on that path. Go on with the newest x.",
        stale_middle="The middle residual adds the *input of the block*, so what the "
        "self-attention found is lost on that path. Go on with the newest x.",
        residual_from_normed="The *normalised* x is added back. The residual carries x itself: x + "
        "f(norm(x)).",
    ),
    *group("return", "the return line")(
        only_output="Only x comes back: `return x, weights`, those of the cross-attention.",
        only_weights="Only the weights come back: `return x, weights`.",
        own_weights="These are the weights of the self-attention, (B, H, M, M). Return those of "
        "the cross-attention, (B, H, M, N): they show where in the source each word looks.",
        all_three="Both attentions' weights come back. Return x and those of the cross-attention.",
        order_exchanged="The two results have changed places: `return x, weights`.",
        weights_averaged="The weights are averaged over the heads, as `nn.MultiheadAttention` "
        "does. Return those of every head, (B, H, M, N).",
    ),
    *single(CROSS)(
        memory_normed="The memory is normalised once more. It comes normalised from the encoder, "
        "and norm2 is for x.",
        same_attention="One attention does both jobs. The cross-attention has its own matrices, "
        "`self.cross_attention`.",
        stale_query="The queries of the cross-attention come from the *input of the block*. They "
        "come from x after the self-attention.",
    ),
    *single(FORWARD)(
        post_norm="The norms come after the sums: post-norm. Here, pre-norm: x + f(norm(x)).",
        normed_at_the_end="The block ends with another norm. Only the whole stack does.",
    ),
    *general_bugs("X07-4", "DecoderBlock"),
)
