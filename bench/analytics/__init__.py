"""Measures questions about any window of chat, single slots, and declared events beside clicks."""
