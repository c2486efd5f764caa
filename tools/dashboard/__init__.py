"""Draws the CloudWatch dashboard with the numbers of a local stage: ``make dashboard``."""
