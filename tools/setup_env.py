"""Make `.venv` and install what requirements.lock pins: the first step of `make lab` and `test`.

A stamp file, written last, says that the environment is complete and for which lists it was made:
with the right stamp nothing is done, without one the folder is thrown away and made again.  So an
interrupted or failed try never breaks the next one.

This file uses the standard library only and no syntax newer than Python 2.7: an old Python must
be able to read it far enough to say what is wrong.
"""

from __future__ import print_function

import hashlib
import os
import shutil
import subprocess
import sys

OLDEST, NEWEST_TESTED = (3, 11), (3, 13)
LISTS = ("requirements.txt", "requirements-dev.txt", "requirements.lock")
NAMES = ("python3", "python", "python3.13", "python3.12", "python3.11", "py")

GET_PYTHON = (
    "install Python 3.12 (python.org, your package manager, or conda), "
    "then run the same command again, or name it: make lab PYTHON=/path/to/python3.12"
)
SIGNS_OF_NO_NETWORK = (
    "NewConnectionError",
    "Failed to establish a new connection",
    "ConnectTimeoutError",
    "ReadTimeoutError",
    "ProxyError",
    "Connection refused",
    "Connection reset",
    "Network is unreachable",
    "name resolution",
    "Name or service not known",
    "nodename nor servname",
    "getaddrinfo failed",
)
SIGNS_OF_FULL_DISK = ("No space left on device", "Errno 28", "WinError 112", "Disk quota exceeded")


class SetupError(Exception):
    """A sentence for the student."""


def python_version(command):
    """(major, minor, micro) of the Python that `command` starts, or None if it starts none."""
    ask = "import sys; print('%d %d %d' % sys.version_info[:3])"
    try:
        with open(os.devnull, "w") as nowhere:
            said = subprocess.check_output([command, "-c", ask], stderr=nowhere)
        return tuple(int(part) for part in said.decode("ascii").split())
    except (OSError, ValueError, subprocess.CalledProcessError):
        return None


def find_python(wanted=None):
    """The command and version of a Python to build with: `wanted`, or the best one on the path."""
    if wanted:
        version = python_version(wanted)
        if version is None:
            raise SetupError("PYTHON=%s does not start a Python: %s." % (wanted, GET_PYTHON))
        if version < OLDEST:
            raise SetupError(
                "PYTHON=%s is Python %s, but the course needs 3.11 or newer: %s."
                % (wanted, dotted(version), GET_PYTHON)
            )
        return wanted, version

    found = [(name, python_version(name)) for name in NAMES]
    found = [(name, version) for name, version in found if version]
    good = [pair for pair in found if pair[1] >= OLDEST]
    tested = [pair for pair in good if pair[1][:2] <= NEWEST_TESTED]
    if tested or good:
        return (tested or good)[0]
    if found:
        raise SetupError(
            "The newest Python found here is %s, but the course needs 3.11 or newer: %s."
            % (dotted(max(version for _, version in found)), GET_PYTHON)
        )
    raise SetupError("No Python was found here: %s." % GET_PYTHON)


def dotted(version):
    return ".".join(str(part) for part in version)


def venv_python(venv):
    inside = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
    return os.path.join(venv, *inside)


def wish(root, newest):
    """What the environment is to be made of, as text: it changes when a list changes."""
    digest = hashlib.sha256()
    for name in LISTS:
        with open(os.path.join(root, name), "rb") as file:
            digest.update(file.read().replace(b"\r\n", b"\n") + b"\0")
    return digest.hexdigest() + (" newest" if newest else " locked")


def read_stamp(venv):
    """(wish, version of Python) of a complete environment, or (None, None)."""
    try:
        with open(os.path.join(venv, "course-stamp"), "rb") as file:
            wanted, version = file.read().decode("ascii").splitlines()
    except (OSError, IOError, ValueError):
        return None, None
    if not os.path.exists(venv_python(venv)):  # its Python was removed from the machine
        return None, None
    return wanted, tuple(int(part) for part in version.split("."))


def write_stamp(venv, wanted, version):
    with open(os.path.join(venv, "course-stamp"), "wb") as file:
        file.write(("%s\n%s\n" % (wanted, dotted(version))).encode("ascii"))


def create(python, version, venv):
    """An empty environment; the usual way to fail is a Linux without the venv package."""
    with open(os.devnull, "w") as nowhere:
        if subprocess.call([python, "-c", "import venv, ensurepip"], stderr=nowhere) != 0:
            raise SetupError(
                "Python %s here has no venv module: install it (Debian and Ubuntu: "
                "sudo apt install python%d.%d-venv), then run the same command again."
                % (dotted(version), version[0], version[1])
            )
    code, lines = run_quietly([python, "-m", "venv", venv])
    if code != 0:
        explain(lines, "Python could not make the folder .venv")


def install(root, venv, newest):
    command = [venv_python(venv), "-m", "pip", "install", "--disable-pip-version-check"]
    command += ["-r", os.path.join(root, "requirements-dev.txt")]
    command += ["--upgrade"] if newest else ["-c", os.path.join(root, "requirements.lock")]
    code, lines = run_quietly(command)
    if code != 0:
        explain(lines, "pip could not install what the course needs")


def run_quietly(command):
    """Run, showing only what takes time; return the exit code and every line that was printed."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = []
    try:
        for raw in iter(process.stdout.readline, b""):
            line = raw.decode("utf-8", "replace").rstrip()
            lines.append(line)
            if line.strip().startswith("Downloading ") and " MB" in line:
                print("  " + line.strip())
            elif line.startswith("Installing collected packages"):
                print("  Downloaded; installing.")
            sys.stdout.flush()
        return process.wait(), lines
    finally:
        process.stdout.close()
        if process.poll() is None:
            process.terminate()
            process.wait()


def explain(lines, what):
    """Turn a tool's long complaint into its last words and one sentence."""
    said = "\n".join(lines)
    for line in [line for line in lines if "error" in line.lower()][-3:]:
        print("  " + line.strip()[:300], file=sys.stderr)
    if any(sign in said for sign in SIGNS_OF_FULL_DISK):
        raise SetupError("The disk is full: free about 5 GB, then run the same command again.")
    if any(sign in said for sign in SIGNS_OF_NO_NETWORK):
        raise SetupError(
            "The package index cannot be reached: check the network connection (and the proxy, "
            "if there is one), then run the same command again."
        )
    raise SetupError(
        "%s: the lines above say why; when that is mended, run the same command again." % what
    )


def set_up(root, wanted_python=None, newest=False):
    """Bring `.venv` into the wished state; do nothing if it is."""
    venv = os.path.join(root, ".venv")
    wanted = wish(root, newest)
    made_of, made_with = read_stamp(venv)

    if wanted_python and made_of:
        _, version = find_python(wanted_python)
        if version != made_with:
            made_of = None  # another Python was asked for: begin anew
    if made_of == wanted and not newest:
        return

    stamp = os.path.join(venv, "course-stamp")
    if made_of:
        # The lists have changed.  If pip refuses (no network, say) the old environment stays
        # usable; if we are interrupted there is no stamp, and the next run begins anew.
        print("The lists of packages have changed: bringing .venv up to date.")
        os.remove(stamp)
        try:
            install(root, venv, newest)
        except SetupError:
            write_stamp(venv, made_of, made_with)
            raise
        write_stamp(venv, wanted, made_with)
        return

    python, version = find_python(wanted_python)
    print("Making .venv with Python %s; this takes some minutes, once." % dotted(version))
    sys.stdout.flush()
    try:
        remove(venv)
        create(python, version, venv)
        install(root, venv, newest)
        write_stamp(venv, wanted, version)
    except BaseException:
        remove(venv, quietly=True)
        raise
    print("Done.")


def remove(venv, quietly=False):
    if os.path.islink(venv):
        os.remove(venv)
    elif os.path.exists(venv):
        shutil.rmtree(venv, ignore_errors=quietly)


def main(arguments):
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    newest = "--newest" in arguments
    try:
        set_up(root, os.environ.get("PYTHON"), newest)
    except KeyboardInterrupt:
        print("\nStopped.  Nothing half-made is left: run the same command again.", file=sys.stderr)
        return 130
    except SetupError as error:
        print(str(error), file=sys.stderr)
        return 1
    except (OSError, IOError) as error:
        if getattr(error, "errno", None) == 28:
            print("The disk is full: free about 5 GB, then run make again.", file=sys.stderr)
        else:
            print("The folder .venv cannot be written: %s." % error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
