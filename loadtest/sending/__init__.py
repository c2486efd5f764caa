"""Sends events over HTTP and WebSocket until each is accepted or refused."""
