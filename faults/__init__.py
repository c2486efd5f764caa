"""Fault scenarios and a random soak against the local stage: no accepted event may be lost, whatever fails."""

import loadtest  # noqa: F401 - it puts the layer and the Python client on the path
