"""Generated questions of notebook 07: fresh sizes, and wrong options that know their mistake."""

from __future__ import annotations

import random

from utils.quiz.questions import Generated, Option, no, yes


def layer_parameters(d: int, wide: int, *, decoder: bool = False) -> dict[str, int]:
    """How many numbers the parts of a layer learn."""
    return {
        "attention": (2 if decoder else 1) * 4 * (d * d + d),
        "network": 2 * d * wide + wide + d,
        "norms": (3 if decoder else 2) * 2 * d,
    }


def count_layer(r: random.Random) -> tuple[str, Option, list[Option]]:
    """Parameters of an encoder or decoder layer."""
    d = r.choice((16, 32, 64, 128))
    wide = d * r.choice((2, 3, 4))
    decoder = r.random() < 0.5
    parts = layer_parameters(d, wide, decoder=decoder)
    other = layer_parameters(d, wide, decoder=not decoder)
    kind = "a decoder" if decoder else "an encoder"
    total = sum(parts.values())
    text = (
        f"How many parameters has {kind} layer with d_model = {d}, d_ff = {wide} and 4 heads, "
        "biases and layer norms included?"
    )
    attentions = "Two attentions" if decoder else "One attention"
    right = yes(
        f"{total:,}",
        f"{attentions} {parts['attention']:,}, network {parts['network']:,}, norms "
        f"{parts['norms']:,}. The number of heads does not come into it.",
    )
    wrong = [
        no(
            f"{total - parts['network'] + d * wide + wide:,}",
            single_linear="The network has two matrices: it comes back from d_ff to d_model.",
        ),
        no(
            f"{total - parts['norms']:,}",
            no_norms="The layer norms are missing: each has a g and a b for every feature.",
        ),
        no(
            f"{total - parts['attention'] // 4:,}"
            if not decoder
            else f"{total - parts['attention'] // 8:,}",
            no_output_matrix="A matrix W^O is missing: each attention has four.",
        ),
        no(
            f"{sum(other.values()):,}",
            other_layer="That is a decoder layer, with a second attention and a third norm."
            if not decoder
            else "That is an encoder layer. A decoder layer has a second attention and a third "
            "norm.",
        ),
        no(
            f"{total + 3 * parts['attention']:,}",
            times_heads="The attention is counted once for each head. All heads together make one "
            "matrix of full width.",
        ),
        no(
            f"{sum(parts.values()) - parts['network'] + 2 * (d * d + d):,}",
            no_widening="The network is as wide as d_model in your count. It widens to d_ff.",
        ),
    ]
    return text, right, wrong


def cross_shape(r: random.Random) -> tuple[str, Option, list[Option]]:
    """The shape of the cross-attention's weights."""
    batch, h = r.sample((2, 3, 4, 6), 2)
    m, n = r.sample((5, 7, 9, 10, 12), 2)
    d = h * 8
    text = (
        f"A batch of {batch} sentences: {n} source words, {m} words written so far, width {d}, {h} "
        "heads. Which shape do the weights of the *cross*-attention have?"
    )
    right = yes(
        f"({batch}, {h}, {m}, {n})",
        f"Rows are queries, the {m} words of the decoder; columns are keys, the {n} source words.",
    )
    return (
        text,
        right,
        [
            no(
                f"({batch}, {h}, {n}, {m})",
                reversed="There the source asks. Queries come from the decoder, and they are the "
                "rows.",
            ),
            no(f"({batch}, {h}, {m}, {m})", self_attention="That is the decoder's self-attention."),
            no(
                f"({batch}, {h}, {n}, {n})",
                encoder_attention="That is the encoder's self-attention.",
            ),
            no(
                f"({batch}, {m}, {d})",
                output_not_weights="That is the shape of its output. The weights have a row for "
                "each word written and a column for each source word.",
            ),
        ],
    )


PARTS = {
    "the encoder's self-attention": ("encoder", "encoder", "encoder"),
    "the decoder's first attention": ("decoder", "decoder", "decoder"),
    "the decoder's second attention": ("decoder", "encoder", "encoder"),
}
MIXED = (
    (("encoder", "decoder", "decoder"), "That is turned round.", "reversed"),
    (("encoder", "encoder", "decoder"), "Keys and values always come together.", "mixed-up"),
    (("decoder", "decoder", "encoder"), "Keys and values always come together.", "mixed-up"),
)


def who_comes_from_where(r: random.Random) -> tuple[str, Option, list[Option]]:
    """Queries, keys, values of one of the three attentions."""

    def words(places: tuple[str, str, str]) -> str:
        return ", ".join(f"{what} from the {place}" for what, place in zip("QKV", places))

    asked = r.choice(list(PARTS))
    masked = " It is masked." if asked == "the decoder's first attention" else ""
    right = yes(words(PARTS[asked]), f"That is {asked}.{masked}")
    wrong = [no(words(p), **{n: f"That is {n}."}) for n, p in PARTS.items() if n != asked]
    wrong += [no(words(places), **{name: reason}) for places, reason, name in MIXED]
    return f"Where do queries, keys and values of {asked} come from?", right, wrong


GENERATED = (
    Generated(id="G07-1", title="Counting a layer", see="07, section 8", make=count_layer),
    Generated(
        id="G07-2", title="The shape of cross-attention", see="07, section 6", make=cross_shape
    ),
    Generated(id="G07-3", title="Three attentions", see="07, section 6", make=who_comes_from_where),
)
