"""Measures cold starts beside the same duties written the usual way (``make bench BENCH=cold``)."""
