"""The course's small library.  Each file is read in one sitting; importing one does no work.

The README's map lists every file with what it is for, its functions, and the notebook that teaches
it (`make stamp` writes that map from the source).
"""
