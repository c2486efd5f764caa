"""Measures messages on their way to subscribers (``make bench-live``), also beside a flood (``make bench-flood``)."""
