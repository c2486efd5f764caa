"""Headrace: takes in streams of small events and answers questions about them. See docs/design.md."""
