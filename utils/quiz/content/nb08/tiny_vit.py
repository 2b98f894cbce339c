"""X08-3: a small Vision Transformer from its parts."""

from __future__ import annotations

import copy
import functools

import torch
from torch import Tensor, nn

from utils.models.transformer import BlockSizes, Encoder
from utils.models.vit import PatchEmbedding
from utils.quiz.bugs import group, told
from utils.quiz.exercise import Exercise, Mistake
from utils.quiz.modules import made

INIT = "`__init__`, where class token, positions and head are made"
TOKENS = "`forward`, where the tokens are put together"
READ = "`forward`, behind the encoder"
Weights = dict[str, Tensor]


class TinyViT(nn.Module):
    def __init__(self, embed: nn.Module, encoder: nn.Module, num_patches: int, d_model: int):
        super().__init__()
        self.embed, self.encoder = embed, encoder
        self.cls = nn.Parameter(torch.zeros(1, 1, d_model))
        self.positions = nn.Parameter(0.02 * torch.randn(1, num_patches + 1, d_model))
        self.head = nn.Linear(d_model, 10)

    def forward(self, img: Tensor) -> Tensor:
        x = self.embed(img)  # (B, N, D)
        cls = self.cls.expand(len(x), -1, -1)  # (B, 1, D): the same for every image
        x = torch.cat([cls, x], dim=1) + self.positions  # (B, N + 1, D)
        x, _ = self.encoder(x)
        return self.head(x[:, 0])  # (B, 10)


@functools.cache
def _given(patch: int, d_model: int) -> tuple[nn.Module, nn.Module]:
    """The two parts that the student is handed, always with the same weights."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(100 * patch + d_model)
        embed = PatchEmbedding(patch, 1, d_model)
        block = BlockSizes(d_model=d_model, num_heads=2, d_ff=2 * d_model, activation="gelu")
        encoder = Encoder(2, block)
        for parameter in [*embed.parameters(), *encoder.parameters()]:
            nn.init.normal_(parameter, std=0.5)  # far from the start, so that mistakes show
    return embed.eval(), encoder.eval()


def switched(bug, patch: int, w: Weights, img: Tensor) -> Tensor:
    """img (B, 1, S, S) -> (B, 10); ``bug`` says which mistakes are on."""
    d = len(w["cls"])
    embed, encoder = _given(patch, d)
    with torch.no_grad():
        x = embed(img)  # (B, N, D)
        cls = w["cls"].expand(len(x), 1, d)
        table = w["positions"]  # (N + 1, D)
        x = bug.choose(
            lambda: torch.cat([cls, x], dim=1) + table,
            positions_before_cls=lambda: torch.cat([cls, x + table[1:]], dim=1),
            no_positions=lambda: torch.cat([cls, x], dim=1),
            cls_last_read_first=lambda: torch.cat([x, cls], dim=1) + table,
            cls_last=lambda: torch.cat([x, cls], dim=1) + table,
            no_cls=lambda: x + table[1:],
            no_cls_first_rows=lambda: x + table[:-1],
            cls_added=lambda: x + cls + table[1:],
            positions_multiplied=lambda: torch.cat([cls, x], dim=1) * table,
            same_position=lambda: torch.cat([cls, x], dim=1) + table[0],
            positions_last=lambda: torch.cat([cls, x], dim=1),
            positions_twice=lambda: torch.cat([cls, x], dim=1) + 2 * table,
        )
        x = bug.choose(
            lambda: encoder(x)[0],
            no_encoder=lambda: x,
            encoder_twice=lambda: encoder(encoder(x)[0])[0],
            residual=lambda: x + encoder(x)[0],
        )
        x = x + table if bug("positions-last") else x
        read = bug.choose(
            lambda: x[:, -1] if bug("cls-last") else x[:, 0],
            mean_of_all=lambda: x.mean(1),
            mean_of_patches=lambda: x[:, 1:].mean(1),
            last_token=lambda: x[:, -1],
            first_patch=lambda: x[:, 1],
            sum_of_all=lambda: x.sum(1),
            largest=lambda: x.amax(1),
            first_image=lambda: x[0],
            every_token=lambda: x,
            no_head=lambda: x[:, 0],
        )
        if bug("no-head"):
            return read
        logits = read @ w["head"].T + w["bias"]
        return bug.choose(
            lambda: logits,
            softmax=lambda: logits.softmax(-1),
            log_softmax=lambda: logits.log_softmax(-1),
            class_number=lambda: logits.argmax(-1),
        )


def prepared(student, patch: int, w: Weights) -> tuple[nn.Module, set[int]]:
    """The student's module, and the ids of the parameters that it was handed."""
    tokens, d = w["positions"].shape
    parts = copy.deepcopy(_given(patch, d))
    module = made(student, *parts, tokens - 1, d)
    for part, known in zip(parts, _given(patch, d), strict=True):
        part.load_state_dict(known.state_dict())  # whatever `__init__` may have done to them
    return module, {id(p) for part in parts for p in part.parameters()}


def call(student, patch: int, w: Weights, img: Tensor):
    """Make the student's module, copy the weights into what it made itself, and run it."""
    module, given = prepared(student, patch, w)
    rows = fill(module, given, w)
    tokens = len(w["positions"])
    try:
        return module(img)
    except (TypeError, AttributeError) as error:
        if "tuple" in str(error):
            raise Mistake("tuple-kept") from None
        raise
    except RuntimeError:
        if rows == tokens - 1:
            raise Mistake("positions-too-few") from None
        if len(img) > 1 and _runs(module, img[:1]):
            raise Mistake("cls-not-expanded") from None
        raise


def _runs(module: nn.Module, img: Tensor) -> bool:
    try:
        module(img)
    except (RuntimeError, TypeError, IndexError):
        return False
    return True


def fill(module: nn.Module, given: set[int], w: Weights) -> int:
    """Copy class token, positions and head, found by their sizes.  Returns the table's rows."""
    tokens, d = w["positions"].shape
    heads = [m for m in module.modules() if isinstance(m, nn.Linear) and id(m.weight) not in given]
    if any(h.in_features in (tokens * d, (tokens - 1) * d) for h in heads):
        raise Mistake("head-on-all-tokens")
    if len(heads) != 1 or heads[0].weight.shape != w["head"].shape:
        raise Mistake("wrong-head", f"Yours: {[tuple(h.weight.shape) for h in heads]}.")
    known = given | {id(p) for h in heads for p in h.parameters()}
    free = [p for p in module.parameters() if id(p) not in known]
    tables = [p for p in free if p.numel() in (tokens * d, (tokens - 1) * d) and p.shape[-1] == d]
    singles = [p for p in free if p.numel() == d and not any(p is t for t in tables)]
    if not tables:
        if any(p.numel() % d == 0 and p.numel() > d for p in free):
            raise Mistake("wrong-table", f"Yours: {[tuple(p.shape) for p in free]}.")
        raise Mistake("no-position-parameter")
    if not singles and tables[0].numel() == tokens * d:
        raise Mistake("no-cls-parameter")
    rows = tables[0].numel() // d
    with torch.no_grad():
        heads[0].weight.copy_(w["head"])
        heads[0].bias.copy_(w["bias"])
        tables[0].copy_(w["positions"][-rows:].reshape(tables[0].shape))
        for single in singles:
            single.copy_(w["cls"].reshape(single.shape))
    return rows


BUGS = (
    *group("tokens", TOKENS)(
        positions_before_cls="The positions are added before the class token is put in front, so "
        "it has none. That works, for the class token is told apart by its own vector; but the "
        "table of ViT has N + 1 rows. Concatenate first, then add.",
        no_positions="The positions are not added: the model cannot tell where a patch was.",
        cls_last_read_first="The class token stands *last*, but the head reads token 0, which is "
        "the first patch. Put it in front: `torch.cat([cls, x], dim=1)`.",
        cls_last="The class token stands last and is read there. That could be trained as well; "
        "ViT, and every published set of weights, has it first.",
        no_cls="There is no class token among the tokens: token 0 is the first patch. "
        "`torch.cat([cls, x], dim=1)`.",
        no_cls_first_rows="There is no class token among the tokens: token 0 is the first patch. "
        "Row 0 of the table belongs to the class token.",
        cls_added="The class token is added to every patch. It is a token of its own: "
        "`torch.cat([cls, x], dim=1)`.",
        positions_multiplied="The tokens are multiplied by the positions. Add them.",
        same_position="Every token gets the same position, row 0.",
        positions_last="The positions are added behind the encoder, which has then never seen "
        "them.",
        positions_twice="The positions are added twice.",
    ),
    *group("encoder", READ)(
        no_encoder="The encoder is not used, so the class token has not looked at any patch.",
        encoder_twice="The encoder is applied twice.",
        residual="The encoder's input is added to its output. Its blocks have their residuals "
        "inside.",
    ),
    *group("read", READ)(
        mean_of_all="The head reads the mean of all tokens. That can be trained too; here it reads "
        "the class token, `x[:, 0]`.",
        mean_of_patches="The head reads the mean of the patches. That can be trained too; here it "
        "reads the class token, `x[:, 0]`.",
        last_token="The head reads the last token, a patch. The class token is `x[:, 0]`.",
        first_patch="The head reads token 1, the first patch. The class token is `x[:, 0]`.",
        sum_of_all="The head reads the sum of all tokens. The class token is `x[:, 0]`.",
        largest="The head reads the largest value over all tokens. The class token is `x[:, 0]`.",
        first_image="`x[0]` is the first *image*, with all its tokens. Of every image the first "
        "token: `x[:, 0]`.",
        every_token="The head is applied to every token, (B, N + 1, 10). An image has one answer: "
        "read `x[:, 0]`.",
        no_head="The class token comes back without the head.",
    ),
    *group("answer", READ)(
        softmax="A softmax is applied. Return the logits: the loss has the softmax inside.",
        log_softmax="A log-softmax is applied. Return the logits: the loss has it inside.",
        class_number="The number of the class comes back. Return the ten logits: an argmax has no "
        "gradient.",
    ),
    *told(INIT)(
        positions_too_few="The table has N rows, and there are N + 1 tokens: the class token has a "
        "position too."
    ),
    *told(TOKENS)(
        cls_not_expanded="The class token is (1, 1, D), and the batch has more than one image. "
        "`cat` does not broadcast: `self.cls.expand(len(x), -1, -1)`."
    ),
    *told(INIT)(
        head_on_all_tokens="The head reads all tokens, flattened. It is then N + 1 times as large, "
        "and tied to one size of image. It reads the class token alone: `nn.Linear(d_model, 10)`.",
        wrong_head="The head is one linear layer, `nn.Linear(d_model, 10)`.",
        wrong_table="The table of positions has one row of D for each of the N + 1 tokens.",
        no_position_parameter="There are no learned positions: `nn.Parameter` of shape (1, "
        "num_patches + 1, d_model). A plain tensor is never trained.",
        no_cls_parameter="There is no learned class token: `nn.Parameter` of shape (1, 1, "
        "d_model). A plain tensor is never trained.",
    ),
    *told(READ)(
        tuple_kept="Our encoder hands back `(x, weights)`. Take the first: `x, _ = "
        "self.encoder(x)`."
    ),
    *told(INIT)(
        no_super_init="Call `super().__init__()` first: it prepares the module.",
        not_a_module="The class does not build on `nn.Module`: `class TinyViT(nn.Module):`",
    ),
    *told("the call of `check`")(
        instance_given='`check` needs the class itself, to build its own: `check("X08-3", '
        "TinyViT)`."
    ),
)


def _probe(r, patch: int, side: int, d: int, batch: int) -> tuple:
    tokens = (side // patch) ** 2 + 1
    w = {"cls": r(d), "positions": r(tokens, d), "head": r(10, d), "bias": r(10)}
    return patch, w, r(batch, 1, side, side)


TINY_VIT = Exercise(
    id="X08-3",
    title="A Vision Transformer from its parts",
    see="08, section 5",
    name="TinyViT",
    reference=TinyViT,
    switched=switched,
    call=call,
    bugs=BUGS,
    seconds=10.0,
    probes=lambda r: [_probe(r, 2, 8, 12, 3), _probe(r, 4, 12, 6, 2)],
    square=lambda r: [_probe(r, 2, 4, 10, 5)],
    hints=(
        "`__init__` makes what is not handed in: a class token and a table of positions, both "
        "`nn.Parameter`, and the head. How many rows has the table?",
        "`forward`: embed the patches, put the class token in front of them (for every image of "
        "the batch), add the positions, then the encoder, then the head on token 0.",
        "`cls = self.cls.expand(len(x), -1, -1)`, `x = torch.cat([cls, x], dim=1) + "
        "self.positions`, `x, _ = self.encoder(x)`, `return self.head(x[:, 0])`.",
    ),
    also_right=(
        """
class TinyViT(nn.Module):
    def __init__(self, embed, encoder, n, d):
        super().__init__()
        self.patch_embed = embed
        self.blocks = encoder
        self.cls_token = nn.Parameter(torch.randn(d))
        self.pos_embed = nn.Parameter(torch.randn(n + 1, d) * 0.02)
        self.fc = nn.Linear(d, 10)

    def forward(self, img):
        tokens = self.patch_embed(img)
        b = tokens.shape[0]
        tokens = torch.cat((self.cls_token.repeat(b, 1, 1), tokens), 1)
        tokens = tokens + self.pos_embed
        return self.fc(self.blocks(tokens)[0][:, 0, :])
""",
        """
class TinyViT(nn.Module):
    def __init__(self, embed, encoder, num_patches, d_model):
        super().__init__()
        self.embed, self.encoder = embed, encoder
        self.cls = nn.Embedding(1, d_model)
        self.pos = nn.Embedding(num_patches + 1, d_model)
        self.head = nn.Sequential(nn.Linear(d_model, 10))

    def forward(self, img):
        x = self.embed(img)
        first = self.cls.weight.unsqueeze(0).expand(x.size(0), 1, x.size(2))
        x = torch.cat([first, x], dim=-2)
        x = x + self.pos(torch.arange(x.size(1)))
        x, weights = self.encoder(x)
        return self.head(x[:, 0])
""",
        """
class TinyViT(nn.Module):
    def __init__(self, embed, encoder, num_patches, d_model):
        super().__init__()
        self.embed, self.encoder = embed, encoder
        self.cls = nn.Parameter(torch.zeros(1, d_model))
        self.positions = nn.Parameter(torch.zeros(1, 1 + num_patches, d_model))
        self.head = nn.Linear(d_model, 10)

    def forward(self, img):
        x = self.embed(img) + self.positions[:, 1:]
        cls = self.cls + self.positions[0, 0]
        x = torch.cat([cls.expand(len(x), 1, -1), x], dim=1)
        return self.head(self.encoder(x)[0].select(1, 0))
""",
    ),
    blank=(
        "class TinyViT(nn.Module):\n"
        "    def __init__(self, embed, encoder, num_patches, d_model):\n"
        "        super().__init__()\n        ...\n\n    def forward(self, img):\n        ...\n"
    ),
)
