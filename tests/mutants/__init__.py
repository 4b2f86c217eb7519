"""Is what makes commits exactly-once held by tests? Each mutant lacks one such thing, and named tests must notice.

    make mutants                         # all of them; minutes, with a real broker and Spark
    .venv/bin/python -m tests.mutants --pure   # only the tests of pure rules; seconds

A mutant is a copy of the package with a few lines changed, put before the installed one; workers and processes that a
test starts run the copy too.
"""
