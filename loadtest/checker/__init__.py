"""Compares what was accepted with what can be read back."""
