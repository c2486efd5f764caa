"""Measures an echo function on the local stage beside a bare server and SAM (``make bench BENCH=localstage``)."""
