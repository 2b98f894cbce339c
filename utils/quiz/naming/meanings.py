"""What Python's and torch's errors mean, in words: the tables that `errors` looks things up in."""

from __future__ import annotations

import re

# A kind, its score and a pattern of "Type: text" (@@ and one of the line); below it what it means.
# The first that fits is told.  Groups of the pattern fill {0}, {1}; {it} is what was called.
RULES = r"""
none-value 8: NoneType
  Something here is None: that is what a function without a `return` gives back.
view-after-transpose 9: view size is not compatible
  `view` needs the numbers in the order of the axes; a transpose or permute breaks it (`reshape`?).
truth-of-tensor 9: Boolean value of Tensor
  A whole tensor is used as one truth value (`if`, `and`, `or`, `not`), but it holds many. Entry by
  entry it is `&`, `|`, `~` or `torch.where`; whether an argument was given is asked by `is None`.
bool-minus 9: (?:Subtraction|Negation), the `-` operator
  `-` is used on booleans, and torch does not count with them. A mask is inverted by `~`.
invert-float 9: operator.invert|unary ~: 'float'
  `~` inverts booleans, and this tensor holds numbers. Is the mask of type bool?
bits-of-floats 9: bitwise_(?:and|or)_|for [&|]: '(?:float|Tensor)
  `&` and `|` join booleans, and here are floats. A mask is made of True and False.
caret-power 9: bitwise_xor|for \^:
  `^` is no power in Python (it compares bits); a power is written `**`.
number-for-tensor 9: (\w+)\(\): argument 'input' \(position 1\) must be Tensor, not (?:int|float)
  `torch.{0}` takes tensors, and this is a plain number: those are for `math`.
float-size 9: got float|not float|'float' object cannot|slice ind|(?:pand|peat)\(\) takes 1 pos
  A size or index is a float here. `/` always gives one, even for 8 / 2; `//` gives whole numbers.
float-size 9: element of type float
  A size is a float here. `/` always gives one, even for 8 / 2; `//` gives whole numbers.
method-not-called 9: method' object is not subscriptable @@ \.size\[
  `size` is a method and takes round brackets; it is `shape` that takes square ones.
method-not-called 9: builtin_function_or_method|'method'|'function'|not (?:method|function)$
  A function or method stands there itself and not its result: its round brackets are missing.
value-called 9: '(?:Tensor|torch\.\w+)' object is not callable
  `{it}` is a value and is called like a function: it takes no brackets, or square ones to index it.
name-written-over 8.5: '(int|float|str|list|tuple|dict|bool|module)' object is not callable
  `{it}` is no function but of type {0} here: was its name given to a value, or is a sign missing?
values-forgotten 9: torch\.return_types\.(\w+)
  `{0}` with a number runs along that axis and gives two things: `.values`, and `.indices`. (It
  compares nothing entry by entry.)
not-a-tensor 8.5: AttributeError: '(tuple|list|int|float)' object has no attribute '(\w+)'
  `{1}` belongs to tensors, and this is of type {0} (of `.item()`, a shape, several results?).
super-init 9: before Module.__init__
  `super().__init__()` has to come first: it prepares the module to own layers and parameters.
no-attribute 7.5: '([\w.]+)'(?: object)? has no attribute '(\w+)'
  `{0}` has no `{1}`. Is it spelled as where it was made, and is it the object you think it is?
no-cuda 9: with CUDA enabled|CUDA GPU|NVIDIA|CUDA driver|mps dev|MPS
  There is no graphics card here. A new tensor goes where its input is: `device=x.device`.
missing-module 9: No module named '([\w.]+)'|cannot import name '(\w+)'
  `{0}` is not there, and nothing can be installed during a check: torch alone is enough here.
channel-axis 7.4: expected input\[\d+, \d+, \d+, \d+\] to have (\d+) channels, but got (\d+)
  A convolution looks for its {0} channels on the axis behind the batch, where {1} stand. {shapes}
picture-axes 7.4: expected input\[.*\] to have (\d+) channels, but got
  A convolution wants a picture (B, C, height, width), and gets something else. {shapes}
kernel-too-large 7.2: Calculated padded input size.*: \((.*?)\). Kernel size: \((.*?)\)
  The window is larger than the picture: it spans {1}, and there are {0}. Does something spread or
  repeat it (`dilation`, `padding`, its size)?
batch-forgotten 8.5: with <= 2 dim|be a matrix|1D tensors|matrix @ vector|be a 3D|outer: Exp
  `{it}` wants a fixed number of axes: is the batch forgotten? `@` works with any in front. {shapes}
softmax-without-axis 9: softmax\(\) (?:missing|received)
  The softmax has to be told along which axis the weights sum to 1.
transpose-arguments 9: transpose\(\)(?::| missing| takes| received)
  torch's `transpose` swaps two axes and wants both named. (NumPy's is torch's `permute`.) {shapes}
permute-axes 9: permute
  `permute` wants each axis of the tensor exactly once, in the new order. {shapes}
numpy-function 8.5: Can't call numpy|core dimension|not aligned|operands could not be @@ np\.|numpy
  A NumPy function is used on tensors. It cuts the gradient; torch has its own. {shapes}
axis-out-of-range 7.5: Dimension out of range.*\[-(\d+), \d+\], but got (-?\d+)
  Axis {1} is asked for, but there are {0}, counted from 0: is the batch counted? {shapes}
no-such-key 7.5: KeyError: (.*)
  There is no entry {0} in that dictionary: is this the key that is meant?
assigned-shape 8.5: expand\(torch.*size=\[|shape mismatch: value tensor @@ \] [-+*/]?=
  What stands on the right has another shape than the place on the left where it is put. {shapes}
expand-axes 8.5: repeat dims can not|number of sizes provided
  `{it}` wants a size for each axis of the tensor, and for new ones in front. {shapes}
index-out-of-range 7.5: out of bounds|index out of range|out of range$|Class values|too many indices
  An index asks for more than there is: one too far, an axis too many, an unknown id? {shapes}
list-not-tensor 9: list indices must be integers or slices, not tuple
  A plain list is indexed along several axes at once, as only a tensor can be: what comes in here is
  a list.
not-boolean 9: supports boolean masks|condition to be a boolean
  A mask of numbers comes where a boolean one is needed: True or False for each place.
needs-whole-numbers 9: used as indices|argument #1 'indices'|only applicable|to be Long
  An index, a token's id or a class has to be a whole number, and here come floats.
needs-floats 9: infer output dtype|support floating|for '(?:Long|Int|Bool)'|Expected a floating
  This step needs floats, and the tensor holds whole numbers or booleans. {dtypes}
dtype-mix 8.5: type (\w+) but found (\w+)|dtype, .*?(\w+) (?:!=|and) (\w+)$|e (\w+) can't.* (\w+)$
  Numbers of different types meet, {0} and {1}; this step wants one type. {dtypes}
device-mix 9: the same device|the expected device
  Tensors on different devices meet. A new tensor needs `device=x.device`.
generator-not-consumed 9: generator
  `(... for ...)` in round brackets has computed nothing yet; square brackets make a list of it.
not-a-list 9: tuple of Tensors, not Tensor
  `{it}` joins a list of tensors, and gets a single tensor: put those to join in square brackets.
one-by-one 9: argument 0, but got list @@ block_diag|broadcast_tensors|cartesian_prod
  `{it}` takes the tensors one by one, and gets them all in one list.
not-tensors 8.5: as element \d+ in argument 0, but got (\w+)|expected sequence of length|non-empty
  `{it}` joins tensors of one kind; this list is empty or holds something else.
join-sizes 6.5: Sizes of tensors must match|equal size, but got|have same number of dim
  Tensors can only be joined if they agree on all axes but the one they are joined on. {shapes}
einsum-letters 8: einsum\(\): (.*?)(?: and no ellipsis.*)?$
  The letters do not fit: {0}. One letter for each axis, the same letter for the same size. {shapes}
reshape-sizes 6: shape '\[(.*?)\]' is invalid for input of size (\d+)
  The sizes ({0}) do not multiply to the {1} numbers there are. {shapes}
sizes-clash 6: tensor \((\d+)\) must match the existing size \((\d+)|a \((\d+)\) must .*b \((\d+)\)
  Two sizes meet that do not fit, {0} and {1}. Shapes are lined up from the last axis on. {shapes}
inner-sizes 6: shapes cannot be multiplied|Expected size for first two
  In a product the left's last axis has to be as long as the right's second to last. {shapes}
endless-recursion 9: RecursionError
  The function calls itself without end: does a name in it mean the function itself?
memory 8: MemoryError|can't allocate
  It asks for more memory than there is: which size is far larger than it should be? {shapes}
math-of-tensor 9: one element tensors|to Scalar @@ math\.
  The functions of `math` take one number, and here comes a whole tensor; torch's take tensors.
tensor-of-tensors 9: one element tensors @@ tensor\(
  `torch.tensor` makes tensors of numbers. To join tensors there are `torch.stack` and `torch.cat`.
one-number 8.5: one element tensors|to Scalar|of a single element
  One number is needed (`range`, `.item()`, `float`, an index), and a whole tensor comes. {shapes}
list-and-number 8.5: \+: '(?:int|float)' and 'list'|can only concatenate list
  A list and a single value are added. Only lists are joined by `+`: the value needs its brackets.
list-for-tensor 8.5: (?:sor|number), not (list|tuple)|sor' and '(list|tuple)'|: '(list|tuple)' and
  A {0} stands where a tensor or a number is needed (`torch.stack` makes one of many).
mask-shape 8.5: attn_mask is torch\.Size\(\[(.*?)\]\), but should be \((.*?)\)
  The mask has the shape ({0}) where this attention needs ({1}): queries × keys. Does the mask cover
  too many places, or do batch and places stand on each other's axes?
padding-shape 8.5: Expected key_padded_mask.shape\[0\] to be (\d+), but got (\d+)
  A padding mask says for each example which tokens are padding, so it has {0} rows; who may look at
  whom is another argument.
numpy-array 8.5: must be torch.dtype, not numpy|not numpy.ndarray|ndarray' and 'Tensor
  A NumPy array stands where torch needs a tensor of its own.
one-number-indexed 8.5: invalid index of a 0-dim
  A single number is indexed as if it had axes: a reduction without an axis (`argmax()`, `max()`,
  `sum()`) leaves one number of the whole tensor.
negative-step 9: step must be greater than zero
  A tensor cannot be sliced backwards by a negative step, as a list can (`flip` turns it round).
layer-width 8: was expecting embedding dimension of (\d+), but got (\d+)
  The layer was made for vectors of width {0}, and gets vectors of width {1}. {shapes}
whole-shape 9: torch.Size
  A whole shape is used as if it were one number: which of its sizes is meant?
layer-not-applied 9: '(Linear|\w*ReLU|Softmax|Dropout|LayerNorm)'|Tensor, not (Linear|Conv\w+)
  A layer ({0}) stands there itself: it was made, but not called with a tensor.
layer-not-applied 9: Tensor, not (\w*ReLU|\w*Softmax|GELU|Tanh|Sigmoid|Dropout|Layer\w+|Sequential)
  The brackets behind `nn.{0}` only make the layer; a second pair would call it. So a layer goes on
  from here where a tensor is needed.
buffer-kind 8.5: cannot assign '([\w.]+)' object to (?:buffer|parameter) '(\w+)'
  `{1}` is kept with the module, which takes tensors only, and here comes {0}.
no-graph 9: does not require grad and does not have a grad_fn|does not require grad$
  There is no way back for the gradient: this was computed under `no_grad`, or of a copy cut off by
  `detach`, or it never met what asks for a gradient.
in-place 9: leaf Variable|by an inplace operation
  A tensor that learns, or that a gradient still needs, is changed in place. Make a new one instead.
unbound 9: UnboundLocalError: .*variable '(\w+)'
  `{0}` is used before it has a value: it gets one further down, or in a case that did not happen.
number-taken-apart 8.5: (int|float)' object is not [is]|iterable (int|float)|'(int|float)' has no l
  A single {0} is looped over, indexed or taken apart like a list. (A loop takes `range(n)`.)
axes-unpacked 9: values to unpack \(expected (\d+) @@ shape|size\(
  The shape is taken apart into {0} names, but it has another length: is the batch counted? {shapes}
unpack 8: values to unpack \(expected (\d+)
  On the left stand {0} names, on the right another number of values. {shapes}
division-by-zero 8: ZeroDivisionError|math domain error|expected a (?:non|pos)
  A division by zero, or a root or logarithm of a number that has none. Which number is it?
argument-count 8.5: (\w+)\(\) (takes|missing) (.*)
  The arguments do not fit those of `{0}`: it says "{1} {2}".
type-among-sizes 9: 'size' failed to unpack|must be tuple of ints, .*got type
  Among the sizes stands a type of numbers; a type is handed over by its name.
one-axis 9: (\w+)\(\): argument 'dim' .* must be int, not tuple
  `{0}` runs along one axis only, and here come several.
argument-kind 7: (\w+)\(\): argument '(\w+)' .* must be (.+), not (\w+)
  `{1}` of `{0}` must be of type {2}, and {3} comes. Is the order of the arguments right?
argument-kind 7: (\w+)\(\) received an invalid combination of arguments - got \(([^)]*)\)
  `{0}` cannot be called with these arguments: ({1}). One too many, one missing, another order?
"""
_rows = re.findall(r"^(\S+) ([\d.]+): (.*)\n((?:  .*\n)+)", RULES, re.MULTILINE)
MEANINGS = [(k, n, *f"{p} @@ ".split(" @@ ")[:2], " ".join(t.split())) for k, n, p, t in _rows]
# What needs a look at the values and the tree: a kind, its score, what it means.
LOOKS = """
none-not-handled 9: `{0}` is None here (an argument left out?), and this line needs a value.
foreign-name 9: `{0}` is a name of another library; {1}.
missing-import 9: `{0}` was not imported: `{1}` does it.
own-check 9.9: This line of the solution stops it by itself: what it asks for does not hold here,
  on inputs that the task allows. {0}
brackets-of-and 9.1: `&` and `|` bind stronger than a comparison, so `a < b & c < d` asks for
  `a < (b & c) < d`: each comparison needs its own brackets.
missing-self 9: `{0}` does without `self`, through which all that is the object's is reached.
self-in-function 9: `self` is known in methods only, and this is a plain function: it has arguments.
misspelt-name 8.5: The name `{0}` is not known. Is it a slip for `{1}`?
unknown-name 8: The name `{0}` has no value: is it an argument, and was its cell run?
other-module 9: `{1}` has no `{0}`; `{2}` has.
misspelt-attribute 8.5: There is no `{0}` in it. Is it a slip for `{1}`?
foreign-keyword 9: `{0}` knows no argument `{1}`; torch calls it `{2}`.
wrong-keyword 8.5: `{0}` knows no argument `{1}`: is it spelled as in its definition?
argument-count 9: `{0}` is called {1} with {2} arguments than its `def` has: see the task.
keepdim-missing 8: `{0}` removes the axis it runs along, so the rest no longer lines up. {1}
size-typed-in 7.5: The number {0} is typed in, but no axis has that size: inputs vary. {1}
axis-missing 7.5: Shapes are lined up from the last axis on; one lacks an axis further in. {0}
t-of-batch 8.5: `.T` turns all axes around, the batch too, and not only the last two. {0}
transpose-axes 7.5: The transpose swaps other axes than the last two, so the sizes do not meet. {0}
layer-size 7.5: `{0}` was made for inputs of another size. {1}
not-transposed 7.5: Both have the same last axis: nothing turns the second, so the sizes miss. {0}
operand-order 7.2: The two would fit in the other order, and in a product the order matters. {0}
"""
_rows = re.findall(r"^(\S+) ([\d.]+): (.*(?:\n  .*)*)", LOOKS, re.MULTILINE)
SAID = {kind: (float(score), " ".join(says.split())) for kind, score, says in _rows}
