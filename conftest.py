"""What every test run shares, of code and of notebooks: one torch thread, and no real progress."""

import os
import tempfile

# Before torch is imported: two test workers with two threads each would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A notebook under test must neither read nor write what a student has done on this machine.
_folder = tempfile.TemporaryDirectory(prefix="course-progress-")
os.environ.setdefault("COURSE_PROGRESS", os.path.join(_folder.name, "progress.json"))
