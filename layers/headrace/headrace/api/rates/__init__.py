"""Limits on the requests and events of each caller: sliding windows, whose counts the environments exchange."""
