"""Calls AWS services over own signed HTTP connections, because importing AWS's SDK would slow down cold starts."""
