"""Generates the pages of docs/reference that list what the code and the templates define.

`python -m tools.stack_reference` (a part of `make reference`) writes the pages. Each module has one page.
"""
