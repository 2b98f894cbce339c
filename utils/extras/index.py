"""Ask the package index for one archive: no more than a list of links, and a stream of bytes.

``pip download`` would run the set-up code of a source package, so the archive is taken through the
plain list of links that every index has (PEP 503).  Which index that is, pip says.
"""

import ast
import base64
import contextlib
import html
import http.client
import os
import re
import ssl
import subprocess
import sys
import urllib.error
from collections.abc import Iterator
from pathlib import Path
from typing import IO
from urllib.parse import unquote, urljoin, urlsplit
from urllib.request import Request, urlopen

PATIENCE = 30  # seconds without a word from the index


class Missing(RuntimeError):
    """An extra cannot be had; the message is a sentence for the reader."""


class Unreachable(Missing):
    """It cannot be had because no index answers."""


def open_archive(package: str, archive: str) -> IO[bytes]:
    """The archive as a stream, from the first index that lists it."""
    settings = _pip_settings()
    context = ssl.create_default_context(cafile=settings.get("cert"))
    if "cert" not in settings:  # Python's own list is empty on some machines where pip works
        with contextlib.suppress(ImportError):
            from pip._vendor import certifi

            context.load_verify_locations(certifi.where())
    silent = None
    for index in _indexes(settings):
        base = index if "://" in index else Path(index).absolute().as_uri()  # pip takes folders too
        page = f"{base.rstrip('/')}/{package}/"
        page += "index.html" if page.startswith("file:") else ""
        try:
            with urlopen(_request(page), timeout=PATIENCE, context=context) as answer:
                text = answer.read().decode("utf-8", "replace")
            for link in map(html.unescape, re.findall(r"""href\s*=\s*["']([^"']+)""", text)):
                if unquote(urlsplit(link).path).rsplit("/", 1)[-1] == archive:
                    address = urljoin(page, link).partition("#")[0]
                    return urlopen(_request(address), timeout=PATIENCE, context=context)
        except urllib.error.HTTPError as error:
            if error.code != 404:
                silent = error
        except (OSError, http.client.HTTPException) as error:
            if not page.startswith("file:"):
                silent = error
    if silent is not None:
        raise Unreachable(
            f"The package index does not answer ({silent}): check the network, then try again."
        )
    raise Missing(f"No index that pip is set up for lists {archive}.")


def _request(address: str) -> Request:
    """Asks for plain HTML; a name and password in the address become a header, as pip does it."""
    parts = urlsplit(address)
    who, _, host = parts.netloc.rpartition("@")
    request = Request(parts._replace(netloc=host).geturl(), headers={"Accept": "text/html, */*"})
    if who:
        token = base64.b64encode(unquote(who).encode()).decode()
        request.add_unredirected_header("Authorization", f"Basic {token}")
    return request


def _indexes(settings: dict[str, str]) -> Iterator[str]:
    """The indexes that pip would ask; its default is read off its help, so no host stands here."""
    if settings.get("no-index", "").lower() in ("1", "true", "yes", "on"):
        raise Unreachable("pip is told to ask no index (no-index).")
    if "index-url" not in settings:
        said = _pip("download", "--help")
        default = re.search(r"url>[^(]+\(default\s+(\S+)\)", said)
        if default is None:
            raise Missing("pip's help names no index: name one in the variable PIP_INDEX_URL.")
        settings = settings | {"index-url": default[1]}
    yield from settings["index-url"].split()
    yield from settings.get("extra-index-url", "").split()


def _pip_settings() -> dict[str, str]:
    """pip's settings as pip reads them: [global], then [download], then PIP_... variables."""
    found: dict[str, dict[str, str]] = {"global": {}, "download": {}, ":env:": {}}
    for section, key, value in re.findall(r"^(\S+?)\.([\w-]+)=(.+)$", _pip("config", "list"), re.M):
        if section in found:
            found[section][key] = ast.literal_eval(value)
    return found["global"] | found["download"] | found[":env:"]


def _pip(*words: str) -> str:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *words]
    wide = {**os.environ, "COLUMNS": "200"}  # in a narrow terminal pip breaks addresses in two
    result = subprocess.run(command, capture_output=True, text=True, env=wide)
    if result.returncode != 0:
        raise Missing(f"pip cannot say which index it uses: {result.stderr.strip()[-200:]}")
    return result.stdout
