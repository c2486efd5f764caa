"""Writes the generated pages of docs/reference."""

from tools.stack_reference.pages import render_all

for path, text in render_all().items():
    path.write_text(text)
