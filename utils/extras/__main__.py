"""`make extras`: fetch the extras named on the command line, or all."""

import sys
import time

from utils.extras.fetch import EXTRAS, extra, have
from utils.extras.index import Missing


def main(names: list[str]) -> int:
    """Fetch the extras named, or all: the command behind `make extras`."""
    failed = 0
    for name in names or EXTRAS:
        start = time.perf_counter()
        try:
            here = have(name)
            folder = extra(name)
        except (Missing, KeyError) as error:
            failed += 1
            print(f"{name}: {error.args[0]}", file=sys.stderr)
        except KeyboardInterrupt:
            print("\nStopped.  Nothing half-fetched is left.", file=sys.stderr)
            return 130
        else:
            how = "was here" if here else f"fetched in {time.perf_counter() - start:.1f} s"
            print(f"{name}: {how}, {folder} ({EXTRAS[name].licence}; {EXTRAS[name].thanks})")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
