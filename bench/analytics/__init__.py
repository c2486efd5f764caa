"""Measures questions about any window of chat, questions asked first, and single slots."""
