"""Measures the persist path with many settings, one stage each (``make sweep``)."""
