"""Generates the pages of docs/reference that list what the code and the templates define.

`python -m tools.stack_reference` (run by `make reference`) writes the pages. Each module generates one page.
"""
