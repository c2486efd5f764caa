"""Builds the functions from what ``services`` builds, once per environment.

Each module builds what some functions need, so that a function loads only what it uses.
"""

import gc

# A page of rows is some ten thousand objects. With Python's threshold of 700, half of the time to read one was spent
# looking for cycles, of which a decoded page has none.
gc.set_threshold(50_000, 20, 20)
