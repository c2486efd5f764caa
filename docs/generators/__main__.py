"""Writes the generated pages of docs/reference."""

from docs.generators.pages import render_all

for path, text in render_all().items():
    path.write_text(text)
