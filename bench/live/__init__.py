"""Measures messages on their way to subscribers, also beside a flood in another room."""
