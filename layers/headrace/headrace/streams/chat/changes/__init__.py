"""Edits and deletions of messages: sent, checked, stored beside the messages, and applied to them."""
