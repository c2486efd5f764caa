"""A run of a shape: the part of each worker, and the conductor that merges the results."""
