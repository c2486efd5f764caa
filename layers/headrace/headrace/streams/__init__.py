"""The kinds of events that the platform takes, one folder each."""
