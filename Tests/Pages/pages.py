"""Tests of the pages of `pipeline serve` in Chromium.

usage: pages.py URL HIDING INBOX TESTS

URL: of a server of the library that `pictures.fill` made; HIDING: of one with `--hide gps`; INBOX: the folder that a running
`pipeline watch` imports from; TESTS: a regular expression of the tests to run.
Times are printed, not tested: they are right on an idle machine only.
"""

import sys

# Each has the tests of one theme.
import access, changes, gallery, safety, search, viewer  # noqa: F401
from harness import run

if __name__ == "__main__":
    sys.exit(1 if run(*sys.argv[1:]) else 0)
