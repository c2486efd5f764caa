"""Measures messages on their way to subscribers."""
