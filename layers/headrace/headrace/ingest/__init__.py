"""Accepts events from clients: the HTTP routes, the rate limit, and the way to the broker."""
