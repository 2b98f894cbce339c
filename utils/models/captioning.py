"""Four systems that describe a picture: from one fixed vector to pixels to language.  Notebook 09.

    CNN → one vector c → LSTM                        FixedCaptioner(GridEyes(), ...)
    CNN → grid → LSTM with soft attention            AttendingCaptioner(GridEyes(), ...)
    CNN → grid → Transformer                         TransformerCaptioner(GridEyes(), ...)
    patches → Transformer, no convolution            TransformerCaptioner(PatchEyes(), ...)

*Eyes* (``eyes.py``) turn pictures into N annotation vectors (B, N, D), one for each cell.
The captioners speak the words of ``utils/models/seq2seq.py``, with pictures as the source, so that
training and decoding (``utils/train/generation.py``) need not know which one they have:

    logits, weights = model(images, decoder_input)            # teacher forcing, all words
    state = model.start(images)                               # free running: look once,
    logits, state, weights = model.step(tokens, state)        # then one word at a time
"""

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from utils.layers.attention import AdditiveAttention
from utils.layers.masks import causal_mask
from utils.layers.weights import Weights
from utils.models.cache import DecoderState
from utils.models.transformer import BlockSizes, Decoder, Encoder, TokenEmbedding
from utils.text.vocabulary import PAD


@dataclass(frozen=True)
class CaptionState:
    """What a recurrent captioner carries along from word to word."""

    h: Tensor  # (B, n): the LSTM's state
    cell: Tensor  # (B, n): the LSTM's memory
    context: Tensor | None = None  # (B, n): the one fixed vector c
    annotations: Tensor | None = None  # (B, N, D): the picture, cell by cell
    projected: Tensor | None = None  # (B, N, A): U z, the same at each word, so computed once


class FixedCaptioner(nn.Module):
    """One vector for the whole picture: c = h_0 = f(z), h_t = g(y_{t-1}, h_{t-1}, c).  Section 4.

    f lets every cell, with its position, write itself into the vector: an MLP for each cell, the
    sum over all cells, and a layer down to n numbers.  (An MLP on all cells side by side learns
    far more slowly, because it has to learn each colour and shape again in each cell.)
    """

    def __init__(
        self,
        eyes: nn.Module,
        vocab_size: int,
        *,
        d_model: int = 96,
        d_embedding: int = 64,
        d_hidden: int = 512,
        cells: int = 9,
    ):
        super().__init__()
        width = eyes.d_features
        self.eyes = eyes
        self.positions = nn.Parameter(torch.randn(cells, width))
        self.write = nn.Sequential(
            nn.Linear(width, d_hidden), nn.ReLU(), nn.Linear(d_hidden, d_hidden), nn.ReLU()
        )
        self.squeeze = nn.Linear(d_hidden, d_model)
        self.embedding = nn.Embedding(vocab_size, d_embedding, padding_idx=PAD)
        self.rnn = nn.LSTM(d_embedding + d_model, d_model, batch_first=True)
        self.readout = nn.Linear(d_embedding + 2 * d_model, vocab_size)

    def start(self, images: Tensor, *, need_weights: bool = False) -> CaptionState:
        z = self.eyes(images) + self.positions  # (B, N, D)
        summed = self.write(z).sum(dim=1) / z.shape[1] ** 0.5  # (B, hidden)
        context = torch.tanh(self.squeeze(summed))  # (B, n)
        return CaptionState(context, torch.zeros_like(context), context)

    def forward(
        self, images: Tensor, decoder_input: Tensor, *, need_weights: bool = False
    ) -> tuple[Tensor, Weights]:
        """images (B, 3, S, S), decoder_input (B, M) -> logits (B, M, vocab_size), no weights."""
        return self._run(decoder_input, self.start(images))[0], Weights()

    def step(
        self, tokens: Tensor, state: CaptionState, *, need_weights: bool = False
    ) -> tuple[Tensor, CaptionState, Weights]:
        logits, state = self._run(tokens[:, None], state)
        return logits[:, 0], state, Weights()

    def _run(self, tokens: Tensor, state: CaptionState) -> tuple[Tensor, CaptionState]:
        words = self.embedding(tokens)  # (B, M, m)
        context = state.context[:, None].expand(-1, tokens.shape[1], -1)  # the same c at each word
        before = (state.h[None].contiguous(), state.cell[None].contiguous())
        states, (h, cell) = self.rnn(torch.cat([words, context], dim=-1), before)
        logits = self.readout(torch.cat([words, states, context], dim=-1))
        return logits, replace(state, h=h[0], cell=cell[0])


class AttendingCaptioner(nn.Module):
    """A context for each word: c_t = Σ_ij a_tij z_ij (Xu et al. 2015).  Section 7.

    The scores are f_att(h_{t-1}, z_ij), an MLP; the state starts from the mean of the annotations,
    so whatever the caption says of a single cell has to come by attention.  Learned positions are
    added to the annotations: otherwise nobody could tell what is left and what is right.
    """

    def __init__(
        self,
        eyes: nn.Module,
        vocab_size: int,
        *,
        d_model: int = 96,
        d_embedding: int = 64,
        d_attention: int = 64,
        cells: int = 9,
    ):
        super().__init__()
        width = eyes.d_features
        self.eyes = eyes
        self.positions = nn.Parameter(torch.randn(cells, width))
        self.first = nn.Linear(width, d_model)
        self.attention = AdditiveAttention(d_model, width, d_attention)
        self.embedding = nn.Embedding(vocab_size, d_embedding, padding_idx=PAD)
        self.cell = nn.LSTMCell(d_embedding + width, d_model)
        self.readout = nn.Linear(d_embedding + d_model + width, vocab_size)

    def start(self, images: Tensor, *, need_weights: bool = False) -> CaptionState:
        z = self.eyes(images)  # (B, N, D)
        h = torch.tanh(self.first(z.mean(dim=1)))  # (B, n)
        z = z + self.positions
        return CaptionState(h, torch.zeros_like(h), None, z, self.attention.project(z))

    def attend(self, state: CaptionState) -> tuple[Tensor, Tensor]:
        """Look with h_{t-1} at all cells.  Returns c_t (B, D) and a_t (B, N)."""
        context, weights = self.attention.look(state.h[:, None], state.projected, state.annotations)
        return context[:, 0], weights[:, 0]

    def forward(
        self, images: Tensor, decoder_input: Tensor, *, need_weights: bool = False
    ) -> tuple[Tensor, Weights]:
        """images (B, 3, S, S), decoder_input (B, M).

        Returns ``(logits, weights)``: logits (B, M, vocab_size), and the weights in any case.
        """
        state = self.start(images)
        features, rows = [], []
        for word in self.embedding(decoder_input).unbind(dim=1):  # M times (B, m)
            state, feature, weights = self._advance(word, state)
            features.append(feature)
            rows.append(weights)
        return self.readout(torch.stack(features, dim=1)), Weights.of_map(torch.stack(rows, dim=1))

    def step(
        self, tokens: Tensor, state: CaptionState, *, need_weights: bool = False
    ) -> tuple[Tensor, CaptionState, Weights]:
        """tokens (B), the words said last.  Returns logits (B, vocab_size), state, a_t."""
        state, feature, weights = self._advance(self.embedding(tokens), state)
        return self.readout(feature), state, Weights.of_map(weights[:, None])

    def _advance(self, word: Tensor, state: CaptionState) -> tuple[CaptionState, Tensor, Tensor]:
        context, weights = self.attend(state)  # c_t, a_t from h_{t-1}
        h, cell = self.cell(torch.cat([word, context], dim=-1), (state.h, state.cell))
        return replace(state, h=h, cell=cell), torch.cat([word, h, context], dim=-1), weights


class TransformerCaptioner(nn.Module):
    """Encoder over the cells, decoder over the words, no recurrence.  Sections 10 and 11.

    ``GridEyes`` bring the features of a CNN; with ``PatchEyes`` there is no convolution left.
    """

    def __init__(
        self,
        eyes: nn.Module,
        vocab_size: int,
        *,
        num_heads: int = 4,
        encoder_layers: int = 1,
        decoder_layers: int = 2,
        d_ff: int = 128,
        cells: int = 9,
        max_len: int = 80,
    ):
        super().__init__()
        block = BlockSizes(d_model=eyes.d_features, num_heads=num_heads, d_ff=d_ff)
        self.eyes = eyes
        self.positions = nn.Parameter(torch.randn(cells, eyes.d_features))
        self.encoder = Encoder(encoder_layers, block)
        self.embedding = TokenEmbedding(vocab_size, eyes.d_features, max_len=max_len)
        self.decoder = Decoder(decoder_layers, block)

    def encode(self, images: Tensor, *, need_weights: bool = False) -> tuple[Tensor, Weights]:
        """pictures -> memory (B, N, D): every cell has seen the others."""
        return self.encoder(self.eyes(images) + self.positions, need_weights=need_weights)

    def forward(
        self, images: Tensor, decoder_input: Tensor, *, need_weights: bool = False
    ) -> tuple[Tensor, Weights]:
        """images (B, 3, S, S), decoder_input (B, M): all words in one pass.

        Returns ``(logits, weights)``: logits (B, M, vocab_size), weights only on request.
        """
        memory, read = self.encode(images, need_weights=need_weights)
        mask = causal_mask(decoder_input.shape[1], device=images.device)
        x, seen = self.decoder(
            self.embedding(decoder_input), memory, mask, need_weights=need_weights
        )
        return self.logits(x), Weights(read.encoder, seen.decoder, seen.cross)

    def logits(self, x: Tensor) -> Tensor:
        return F.linear(x, self.embedding.words.weight)  # the table of words once more

    def start(self, images: Tensor, *, need_weights: bool = False) -> DecoderState:
        memory, read = self.encode(images, need_weights=need_weights)
        return self.decoder.start(memory, None, read)

    def step(
        self, tokens: Tensor, state: DecoderState, *, need_weights: bool = False
    ) -> tuple[Tensor, DecoderState, Weights]:
        x = self.embedding(tokens[:, None], state.length)
        x, state, weights = self.decoder.step(x, state, need_weights=need_weights)
        return self.logits(x)[:, 0], state, weights
