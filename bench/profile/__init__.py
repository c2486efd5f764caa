"""Measures which functions of Headrace use the CPU of a frame, a batch and a page (``make profile``)."""
