"""``make test``, ``make e2e`` and ``make check``: which tests run, and beside what."""
