"""A run of a shape: the phases, the part of each worker, and the merged result."""
