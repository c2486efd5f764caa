"""Latencies as HDR histograms, and the measurements of one phase of a run."""
