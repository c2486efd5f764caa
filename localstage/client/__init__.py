"""Clients of the public API that commands and tests share: HTTP, tokens, and where the local stage runs."""
