"""Operators' functions: health, status, probes, dead letters, the parking queue, the broker's topology."""
