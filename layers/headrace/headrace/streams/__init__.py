"""The streams: one folder for each kind of event that Headrace accepts."""
