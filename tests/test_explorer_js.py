"""The explorer's JavaScript: types and rules hold, modules are short, and joined they are one."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from utils.explorer import AttentionExplorer, page

JS = Path(page.__file__).parent / "js"
# What a type checker does not see.
RULES = {
    "eqeqeq": ["error", "always", {"null": "ignore"}],
    "max-len": ["error", 120],
    "max-lines": ["error", 300],
    "no-unused-vars": "error",
    "no-use-before-define": ["error", {"functions": False, "variables": False}],
    "no-var": "error",
    "prefer-const": ["error", {"destructuring": "all"}],
    **dict.fromkeys(("no-eval", "no-implied-eval", "no-new-func", "no-self-compare"), "error"),
}


def run(tool, *arguments):
    """What npm's tool says of the modules, where there is one."""
    path = Path(os.environ.get("COURSE_JS_TOOLS") or "nowhere", "node_modules", ".bin", tool)
    if not path.exists():
        pytest.skip(
            "COURSE_JS_TOOLS names no folder with typescript and eslint: .ci/run fetches them with "
            "npm; by hand: npm install --prefix FOLDER typescript@5.9.3 eslint@9.39.1"
        )
    done = subprocess.run([path, *arguments], cwd=JS, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_types_are_right():
    assert run("tsc", "--project", "tsconfig.json") == (0, "")


def test_rules_are_kept():
    assert run("eslint", "--no-config-lookup", "--rule", json.dumps(RULES), ".") == (0, "")


def test_a_wrong_type_is_found(tmp_path):
    """Else the types might be right because nothing is asked."""
    for file in JS.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    words = tmp_path / "words.js"
    text = words.read_text(encoding="utf-8")
    words.write_text(text.replace("app.focus()", "app.fokus()"), encoding="utf-8")
    code, said = run("tsc", "--project", str(tmp_path / "tsconfig.json"))
    assert code and "Property 'fokus' does not exist on type 'App'" in said


def test_every_module_is_checked_and_joined():
    names = {file.stem for file in JS.glob("*.js")}
    assert names == {*page.MODULES, "widget"}
    for name in names:
        assert "\n// @ts-check\n" in (JS / f"{name}.js").read_text(encoding="utf-8")


def test_the_order_is_that_of_the_imports():
    """A module imports only what stands before it; then joining cannot change what it means."""
    seen = []
    for name in (*page.MODULES, "widget"):
        text = (JS / f"{name}.js").read_text(encoding="utf-8")
        assert set(re.findall(r'^import .* from "\./(\w+)\.js";$', text, re.M)) <= set(seen)
        seen.append(name)


def test_joined_they_are_one_module():
    code = AttentionExplorer._esm
    assert not re.search(r"^import\b", code, re.M)
    assert re.findall(r"^export\b.*", code, re.M) == ["export default {"]
    names = re.findall(r"^(?:async )?(?:function|const|let) (\w+)", code, re.M)
    assert len(names) == len(set(names)) > 50  # one name never means two things
