"""Connections to a stage: WebSocket, target, a stage as a child process, chat events and frames, watchers of rooms."""
