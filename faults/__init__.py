"""Scripted fault days and a random soak against the local stage: what was accepted is kept, whatever breaks."""
