"""What is too long for a reader: one file for each table that `make results` writes.

A file holds ``measure(**settings)``, which trains once and returns what it measured, and
``experiment(run)``, which says what is to be measured by calling ``run(role=..., **settings)``.
Every call becomes one row.  Its role is "validation" (to choose a setting) or "test" (to report).
"""
