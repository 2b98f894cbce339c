"""Train what is too long for a reader, and store it as small tables: `make results`.

Each file of ``experiments/`` becomes ``data/results/<name>.csv``.  A row is kept as soon as it is
measured: after Ctrl-C the same command goes on where it stopped.  The table carries a fingerprint
of the code that made it, so that a test can say when it no longer fits.
"""

import ast
import csv
import hashlib
import importlib
import importlib.metadata
import io
import json
import os
import platform
import signal
import sys
import time
from pathlib import Path

from tools.project import ROOT
from tools.rooms import imports, tree_of
from utils.figures.results import FOLDER, header_of

COMMAND = "make results ONLY={name}"


def names(root: Path = ROOT) -> list[str]:
    files = (root / "experiments").glob("*.py")
    return sorted(file.stem for file in files if file.stem != "__init__")


def sources(name: str, root: Path = ROOT) -> list[Path]:
    """The experiment's own file and every file of the course that it uses, directly or not."""
    found, waiting = set(), {root / "experiments" / f"{name}.py"}
    while waiting:
        file = waiting.pop()
        found.add(file)
        waiting |= imports(file, root) - found
    return sorted(found)


def fingerprint(name: str, root: Path = ROOT) -> str:
    """Of what the code does: comments, docstrings and layout do not count."""
    digest = hashlib.sha256()
    for file in sources(name, root):
        digest.update(f"{file.relative_to(root).as_posix()} {_plain(tree_of(file))}\n".encode())
    return digest.hexdigest()[:16]


def _plain(node) -> str:
    """A syntax tree as text that is the same under every Python; `ast.dump` is not."""
    if isinstance(node, list):
        return " ".join(_plain(part) for part in node if not _is_text_alone(part))
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = ((name, value) for name, value in ast.iter_fields(node) if value not in (None, []))
    inner = " ".join(f"{name}={_plain(value)}" for name, value in fields if name != "kind")
    return f"{type(node).__name__}({inner})"


def _is_text_alone(node) -> bool:
    """A docstring, or any other string that stands alone and does nothing."""
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def stale(root: Path = ROOT, folder: Path = FOLDER) -> list[str]:
    """A sentence for each table that does not fit today's code."""
    found = []
    for name in names(root):
        command, table = COMMAND.format(name=name), folder / f"{name}.csv"
        if not table.exists():
            found.append(f"data/results/{name}.csv is missing: run `{command}`.")
        elif header_of(table)["code"] != fingerprint(name, root):
            found.append(f"data/results/{name}.csv came from other code: run `{command}`.")
    for table in sorted(folder.glob("*.csv")):
        if table.stem not in names(root):
            found.append(f"data/results/{table.name} has no experiment: delete it, or write one.")
    return found


class Recorder:
    """Runs ``measure`` for each new row and knows the rows of an earlier, interrupted run."""

    def __init__(self, measure, part: Path, code: str, progress=None):
        self.measure, self.part, self.progress, self.rows = measure, part, progress, []
        self.known = {}
        lines = part.read_text(encoding="utf-8").splitlines() if part.exists() else []
        if lines and lines[0] == code:  # rows of other code are of no use
            for line in lines[1:]:
                try:
                    settings, row = json.loads(line)
                except ValueError:  # the last line, where the machine was switched off
                    continue
                self.known[json.dumps(settings)] = row
        kept = [f"{json.dumps([json.loads(key), row])}\n" for key, row in self.known.items()]
        part.write_text(f"{code}\n" + "".join(kept), encoding="utf-8")

    def __call__(self, *, role: str, **settings) -> dict:
        key = json.dumps({"role": role, **settings})
        if role not in ("validation", "test"):
            raise ValueError(f"role must be 'validation' or 'test', got {role!r}")
        if (row := self.known.get(key)) is None:
            began = time.process_time()
            measured = _unless_stopped(self.measure, settings)
            seconds = round(time.process_time() - began, 2)
            row = {"role": role, **settings, **measured, "seconds": seconds}
            with self.part.open("a", encoding="utf-8") as file:
                file.write(json.dumps([{"role": role, **settings}, row]) + "\n")
        self.rows.append(row)
        if self.progress is not None:
            self.progress.update()
        return row


def _unless_stopped(measure, settings: dict) -> dict:
    """What was measured; after Ctrl-C nothing, though the training loop goes home quietly."""
    stopped = []

    def stop(*_):
        stopped.append(True)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, stop)
    try:
        measured = measure(**settings)
    finally:
        signal.signal(signal.SIGINT, before)
    if stopped:  # the row is of a model that was trained halfway
        raise KeyboardInterrupt
    return measured


def write(name: str, experiment, *, code: str, folder: Path = FOLDER, progress=None) -> Path:
    """Run one experiment, or the rest of it, and put its table in place in one go."""
    folder.mkdir(parents=True, exist_ok=True)
    run = Recorder(experiment.measure, folder / f"{name}.part", code, progress)
    experiment.experiment(run)
    versions = {p: importlib.metadata.version(p).split("+")[0] for p in ("torch", "numpy")}
    header = {
        "about": experiment.__doc__.splitlines()[0],
        "command": COMMAND.format(name=name),
        "code": code,
        "seeds": " ".join(sorted({str(r["seed"]) for r in run.rows if r["role"] == "test"})),
        "versions": f"python {platform.python_version()}, "
        + ", ".join(f"{package} {number}" for package, number in versions.items()),
        "seconds": f"{sum(row['seconds'] for row in run.rows):.0f} of one CPU thread",
        "rows": str(len(run.rows)),
    }
    text = io.StringIO()
    text.writelines(f"# {key}: {value}\n" for key, value in header.items())
    writer = csv.DictWriter(text, list(run.rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(run.rows)
    table, new = folder / f"{name}.csv", folder / f"{name}.csv.new"
    new.write_text(text.getvalue(), encoding="utf-8")
    os.replace(new, table)
    run.part.unlink()
    return table


def main(arguments: list[str]) -> int:
    from tqdm.auto import tqdm

    from utils.runtime import set_threads

    if unknown := set(arguments) - set(names()):
        print(f"no experiment {', '.join(sorted(unknown))}: there are {', '.join(names())}")
        return 1
    set_threads()
    wanted = arguments or [name for name in names() if any(f"/{name}.csv" in s for s in stale())]
    for name in wanted:
        with tqdm(desc=name, unit=" rows") as bar:
            try:
                experiment = importlib.import_module(f"experiments.{name}")
                write(name, experiment, code=fingerprint(name), progress=bar)
            except KeyboardInterrupt:
                bar.close()
                print(f"Stopped.  `{COMMAND.format(name=name)}` goes on after these {bar.n} rows.")
                return 130
    print(f"written: {', '.join(wanted)}" if wanted else "every table fits its code")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
