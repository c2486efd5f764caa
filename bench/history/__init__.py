"""Measures pages of a room's history against a bare DynamoDB Query (``make bench BENCH=history``)."""
