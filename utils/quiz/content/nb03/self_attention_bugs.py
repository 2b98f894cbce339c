"""The mistakes of X03-2 in words: its own, and those of X03-1 that it can have as well."""

from __future__ import annotations

from utils.quiz.bugs import group, single, told
from utils.quiz.content.nb03 import attention_bugs

INIT = "`__init__`, where the layers are made"
FORWARD = "`forward`, where q, k and v are made"


# Mistakes of X03-1 that mean the same as others once queries and keys come from one sequence.
ALIKE_HERE = {
    "scale-queries", "scale-by-queries", "needs-two-axes", "values-as-keys", "values-as-queries",
    "residual-query", "residual-value", "other-scale", "rounded", "query-twice", "key-twice",
    "weights-times-keys", "weights-times-queries", "scale-numel", "scale-std",
    "scale-before-root", "scale-log", "distance-plus", "difference", "sum-not-product",
    "softmax-over-queries-then-keys", "rounded-to-whole", "power-of-two", "min-max",
    "output-normalised", "exp-over-scores", "no-output-step", "weights-averaged", "scale-minus",
    "scale-precedence", "scale-fourth-root", "scale-d-squared", "scale-times-d", "output-times",
    "times-after-softmax", "scale-after-softmax-d", "cosine-scaled", "divided-by-abs-sum",
    "sigmoid-normalised", "relu-normalised", "squares-normalised", "values-softmax",
    "last-key-skipped", "values-twice", "floor-division",
    "first-keys-for-all", "values-reversed", "max-and-sum-no-keepdim", "lists-returned",
    "first-sequence-only", "batch-flattened", "tanh-before-softmax", "relu-before-softmax",
    "sigmoid-before-softmax", "last-value-only", "output-scaled-again",
    "exp-sum-queries-no-keepdim", "max-no-keepdim", "output-beside-query", "softmax-on-queries",
    "softmax-on-keys", "tanh", "relu", "needs-equal-lengths", "half-precision",
    "squeezed", }  # fmt: skip

BUGS = (
    *group("projections", FORWARD)(
        query_for_key="The keys come from the same matrix as the queries, so the scores are "
        "symmetric: token i looks at j as much as j at i. The keys need a matrix of their own, "
        "w_k.",
        key_for_query="The queries come from the same matrix as the keys, so the scores are "
        "symmetric: token i looks at j as much as j at i. The queries need w_q.",
        key_for_value="The values come from the same matrix as the keys. What a token offers is "
        "not what it is found by: the values need w_v.",
        query_for_value="The values come from the same matrix as the queries. They need w_v.",
        one_matrix_for_all="One matrix makes queries, keys and values. Each of the three needs its "
        "own.",
        value_not_projected="The weights mix x itself. Mix the values, `self.w_v(x)`.",
        query_not_projected="The queries are x itself. They come from `self.w_q(x)`.",
        key_not_projected="The keys are x itself. They come from `self.w_k(x)`.",
        nothing_projected="The three layers are not used in `forward`: x itself serves as queries, "
        "keys and values.",
        only_value_projected="Queries and keys are x itself. They come from `self.w_q(x)` and "
        "`self.w_k(x)`.",
        only_query_projected="Keys and values are x itself. They come from `self.w_k(x)` and "
        "`self.w_v(x)`.",
        keys_from_queries="The keys are made from the queries. Both are made from x.",
        values_from_keys="The values are made from the keys. All three are made from x.",
        projected_in_a_chain="Each projection takes the result of the one before. All three are "
        "made from x.",
        weights_not_transposed="`x @ layer.weight` has the matrix the wrong way round: `nn.Linear` "
        "keeps it as (d_out, d_in). Call the layer, `self.w_q(x)`, or transpose: `x @ "
        "self.w_q.weight.T`.",
        relu_on_projections="There is a ReLU on the projections. They are plain matrix products.",
        tanh_on_projections="There is a tanh on the projections. They are plain matrix products.",
    ),
    *group("scale", "the division by √d_k", "03, section 4")(
        scale_d_model="The scores are divided by √d_model. What is summed up in q · k is their own "
        "width: √d_k."
    ),
    *single("the line that computes the output")(
        residual="x is added to the output. A residual connection comes later, outside of "
        "attention."
    ),
    *told(INIT)(
        plain_tensors="The matrices are plain tensors, so `parameters()` does not know them and no "
        "optimiser will ever change them. Use `nn.Linear` (or wrap them in `nn.Parameter`).",
        plain_list="The layers sit in a plain list or dict, where the module does not see them. "
        "Give each its own name, `self.w_q = ...` (or use `nn.ModuleList`).",
        no_parameters="The module has nothing to learn: no layer is stored on `self` in "
        "`__init__`. A layer made inside `forward` is new and random at every call.",
        no_super_init="Call `super().__init__()` first, with both pairs of brackets: it prepares "
        "the module to own layers.",
    ),
    *told("the line `def __init__(self, d_model, d_k, d_v):`")(
        init_arguments="`__init__` takes `self` and three sizes, in this order: `d_model, d_k, "
        "d_v`."
    ),
    *told("the line `def forward(self, x):`")(
        forward_arguments="`forward` takes `self` and x, nothing else. Queries, keys and values "
        "are made from x inside it."
    ),
    *told("`forward`")(
        self_missing="What `__init__` knows, other methods know only through `self`: keep it there "
        "(`self.d_k = d_k`) and write `self.` in front wherever it is used."
    ),
    *told(FORWARD)(
        layers_not_called="The layers themselves are handed on. Call them on x: `self.w_q(x)`."
    ),
    *told("the line `def __init__(self, d_model, d_k, d_v):`")(
        no_init="The class has no `__init__` of its own. It is spelled with two underscores on "
        "either side and stands one step further in than `class`."
    ),
    *told("the line `def forward(self, x):`")(
        no_forward="The class has no method `forward`. Is it spelled like this, and does its `def` "
        "stand exactly below the `def` of `__init__`? Further in it would be a part of `__init__`."
    ),
    *told(INIT)(
        bias="The numbers would be right, but the layers have a bias and the formula has none: q = "
        "x W. Write `nn.Linear(..., bias=False)`.",
        not_a_module="The class does not build on `nn.Module`: `class SelfAttention(nn.Module):`",
    ),
    *told("the call of `check`")(
        instance_given='`check` needs the class itself, to build its own: `check("X03-2", '
        "SelfAttention)`."
    ),
    *told(INIT)(
        wrong_sizes="One of the layers has the wrong sizes. From d_model to d_k, d_k and d_v.",
        extra_layer="There is a further layer besides those for q, k and v. The output is the "
        "weights times v, with nothing before or after it.",
    ),
    *told(FORWARD)(
        no_gradient_to_weights="The numbers are right, but no gradient reaches the matrices, so "
        "they would never learn. Remove `detach()`, `.data` or `no_grad()`."
    ),
    *(bug for bug in attention_bugs.BUGS if bug.name not in ALIKE_HERE),
)
