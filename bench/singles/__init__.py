"""Measures the CPU of single events on a whole stage, by process."""
