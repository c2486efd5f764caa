"""Pure code without I/O: errors, times, keys, callers, envelopes, items, and the declarations of streams."""
