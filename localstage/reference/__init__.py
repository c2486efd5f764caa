"""Serves the API reference of the template's project beside the stage's status: documents and readable pages."""
