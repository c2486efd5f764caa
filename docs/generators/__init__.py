"""Generates the pages of docs/reference that list what the code and the templates define.

`python -m docs.generators` (a part of `make reference`) writes the pages. Each module has one page.
"""
