"""Fault scenarios and a random soak against the local stage: no accepted event may be lost, whatever fails."""
