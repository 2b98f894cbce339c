"""`make extras`: fetch the extras named on the command line, or all."""

import sys
import time

from utils.extras.fetch import EXTRAS, extra, have
from utils.extras.index import Missing


def main(names: list[str]) -> int:
    """Fetch the extras named, or all: the command behind `make extras`."""
    failed = False
    for name in names or EXTRAS:
        start = time.perf_counter()
        try:
            how = "was here" if have(name) else "fetched"
            folder = extra(name)
            how += f" in {time.perf_counter() - start:.1f} s" if how == "fetched" else ""
            print(f"{name}: {how}, {folder} ({EXTRAS[name].licence}; {EXTRAS[name].thanks})")
        except (Missing, KeyError) as error:
            failed = True
            print(f"{name}: {error.args[0]}", file=sys.stderr)
        except KeyboardInterrupt:
            print("\nStopped.  Nothing half-fetched is left.", file=sys.stderr)
            return 130
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
