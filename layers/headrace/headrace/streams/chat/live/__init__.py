"""Live messages: the frames of a connection, and its subscriptions to rooms."""
