"""Translation with recurrent networks: one fixed vector, or attention.  Built in notebook 02.

Both models speak the same words, so that training and decoding need not know which is which:

    logits, weights = model(source, decoder_input)            # teacher forcing, all steps
    state = model.start(source)                               # free running: read the source,
    logits, state, weights = model.step(tokens, state)        # then one word at a time

``source`` is padded with ``PAD``.  ``weights`` has the block ``cross``, one row per target word and
one column per source word; without attention it is empty.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from utils.layers.attention import AdditiveAttention
from utils.layers.weights import Weights
from utils.text.vocabulary import PAD, word_mask


@dataclass(frozen=True)
class RecurrentState:
    """What the decoder carries along: its own state s, and what it knows of the source."""

    s: Tensor  # (B, D)
    context: Tensor  # (B, D): c = the summary of the whole sentence, s_0 as well
    annotations: Tensor  # (B, N, D): h_1 ... h_N
    mask: Tensor  # (B, N), True at words, False at padding
    projected: Tensor | None = None  # (B, N, A): U h, the same at each step, so computed once


class RecurrentEncoder(nn.Module):
    """Read the source with a GRU: h_t = f(x_t, h_{t-1}).  Both directions together are D wide."""

    def __init__(self, vocab_size: int, *, d_embedding: int, d_model: int, bidirectional: bool):
        super().__init__()
        if bidirectional and d_model % 2:
            raise ValueError(f"d_model must be even for two directions, got {d_model}")
        width = d_model // 2 if bidirectional else d_model
        self.embedding = nn.Embedding(vocab_size, d_embedding, padding_idx=PAD)
        self.rnn = nn.GRU(d_embedding, width, batch_first=True, bidirectional=bidirectional)
        self.shortcut = nn.Linear(d_embedding, d_model, bias=False)
        self.bridge = nn.Linear(d_model, d_model)

    def forward(self, source: Tensor) -> RecurrentState:
        """source (B, N).  Packing stops each sentence at its own end, before the padding."""
        mask = word_mask(source)
        lengths = mask.sum(dim=1).cpu()
        words = self.embedding(source)  # (B, N, E)
        packed = pack_padded_sequence(words, lengths, batch_first=True, enforce_sorted=False)
        output, last = self.rnn(packed)
        annotations, _ = pad_packed_sequence(output, batch_first=True, total_length=source.shape[1])
        annotations = annotations + self.shortcut(words)
        last = last.transpose(0, 1).flatten(1)  # (B, D): the last state of each direction
        context = torch.tanh(self.bridge(last))
        return RecurrentState(context, context, annotations, mask)


class FixedSeq2Seq(nn.Module):
    """One vector c for the whole sentence: s_t = g(y_{t-1}, s_{t-1}, c)."""

    def __init__(
        self,
        source_vocab: int,
        target_vocab: int,
        *,
        d_embedding: int = 64,
        d_model: int = 128,
        bidirectional: bool = True,
    ):
        super().__init__()
        sizes = {"d_embedding": d_embedding, "d_model": d_model}
        self.encoder = RecurrentEncoder(source_vocab, **sizes, bidirectional=bidirectional)
        self.embedding = nn.Embedding(target_vocab, d_embedding, padding_idx=PAD)
        self.rnn = nn.GRU(d_embedding + d_model, d_model, batch_first=True)
        self.readout = nn.Linear(d_embedding + 2 * d_model, target_vocab)

    def start(self, source: Tensor, *, need_weights: bool = False) -> RecurrentState:
        return self.encoder(source)

    def forward(
        self, source: Tensor, decoder_input: Tensor, *, need_weights: bool = False
    ) -> tuple[Tensor, Weights]:
        """source (B, N), decoder_input (B, M).  Returns logits (B, M, target_vocab), no weights."""
        logits, _ = self._run(decoder_input, self.start(source))
        return logits, Weights()

    def step(
        self, tokens: Tensor, state: RecurrentState, *, need_weights: bool = False
    ) -> tuple[Tensor, RecurrentState, Weights]:
        """tokens (B), the words said last.  Returns logits (B, target_vocab), state, no weights."""
        logits, state = self._run(tokens[:, None], state)
        return logits[:, 0], state, Weights()

    def _run(self, tokens: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        words = self.embedding(tokens)  # (B, M, E)
        context = state.context[:, None].expand(-1, tokens.shape[1], -1)  # the same c at each step
        states, last = self.rnn(torch.cat([words, context], dim=-1), state.s[None].contiguous())
        logits = self.readout(torch.cat([words, states, context], dim=-1))
        return logits, replace(state, s=last[0])


class AttentionSeq2Seq(nn.Module):
    """A context vector for each output word: c_i = Σ_j α_ij h_j, s_i = g(s_{i-1}, y_{i-1}, c_i).

    ``score`` is "additive", v · tanh(W s + U h) of Bahdanau et al. (2015), or "dot", s · h.
    """

    def __init__(
        self,
        source_vocab: int,
        target_vocab: int,
        *,
        d_embedding: int = 64,
        d_model: int = 128,
        score: str = "additive",
        bidirectional: bool = True,
    ):
        super().__init__()
        if score not in ("additive", "dot"):
            raise ValueError(f"score must be 'additive' or 'dot', got {score!r}")
        additive = score == "additive"
        sizes = {"d_embedding": d_embedding, "d_model": d_model}
        self.encoder = RecurrentEncoder(source_vocab, **sizes, bidirectional=bidirectional)
        self.embedding = nn.Embedding(target_vocab, d_embedding, padding_idx=PAD)
        self.attention = AdditiveAttention(d_model, d_model, d_model) if additive else None
        self.cell = nn.GRUCell(d_embedding + d_model, d_model)
        self.readout = nn.Linear(d_embedding + 2 * d_model, target_vocab)

    def start(self, source: Tensor, *, need_weights: bool = False) -> RecurrentState:
        state = self.encoder(source)
        if self.attention is None:
            return state
        return replace(state, projected=self.attention.project(state.annotations))

    def attend(self, state: RecurrentState) -> tuple[Tensor, Tensor]:
        """Look with s_{i-1} at all annotations.  Returns c_i (B, D) and α_i (B, N)."""
        query, mask = state.s[:, None], state.mask[:, None]  # one query: (B, 1, D)
        if self.attention is not None:
            context, weights = self.attention.look(query, state.projected, state.annotations, mask)
        else:
            scores = query @ state.annotations.transpose(1, 2)  # (B, 1, N): s · h_j
            weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)
            context = weights @ state.annotations
        return context[:, 0], weights[:, 0]

    def forward(
        self, source: Tensor, decoder_input: Tensor, *, need_weights: bool = False
    ) -> tuple[Tensor, Weights]:
        """source (B, N), decoder_input (B, M).

        Returns ``(logits, weights)``: logits (B, M, target_vocab), and the weights in any case,
        since no word can be said without them.
        """
        state = self.start(source)
        features, rows = [], []
        for word in self.embedding(decoder_input).unbind(dim=1):  # M times (B, E)
            state, feature, weights = self._advance(word, state)
            features.append(feature)
            rows.append(weights)
        return self.readout(torch.stack(features, dim=1)), Weights.of_map(torch.stack(rows, dim=1))

    def step(
        self, tokens: Tensor, state: RecurrentState, *, need_weights: bool = False
    ) -> tuple[Tensor, RecurrentState, Weights]:
        """tokens (B), the words said last.  Returns logits (B, target_vocab), state, α_i."""
        state, feature, weights = self._advance(self.embedding(tokens), state)
        return self.readout(feature), state, Weights.of_map(weights[:, None])

    def _advance(self, word: Tensor, state: RecurrentState) -> tuple:
        context, weights = self.attend(state)  # c_i, α_i from s_{i-1}
        s = self.cell(torch.cat([word, context], dim=-1), state.s)  # s_i
        return replace(state, s=s), torch.cat([word, s, context], dim=-1), weights
