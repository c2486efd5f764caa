"""Measures how soon single events can be read back, alone and beside a backlog (``python -m bench.durable``)."""
