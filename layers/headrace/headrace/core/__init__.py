"""Pure code without I/O: errors, times, keys, callers, envelopes, items, and how streams are declared."""
