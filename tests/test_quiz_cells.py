"""The functions that cells call: what they say, what they keep, and what they do not give away."""

import ast
import inspect
import math
import subprocess
import sys

import nbformat
import pytest
import torch
from nbclient import NotebookClient
from torch import nn

from utils.quiz import (
    Verdict,
    carry_on,
    cells,
    check,
    hint,
    predict,
    progress,
    question,
    registry,
    report,
    solution,
    store,
)
from utils.quiz.blank import is_blank


@pytest.fixture(autouse=True)
def fresh(monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))
    monkeypatch.setattr(cells, "_rungs", {})
    monkeypatch.setattr(cells, "_tried", {})


def right(q, k, v):
    weights = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), dim=-1)
    return weights @ v, weights


def unscaled(q, k, v):
    weights = torch.softmax(q @ k.transpose(-2, -1), dim=-1)
    return weights @ v, weights


def blank(q, k, v): ...


def test_check_returns_a_value_with_words():
    verdict = check("X03-1", unscaled)
    assert isinstance(verdict, Verdict)
    assert (verdict.status, verdict.mistake) == ("mistake named", "no-scale")
    assert "√d" in verdict.message
    assert verdict.see == "03, section 4"
    assert not verdict
    assert check("X03-1", right)
    assert repr(verdict).startswith("✘ X03-1: mistake named (no-scale)\n")
    assert "0x" not in repr(verdict)


def test_html_shows_icon_and_word_and_escapes_what_students_write():
    verdict = check("X03-1", unscaled)
    assert "✘ mistake named" in verdict._repr_html_()

    def evil(q, k, v):
        raise ValueError("<script>alert(1)</script>")

    page = check("X03-1", evil)._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_unnamed_mistake_says_what_is_seen():
    def odd(q, k, v):
        weights = right(q, k, v)[1]
        return weights @ v + 0.123, weights

    verdict = check("X03-1", odd)
    assert verdict.status == "mistake unnamed"
    assert "the output is the right one plus 0.123" in verdict.message
    assert "It shows in the output." in verdict.message

    def shape(q, k, v):
        output, weights = right(q, k, v)
        return output[:, :, :2], weights

    assert "In the output columns are missing at the end" in check("X03-1", shape).message

    def type_(q, k, v):
        return "done"

    assert "the text 'done'" in check("X03-1", type_).message


def test_raised_points_to_the_line():
    def oops(q, k, v):
        scores = q @ k.transpose(-2, -1)
        return soft_max(scores)  # noqa: F821

    verdict = check("X03-1", oops)
    assert verdict.mistake == "unknown-name"
    assert "return soft_max(scores)" in verdict.remarks[0]
    assert "`soft_max` has no value" in check("X03-1", oops).message  # the second time in full


BLANKS = [
    "def f(q, k, v): ...",
    "def f(q, k, v): pass",
    'def f(q, k, v):\n    """Words."""',
    'def f(q, k, v):\n    """Words."""\n    ...',
    "def f(q, k, v):\n    return None",
    "def f(q, k, v):\n    return ...",
    "def f(q, k, v):\n    raise NotImplementedError",
    "def f(q, k, v):\n    raise NotImplementedError('todo')",
    "def f(q, k, v):\n    scores = ...\n    weights = ...\n    return ..., weights",
    "def f(q, k, v):\n    scores = q @ k.mT\n    weights = ...\n    return weights @ v, weights",
    "def f(q, k, v):\n    scores, weights = ..., ...\n    return scores, weights",
    "def f(q, k, v):\n    weights = torch.softmax(..., dim=-1)\n    return weights",
    "f = None",
    "f = ...",
    "f = lambda q, k, v: ...",
    "def f(q, k, v):\n    scores = q\n    return ...",
    "class f(nn.Module):\n    def __init__(self, a, b, c):\n        super().__init__()\n     "
    "   ...\n    def forward(self, x):\n        ...",
    "class f(nn.Module):\n    def __init__(self, a, b, c):\n        super().__init__()\n"
    "        self.w_q = ...\n    def forward(self, x):\n        return x, x",
    "class f(nn.Module):\n    def __init__(self, a, b, c):\n        super().__init__()\n"
    "        self.w_q = nn.Linear(a, b)\n    def forward(self, x):\n        q = ...\n        "
    "return q",
]
NOT_BLANK = [
    "def f(q, k, v): return q",
    "def f(q, k, v):\n    return q[..., 0], k[...]",
    "def f(q, k, v):\n    i = 1\n    w = q[..., i, :]\n    w[..., None] = 0\n    return w",
    "def f(q, k, v):\n    if q is None:\n        raise NotImplementedError\n    x = q + k\n  "
    "  return x",
    "def f(q, k, v):\n    g = len\n    return q[..., len(k)], q[..., g(k)], q[..., max(1, 2), 0]",
    "def f(q, k, v):\n    n = 3\n    return q[..., n:], q[..., -1] @ k[..., n - 1], (..., n)[1]",
    "class f(nn.Module):\n    def forward(self, x):\n        return x, x[..., :1]",
    "f = lambda q, k, v: q",
]


@pytest.mark.parametrize("source", BLANKS)
def test_blank_is_seen(source):
    space = {"torch": torch, "nn": nn}
    exec(source, space)
    assert is_blank(space["f"])


@pytest.mark.parametrize("source", NOT_BLANK)
def test_not_blank_is_seen(source):
    space = {"torch": torch, "nn": nn}
    exec(source, space)
    assert is_blank(space["f"]) is None


def test_blank_writes_no_progress():
    assert check("X03-1", blank).status == "not attempted"
    assert check("X03-1").status == "not attempted"
    assert not store.path().exists()


def test_carry_on_says_which(capsys):
    assert carry_on("X03-1", right) is right
    assert capsys.readouterr().out == "Going on with your own attention.\n"
    library = carry_on("X03-1", blank)
    assert library is registry.get("X03-1", "X").library
    assert "library's attention" in capsys.readouterr().out
    layer = carry_on("X03-2", None)(8, 4, 3)
    output, weights = layer(torch.randn(2, 5, 8))
    assert (output.shape, weights.shape) == ((2, 5, 3), (2, 5, 5))
    assert not store.path().exists()


def test_carry_on_does_not_take_a_solution_that_the_cells_below_would_stumble_over(capsys):
    def batches_only(q, k, v):
        weights = (torch.bmm(q, k.transpose(1, 2)) / q.shape[-1] ** 0.5).softmax(dim=-1)
        return torch.bmm(weights, v), weights

    assert check("X03-1", batches_only).passed
    library = carry_on("X03-1", batches_only)
    said = capsys.readouterr().out
    assert "Yours is right, but the cells below hand over one sentence, (N, d)" in said
    assert library(*torch.ones(3, 2, 4))[0].shape == (2, 4)


def test_hints_are_a_ladder():
    first, second = hint("X03-1"), hint("X03-1")
    assert repr(first) != repr(second)
    assert "1 of 3" in repr(first) and "2 of 3" in repr(second)
    both = repr(hint("X03-1", 2))
    assert "1 of 3" in both and "2 of 3" in both and "3 of 3" not in both
    assert repr(hint("X03-1", 2)) == both
    assert "last hint" in repr(hint("X03-1", 99))
    with pytest.raises(ValueError, match="number of hints"):
        hint("X03-1", 0)


def test_solution_comes_after_an_attempt():
    assert "try of your own" in repr(solution("X03-1"))
    check("X03-1", unscaled)
    shown = repr(solution("X03-1"))
    assert "softmax" in shown and "bug" not in shown
    ast.parse(solution("X03-1").code)
    cells._tried.clear()  # a new kernel: the progress file remembers
    assert "softmax" in repr(solution("X03-1"))
    assert "try of your own" in repr(solution("X03-3"))


def test_question_shows_options_and_no_key():
    view = question("Q03-2")
    item = registry.get("Q03-2", "Q")
    text = repr(view)
    for option in item.options:
        assert option.text in text
        assert option.reason not in text
    assert text == repr(question("Q03-2"))
    assert not store.path().exists()


def test_typed_answer_gives_its_reason_and_is_kept():
    item = registry.get("Q03-2", "Q")
    for letter, option in zip("abcd", item.options):
        verdict = question("Q03-2", answer=letter)
        assert verdict.passed == option.right
        assert option.reason in repr(verdict) and option.reason in verdict.message
        others = [o.reason for o in item.options if o is not option]
        assert not any(reason in repr(verdict) for reason in others)
    assert store.read()["Q03-2"]["attempts"] == 4
    assert store.read()["Q03-2"]["best"] == "right"
    assert store.read()["Q03-2"]["answer"] == "d"


def test_answers_are_understood_in_many_forms():
    for answer in ("b", "B", " b) ", "(b)", 2, "16"):
        assert question("Q03-2", answer=answer).passed, answer
    for answer in (None, "", "...", ...):
        assert "Click an option" in repr(question("Q03-2", answer=answer))
    for answer in ("z", 7, 0, True, "nonsense", 2.5):
        assert "none of the options" in repr(question("Q03-2", answer=answer))


def test_generated_question_is_fresh_and_repeatable():
    assert repr(question("G03-1", seed=7)) == repr(question("G03-1", seed=7))
    assert repr(question("G03-1", seed=7)) != repr(question("G03-1", seed=8))
    item = registry.get("G03-1", "G").with_seed(7)
    letter = "abcd"[[o.right for o in item.options].index(True)]
    assert question("G03-1", answer=letter, seed=7).passed
    wrong = next(x for x in "abcd" if x != letter)
    assert question("G03-1", answer=wrong, seed=7).mistake


def test_prediction_draws_only_after_a_guess():
    drawn = []
    view = predict("P03-1", lambda: drawn.append(1))
    assert drawn == [] and "picture follows" in repr(view)
    verdict = predict("P03-1", lambda: drawn.append(1), guess="a")
    assert drawn == [1] and "You guessed a)" in repr(verdict)
    assert "none of the options" in repr(predict("P03-1", lambda: drawn.append(1), guess="q"))
    assert drawn == [1]
    with pytest.raises(TypeError, match="function that draws"):
        predict("P03-1", 7)


def click(view, letter):
    """Press a button as the browser would; return what the reason box then holds."""
    box = view._widget()
    row = box.children[1 + "abcdef".index(letter)]
    row.children[0].click()
    return box.children[-2].value


def test_a_click_counts_like_a_typed_answer():
    reason = click(question("Q03-2"), "b")
    assert "variance 256" in reason and "✔ right" in reason
    assert 'question("Q03-2", answer="b")' in reason.replace("&quot;", '"')
    assert store.read()["Q03-2"]["answer"] == "b"
    drawn = []
    assert "You guessed" in click(predict("P03-1", lambda: drawn.append(1)), "a")
    assert drawn == [1]


def test_bad_ids_are_explained():
    for wrong in ("X3-1", "Q03-1", "X03-99", 7):
        with pytest.raises(ValueError, match="X03-1"):
            check(wrong, right)
    with pytest.raises(ValueError, match="Q03-1"):
        question("X03-1")


def test_progress_page_and_report(tmp_path):
    check("X03-1", unscaled)
    check("X03-1", right)
    question("Q03-2", answer="a")
    page = progress()
    assert "✔ X03-1  passed, 2 tries" in repr(page)
    assert "✘ Q03-2  not yet, 1 try" in repr(page)
    assert "○ X03-2  open" in repr(page)
    assert "<table>" in page._repr_html_()
    path = report(tmp_path / "me.html", name="<b>Ada</b>")
    text = path.read_text(encoding="utf-8")
    assert "&lt;b&gt;Ada" in text and "no-scale" in text
    assert "http" not in text.replace("http-equiv", "")


def test_outputs_do_not_depend_on_the_progress_file():
    before = [repr(check("X03-1", unscaled)), repr(question("Q03-1")), repr(question("Q03-1", "a"))]
    for _ in range(3):
        check("X03-1", right)
        question("Q03-1", "c")
    after = [repr(check("X03-1", unscaled)), repr(question("Q03-1")), repr(question("Q03-1", "a"))]
    assert before == after


def test_import_is_cheap_and_silent():
    code = (
        "import sys, utils.quiz; "
        "assert 'ipywidgets' not in sys.modules and 'utils.quiz.content.nb03' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == done.stderr == ""


def test_public_names_have_docstrings():
    for function in (check, hint, solution, carry_on, question, predict, progress, report):
        assert inspect.getdoc(function)


CELLS = [
    "from utils.quiz import *\nimport torch, math",
    "def attention(q, k, v):\n    ...\ncheck('X03-1', attention)",
    "attention = carry_on('X03-1', attention)\nattention(*torch.ones(3, 1, 2, 4))[0].shape",
    "question('Q03-1')",
    "question('G03-1', seed=3)",
    "predict('P03-1', lambda: None)",
    "check('X03-1', lambda q, k, v: exit())",
    "check('X03-1', lambda q, k, v: input())",
    "check('X03-1', lambda q, k, v: print('x' * 10**6 * 2))",
    "def forever(q, k, v):\n    while True:\n        try:\n            1\n        except "
    "BaseException:\n            pass\nimport dataclasses\nfrom utils.quiz import registry\n"
    "from utils.quiz.diagnose import diagnose\n"
    "diagnose(dataclasses.replace(registry.get('X03-1', 'X'), seconds=0.5), forever)",
    "question('Q03-1', answer='b')",
    "'alive'",
]


def test_a_notebook_runs_green_and_keeps_the_key_to_itself(monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONPATH", ".")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in CELLS])
    NotebookClient(notebook, timeout=60, kernel_name="python3", store_widget_state=True).execute()

    def plain(number):
        outputs = notebook.cells[number].outputs
        return "\n".join(o["data"]["text/plain"] for o in outputs if "data" in o)

    assert "not attempted" in plain(1)
    assert "leaves-python" in plain(6)
    assert "asks-keyboard" in plain(7)
    assert "prints-without-end" in plain(8)
    assert "too slow" in plain(9)
    assert "alive" in plain(11)
    assert "application/vnd.jupyter.widget-view+json" in notebook.cells[3].outputs[0]["data"]
    saved = nbformat.writes(notebook)
    assert "d_q = d_k and N = N'" in saved  # the widget's state was saved with it
    asked = [registry.get("Q03-1", "Q"), registry.get("P03-1", "P")]
    given = "True in self-attention"
    for option in (o for item in asked for o in item.options):
        if not option.reason.startswith(given):
            assert option.reason not in saved and option.reason[:30] not in saved
    assert given in saved
