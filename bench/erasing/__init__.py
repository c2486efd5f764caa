"""Measures what other users notice of an erasure (``python -m bench.erasing``)."""
