"""Bad input is refused with a sentence that names what was expected and what came."""

import pytest
import torch

from utils.layers.attention import (
    AdditiveAttention,
    AttentionLayer,
    MultiHeadAttention,
    scaled_dot_product_attention,
)

x = torch.zeros(2, 5, 8)
yes = torch.ones(5, 5, dtype=torch.bool)


def attend(q, k, v, mask=None, **options):
    return scaled_dot_product_attention(torch.zeros(q), torch.zeros(k), torch.zeros(v), mask,
                                        **options)  # fmt: skip


def additive(*shapes, mask=None):
    return AdditiveAttention(3, 4, 5)(*(torch.zeros(shape) for shape in shapes), mask=mask)


ERRORS = {
    # scaled dot product
    "widths": (lambda: attend((5, 8), (6, 7), (6, 8)), ValueError, ["(5, 8)", "(6, 7)", "width"]),
    "no width": (lambda: attend((5, 0), (6, 0), (6, 8)), ValueError, ["(5, 0)", "(6, 0)", "width"]),
    "values": (lambda: attend((5, 8), (6, 8), (7, 8)), ValueError, ["6 keys", "7 values"]),
    "no keys": (lambda: attend((5, 8), (0, 8), (0, 8)), ValueError, ["5 queries", "0 keys"]),
    "no queries": (lambda: attend((0, 8), (6, 8), (6, 8)), ValueError, ["0 queries", "6 keys"]),
    "a vector": (lambda: attend((8,), (6, 8), (6, 8)), ValueError, ["width", "(8,)"]),
    "a number": (lambda: attend((5, 8), (6, 8), ()), ValueError, ["width", "()"]),
    "batches of q and k": (
        lambda: attend((2, 5, 8), (3, 6, 8), (3, 6, 8)),
        ValueError,
        ["(2, 5, 8)", "(3, 6, 8)"],
    ),
    "batches of k and v": (
        lambda: attend((2, 5, 8), (2, 6, 8), (3, 6, 8), need_weights=False),
        ValueError,
        ["(2, 6, 8)", "(3, 6, 8)"],
    ),
    "batches, with a mask": (
        lambda: attend((2, 5, 8), (3, 5, 8), (3, 5, 8), yes),
        ValueError,
        ["(2, 5, 8)", "(3, 5, 8)"],
    ),
    "dropout, weights": (
        lambda: attend((5, 8), (6, 8), (6, 8), dropout=1.5),
        ValueError,
        ["dropout", "0", "1", "1.5"],
    ),
    "dropout, fused": (
        lambda: attend((5, 8), (6, 8), (6, 8), dropout=-0.5, need_weights=False),
        ValueError,
        ["dropout", "0", "1", "-0.5"],
    ),
    "float mask": (
        lambda: attend((5, 8), (5, 8), (5, 8), yes.float()),
        TypeError,
        ["boolean", "True = may look", "torch.float32"],
    ),
    "whole-number mask": (
        lambda: attend((5, 8), (5, 8), (5, 8), yes.long(), need_weights=False),
        TypeError,
        ["boolean", "torch.int64"],
    ),
    "list mask": (
        lambda: attend((1, 8), (1, 8), (1, 8), [[True]]),
        TypeError,
        ["boolean", "list"],
    ),
    "mask turned around": (
        lambda: attend((5, 8), (6, 8), (6, 8), torch.ones(6, 5, dtype=torch.bool)),
        ValueError,
        ["(5, 6)", "(6, 5)", "queries", "keys"],
    ),
    "mask too deep": (
        lambda: attend((5, 8), (5, 8), (5, 8), yes[None], need_weights=False),
        ValueError,
        ["(5, 5)", "(1, 5, 5)"],
    ),
    # multi-head
    "heads": (lambda: MultiHeadAttention(10, 3), ValueError, ["multiple", "10", "3"]),
    "no heads": (lambda: MultiHeadAttention(8, 0), ValueError, ["num_heads = 0"]),
    "negative heads": (lambda: MultiHeadAttention(8, -2), ValueError, ["num_heads = -2"]),
    "no model": (lambda: MultiHeadAttention(0, 2), ValueError, ["d_model = 0"]),
    "layer dropout": (lambda: MultiHeadAttention(8, 2, dropout=1.0), ValueError, ["less", "1.0"]),
    "layer width": (
        lambda: MultiHeadAttention(8, 2)(torch.zeros(2, 5, 6)),
        ValueError,
        ["x must", "(B, tokens, 8)", "(2, 5, 6)"],
    ),
    "layer without batch": (
        lambda: MultiHeadAttention(8, 2)(torch.zeros(5, 8)),
        ValueError,
        ["x must", "(B, tokens, 8)", "(5, 8)"],
    ),
    "context width": (
        lambda: MultiHeadAttention(8, 2)(x, torch.zeros(2, 7, 9)),
        ValueError,
        ["context must", "(B, tokens, 8)", "(2, 7, 9)"],
    ),
    "context of another batch": (
        lambda: MultiHeadAttention(8, 2)(x, torch.zeros(3, 7, 8)),
        ValueError,
        ["2", "3", "7"],
    ),
    "empty sequence": (
        lambda: MultiHeadAttention(8, 2)(torch.zeros(2, 0, 8)),
        ValueError,
        ["0 queries", "0 keys"],
    ),
    "empty context": (
        lambda: MultiHeadAttention(8, 2)(x, torch.zeros(2, 0, 8), need_weights=False),
        ValueError,
        ["5 queries", "0 keys"],
    ),
    "mask without heads": (
        # as many sequences as heads: it would fit, and mean something else
        lambda: MultiHeadAttention(8, 2)(x, mask=yes.expand(2, 5, 5)),
        ValueError,
        ["(B, H, M, N)", "(2, 5, 5)", "mask[:, None]"],
    ),
    "mask over keys only": (
        lambda: MultiHeadAttention(8, 2)(x, mask=yes[0]),
        ValueError,
        ["(M, N)", "(5,)"],
    ),
    "float mask without heads": (
        lambda: MultiHeadAttention(8, 2)(x, mask=torch.zeros(2, 5, 5)),
        TypeError,
        ["boolean", "torch.float32"],
    ),
    "mask of other heads": (
        lambda: MultiHeadAttention(8, 2)(x, mask=yes.expand(2, 3, 5, 5)),
        ValueError,
        ["(2, 2, 5, 5)", "(2, 3, 5, 5)"],
    ),
    # the single layer
    "layer's width": (
        lambda: AttentionLayer(8, 4, 4)(torch.zeros(5, 6)),
        ValueError,
        ["x must", "(..., tokens, 8)", "(5, 6)"],
    ),
    "layer's context": (
        lambda: AttentionLayer(8, 4, 4)(x, torch.zeros(7, 6)),
        ValueError,
        ["context must", "(..., tokens, 8)", "(7, 6)"],
    ),
    "no key width": (lambda: AttentionLayer(8, 0, 4), ValueError, ["d_k", "0"]),
    # additive
    "additive queries": (
        lambda: additive((2, 4), (6, 4)),
        ValueError,
        ["queries must", "(..., tokens, 3)", "(2, 4)"],
    ),
    "additive keys": (
        lambda: additive((2, 3), (6, 3)),
        ValueError,
        ["keys must", "(..., tokens, 4)", "(6, 3)"],
    ),
    "additive values": (
        lambda: additive((2, 3), (6, 4), (7, 4)),
        ValueError,
        ["6 keys", "7 values"],
    ),
    "additive value vector": (
        lambda: additive((2, 3), (6, 4), (6,)),
        ValueError,
        ["values", "(6,)"],
    ),
    "additive batches": (
        lambda: additive((2, 2, 3), (3, 6, 4)),
        ValueError,
        ["(2, 2, 3)", "(3, 6, 4)"],
    ),
    "additive nothing": (lambda: additive((2, 3), (0, 4)), ValueError, ["2 queries", "0 keys"]),
    "additive mask": (
        lambda: additive((2, 3), (6, 4), mask=torch.ones(6, 2, dtype=torch.bool)),
        ValueError,
        ["(2, 6)", "(6, 2)"],
    ),
    "additive float mask": (
        lambda: additive((2, 3), (6, 4), mask=torch.ones(2, 6)),
        TypeError,
        ["boolean", "torch.float32"],
    ),
    "additive size": (lambda: AdditiveAttention(3, 4, 0), ValueError, ["d_hidden", "0"]),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_the_error_names_what_was_expected_and_what_came(name):
    call, kind, words = ERRORS[name]
    with pytest.raises(kind) as caught:
        call()
    message = str(caught.value)
    assert all(word in message for word in words), message
    assert "\n" not in message


def test_an_empty_batch_is_not_an_error():
    for need_weights in (True, False):
        output, _ = MultiHeadAttention(8, 2)(torch.zeros(0, 5, 8), need_weights=need_weights)
        assert output.shape == (0, 5, 8)
