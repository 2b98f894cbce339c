"""Positions against implementations of their own: literal loops, and complex numbers that turn."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.test_devices import Watch
from utils.layers.attention import MultiHeadAttention, scaled_dot_product_attention
from utils.layers.masks import causal_mask
from utils.layers.positions import (
    LearnedEncoding,
    RotaryAttention,
    SinusoidalEncoding,
    rotary,
    sinusoidal_encoding,
)

F64 = torch.float64


def by_loops(positions, d, base):
    """Straight from the formula, one number at a time."""
    rows = []
    for pos in positions:
        row = []
        for column in range(d):
            angle = pos / base ** (2 * (column // 2) / d)
            row.append(math.sin(angle) if column % 2 == 0 else math.cos(angle))
        rows.append(row)
    return torch.tensor(rows, dtype=F64)


def by_complex_numbers(x, positions, base=10000.0):
    """Rotary as multiplication by e^(iφ): the pair (a, b) is the number a + ib."""
    d = x.shape[-1]
    z = torch.view_as_complex(x.unflatten(-1, (d // 2, 2)).contiguous())
    phase = [[pos * base ** (-2 * i / d) for i in range(d // 2)] for pos in positions]
    turned = z * torch.exp(1j * torch.tensor(phase, dtype=F64)).to(z.dtype)
    return torch.view_as_real(turned).flatten(-2)


# the table


@pytest.mark.parametrize(("n", "d", "base"), [(1, 2, 10000.0), (50, 128, 10000.0), (33, 6, 7.5)])
def test_the_table_is_the_formula(n, d, base):
    table = sinusoidal_encoding(n, d, base=base, dtype=F64)
    assert table.shape == (n, d)
    assert (table - by_loops(range(n), d, base)).abs().max() < 1e-12


def test_numbers_that_anyone_can_check():
    table = sinusoidal_encoding(2, 8)
    assert torch.equal(table[0], torch.tensor([0.0, 1.0] * 4))
    assert table[1, :2].tolist() == pytest.approx([0.8415, 0.5403], abs=1e-4)


def test_any_positions_in_any_order():
    wanted = [5, 0, 10**6, -3]
    table = sinusoidal_encoding(torch.tensor(wanted), 16)
    assert (table - by_loops(wanted, 16, 10000.0)).abs().max() < 1e-6  # also at a million
    assert torch.equal(sinusoidal_encoding(torch.arange(9), 16), sinusoidal_encoding(9, 16))


@given(n=st.integers(2, 60), half=st.integers(1, 40), base=st.floats(1.5, 1e5))
@settings(max_examples=40, deadline=None)
def test_only_the_offset_counts(n, half, base):
    table = sinusoidal_encoding(n, 2 * half, base=base, dtype=F64)
    dots = table @ table.T
    assert all(dots.diagonal(k).std(correction=0) < 1e-9 for k in range(n))  # Toeplitz
    assert torch.allclose(dots.diagonal(), torch.full((n,), float(half), dtype=F64))
    assert table.abs().max() <= 1


@pytest.mark.parametrize("k", [1, 7, -4])
def test_a_shift_is_a_rotation(k):
    d = 12
    now = sinusoidal_encoding(torch.arange(10, 40), d, dtype=F64)
    later = sinusoidal_encoding(torch.arange(10, 40) + k, d, dtype=F64)
    for i in range(d // 2):
        b = k * 10000 ** (-2 * i / d)
        block = torch.tensor([[math.cos(b), -math.sin(b)], [math.sin(b), math.cos(b)]], dtype=F64)
        pair = slice(2 * i, 2 * i + 2)
        assert (now[:, pair] @ block - later[:, pair]).abs().max() < 1e-12


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_the_type_asked_for_and_no_gradient(dtype):
    table = sinusoidal_encoding(5, 4, dtype=dtype)
    assert table.dtype == dtype
    assert not table.requires_grad
    assert torch.equal(table, sinusoidal_encoding(5, 4, dtype=dtype))


# the modules


@pytest.mark.parametrize("kind", [SinusoidalEncoding, LearnedEncoding])
@pytest.mark.parametrize("shape", [(7, 6), (3, 7, 6), (2, 3, 7, 6), (2, 9, 6)])
def test_modules_add_the_first_rows(kind, shape):
    module, x = kind(9, 6), torch.randn(shape)
    before = x.clone()
    assert torch.equal(module(x), x + module.table[: shape[-2]])
    assert torch.equal(x, before)


def test_fixed_is_a_buffer_and_learned_a_parameter():
    fixed, learned = SinusoidalEncoding(9, 6), LearnedEncoding(9, 6)
    assert list(fixed.parameters()) == []
    assert set(fixed.state_dict()) == {"table"}
    assert torch.equal(fixed.table, sinusoidal_encoding(9, 6))
    assert [p.shape for p in learned.parameters()] == [(9, 6)]
    learned(torch.zeros(2, 4, 6)).sum().backward()
    used = learned.table.grad.abs().sum(dim=1) > 0
    assert used.tolist() == [True] * 4 + [False] * 5  # rows behind the input are never trained


def test_half_precision_stays_half_precision():
    assert SinusoidalEncoding(9, 6)(torch.zeros(4, 6, dtype=torch.bfloat16)).dtype == torch.bfloat16
    assert rotary(torch.zeros(4, 6, dtype=torch.bfloat16)).dtype == torch.bfloat16
    assert LearnedEncoding(9, 6).half()(torch.zeros(4, 6).half()).dtype == torch.float16


# rotary


@pytest.mark.parametrize("shape", [(5, 8), (2, 5, 8), (2, 3, 5, 8)])
def test_rotary_is_a_complex_multiplication(shape):
    x = torch.randn(shape, dtype=F64)
    assert (rotary(x) - by_complex_numbers(x, range(5))).abs().max() < 1e-12
    at = torch.tensor([4, 0, 100, 7, 7])
    assert (rotary(x, at, base=50.0) - by_complex_numbers(x, at.tolist(), 50.0)).abs().max() < 1e-12
    assert torch.equal(rotary(x, torch.arange(5)), rotary(x))


@given(shift=st.integers(-500, 500), m=st.integers(0, 300), n=st.integers(0, 300))
@settings(max_examples=40, deadline=None)
def test_rotary_scores_depend_on_the_offset_only(shift, m, n):
    q, k = torch.randn(2, 1, 16, generator=torch.Generator().manual_seed(0), dtype=F64)
    here = rotary(q, torch.tensor([m])) @ rotary(k, torch.tensor([n])).T
    there = rotary(q, torch.tensor([m + shift])) @ rotary(k, torch.tensor([n + shift])).T
    assert (here - there).abs().max() < 1e-9


def test_rotary_keeps_lengths_and_turns_back():
    x = torch.randn(40, 8, dtype=F64)
    at = torch.arange(40)
    assert torch.allclose(rotary(x).norm(dim=-1), x.norm(dim=-1))
    assert torch.allclose(rotary(rotary(x, at), -at), x, atol=1e-12)
    assert torch.equal(rotary(x)[0], x[0])  # position 0 is not turned


def test_the_sinusoidal_table_is_one_vector_turned_back():
    fixed = torch.tensor([0.0, 1.0]).repeat(8).expand(30, 16)
    assert torch.allclose(rotary(fixed, -torch.arange(30)), sinusoidal_encoding(30, 16), atol=1e-6)


def test_rotary_attention_is_attention_on_turned_queries_and_keys():
    torch.manual_seed(0)
    plain, turned = MultiHeadAttention(12, 2), RotaryAttention(12, 2)
    turned.load_state_dict(plain.state_dict())  # the same names, the same shapes
    x, mask = torch.randn(3, 5, 12), causal_mask(5)

    def heads(y):
        return torch.stack(y.split(6, dim=-1), dim=1)  # (B, H, N, Dh), written differently

    q, k, v = (heads(w(x)) for w in (plain.w_q, plain.w_k, plain.w_v))
    out, weights = scaled_dot_product_attention(
        by_complex_numbers(q, range(5)), by_complex_numbers(k, range(5)), v, mask
    )
    wanted = plain.w_o(torch.cat(list(out.unbind(1)), dim=-1))
    output, got = turned(x, mask=mask)
    assert torch.allclose(output, wanted, atol=1e-5)
    assert torch.allclose(got, weights, atol=1e-5)
    fused, none = turned(x, mask=mask, need_weights=False)
    assert none is None
    assert torch.allclose(fused, wanted, atol=1e-5)
    assert not torch.allclose(plain(x, mask=mask)[0], wanted, atol=1e-2)


def test_rotary_attention_knows_offsets_only_and_passes_gradients():
    torch.manual_seed(1)
    attend, x = RotaryAttention(8, 2), torch.randn(1, 5, 8, requires_grad=True)
    moved = torch.cat([torch.zeros(1, 3, 8), x], dim=1)
    see = (torch.arange(8) >= 3).expand(8, 8)
    assert torch.allclose(attend(x)[0], attend(moved, mask=see)[0][:, 3:], atol=1e-5)
    perm = torch.tensor([2, 0, 1, 4, 3])
    assert not torch.allclose(attend(x)[0][:, perm], attend(x[:, perm])[0], atol=1e-3)
    attend(x)[0].pow(2).sum().backward()
    assert x.grad.abs().sum() > 0
    assert all(p.grad is not None for p in attend.parameters())


# devices and bad input


def test_nothing_is_made_on_the_wrong_device():
    with torch.device("meta"), Watch("meta") as watch:
        modules = [SinusoidalEncoding(9, 8), LearnedEncoding(9, 8), RotaryAttention(8, 2)]
        assert sinusoidal_encoding(5, 4).is_meta
    with Watch("meta"):  # the default device is the CPU again
        x = torch.empty(2, 5, 8, device="meta")
        for module in modules:
            output = module(x)
            assert (output[0] if isinstance(output, tuple) else output).is_meta
        assert rotary(x).is_meta
        assert rotary(x, torch.arange(5, device="meta")).is_meta
        assert sinusoidal_encoding(5, 4, device="meta").is_meta
        assert sinusoidal_encoding(torch.arange(5, device="meta"), 4).is_meta
    assert watch.seen > 5
    assert SinusoidalEncoding(9, 8).to("meta").table.is_meta


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: sinusoidal_encoding(5, 7), "d_model must be an even number of at least 2, got 7"),
        (lambda: sinusoidal_encoding(5, 0), "even number of at least 2, got 0"),
        (lambda: sinusoidal_encoding(5, 4.0), "even number of at least 2, got 4.0"),
        (lambda: sinusoidal_encoding(0, 4), "at least 1 position, got 0"),
        (lambda: sinusoidal_encoding(True, 4), "at least 1 position, got True"),
        (lambda: sinusoidal_encoding(2.5, 4), "at least 1 position, got 2.5"),
        (lambda: sinusoidal_encoding(5, 4, base=0), "base must be a positive number, got 0"),
        (lambda: sinusoidal_encoding(torch.zeros(2, 2), 4), r"shape \(N\), got \(2, 2\)"),
        (lambda: SinusoidalEncoding(0, 4), "max_len must be at least 1 position, got 0"),
        (lambda: LearnedEncoding(-1, 4), "max_len must be at least 1 position, got -1"),
        (lambda: SinusoidalEncoding(9, 4)(torch.zeros(2, 5, 6)), r"tokens, 4\), got \(2, 5, 6\)"),
        (lambda: LearnedEncoding(9, 4)(torch.zeros(4)), r"tokens, 4\), got \(4,\)"),
        (lambda: LearnedEncoding(9, 4)(torch.zeros(10, 4)), "9 positions and x has 10 tokens"),
        (lambda: rotary(torch.zeros(4)), r"\(..., tokens, width\), got \(4,\)"),
        (lambda: rotary(torch.zeros(5, 3)), "even number of at least 2, got 3"),
        (lambda: rotary(torch.zeros(5, 4), torch.arange(4)), "each of the 5 tokens"),
        (lambda: RotaryAttention(6, 2), "width of a head, d_model / num_heads, must be an even"),
        (lambda: RotaryAttention(6, 4), "multiple of num_heads"),
        (lambda: RotaryAttention(8, 2)(torch.zeros(5, 8)), r"\(B, tokens, 8\), got \(5, 8\)"),
    ],
)
def test_bad_input_is_named(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
