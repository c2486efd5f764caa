"""Exports: everything that is held about a user, or a room as its owner sees it, as JSON lines to download."""
