"""The student's progress: one small JSON file on their own disk.

Written whole and moved into place, so that it is never half there; read and merged under a lock,
so that two notebooks at once lose nothing; set aside under another name if it cannot be read. What
cannot be written now (another notebook holds the lock, the disk is full) is mentioned once, waits
in memory and goes in with the next record, or at the end of Python. It never stops a check.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

SCHEMA = 1
ORDER = ["too slow", "raised", "mistake unnamed", "not yet", "mistake named", "right", "passed"]
PATIENCE = 1.5  # seconds that one record may wait for another notebook
_told: set[str] = set()  # what was said once already in this kernel
_waiting: dict[Path, list[tuple[str, dict[str, Any]]]] = {}  # not yet in the file


def path() -> Path:
    """COURSE_PROGRESS if set, else beside the course on Colab, else in the home folder."""
    chosen = os.environ.get("COURSE_PROGRESS")
    if chosen:
        return Path(chosen).expanduser()
    if "google.colab" in sys.modules:  # the home folder there is not where people look
        return Path(__file__).resolve().parents[2] / "progress.json"
    return Path.home() / ".attention_course" / "progress.json"


def read() -> dict[str, dict[str, Any]]:
    """Records by id; empty if there is no file. A damaged file is set aside and reported."""
    file = path()
    try:
        items = _load(file)
    except OSError as error:
        _tell(f"Progress cannot be read ({_why(error)}); going on without it.")
        items = {}
    return _merged(items, _waiting.get(file, []))


def record(key: str, status: str, mistake: str | None = None, answer: str | None = None) -> None:
    """Add one attempt to the file. Never raises."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    attempt = {"status": str(status), "mistake": mistake, "answer": answer, "time": now}
    file = path()
    _waiting.setdefault(file, []).append((key, attempt))
    _write(file, PATIENCE)


def _write(file: Path, patience: float) -> None:
    """Add everything that waits for ``file``; what does not get there goes on waiting."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with _lock(file, patience):
            _save(file, _merged(_load(file), _waiting.get(file, [])))
            _waiting.pop(file, None)
    except OSError as error:
        _tell(
            f"Progress is not saved yet ({_why(error)}). It is kept in memory and tried again with "
            "the next check; the check itself is not affected."
        )


def _merged(items: dict[str, dict[str, Any]], attempts: list) -> dict[str, dict[str, Any]]:
    """The records with ``attempts`` added, one after the other."""
    for key, new in attempts:
        old = items.get(key, {})
        items[key] = old | {
            "status": new["status"],
            "best": str(max(old.get("best", new["status"]), new["status"], key=_rank)),
            "attempts": int(old.get("attempts", 0)) + 1,
            "mistake": new["mistake"] or old.get("mistake"),
            "answer": new["answer"] or old.get("answer"),
            "time": new["time"],
        }
    return items


@atexit.register
def _last_try() -> None:
    for file in list(_waiting):
        _write(file, 4 * PATIENCE)  # nobody waits for an answer any more


def _rank(status: str) -> int:
    return ORDER.index(status) if status in ORDER else -1


def _load(file: Path) -> dict[str, dict[str, Any]]:
    try:
        text = file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError:
        return _set_aside(file)
    try:
        data = json.loads(text)
        items = data["items"]
        if data["schema"] > SCHEMA or not all(isinstance(v, dict) for v in items.values()):
            raise ValueError("not our schema")
        return dict(items)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return _set_aside(file)


def _set_aside(file: Path) -> dict:
    """Move a file that we cannot read to a free name, so that nothing in it is lost."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    spare = file.with_name(f"{file.stem}.damaged-{stamp}-{os.getpid()}-{time.monotonic_ns()}.json")
    os.replace(file, spare)
    _tell(f"The progress file could not be read. It is kept as {spare} and a new one is begun.")
    return {}


def _save(file: Path, items: dict) -> None:
    handle, name = tempfile.mkstemp(prefix=file.name, suffix=".new", dir=file.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            json.dump({"schema": SCHEMA, "items": items}, out, indent=1, ensure_ascii=False)
            out.flush()
            os.fsync(out.fileno())
        os.replace(name, file)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


@contextlib.contextmanager
def _lock(file: Path, patience: float) -> Iterator[None]:
    """Hold ``file``.lock; the system lets go of it when the process ends, whatever happens."""
    with open(file.with_name(file.name + ".lock"), "a+b") as handle:
        end = time.monotonic() + patience
        while not _grab(handle):
            if time.monotonic() > end:  # better one record later than another notebook's lost
                raise BlockingIOError(errno.EAGAIN, "another notebook keeps the file locked")
            time.sleep(0.005)
        yield


def _grab(handle: Any) -> bool:
    """Try to lock; True as well where the disk knows no locks (some network drives)."""
    try:
        if os.name == "nt":
            import msvcrt

            handle.seek(0)
            msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return True
    return True


def _why(error: OSError) -> str:
    return f"{error.strerror or type(error).__name__}: {path()}"


def _tell(sentence: str) -> None:
    if sentence not in _told:
        _told.add(sentence)
        print(sentence, file=sys.stderr)
