"""Measures analytics (``make bench-analytics``), questions asked first (``make bench-first``), and single slots."""
