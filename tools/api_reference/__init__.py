"""Generates the API's contract from the routes: ``make reference`` writes it to ``docs/reference``.

``routes.py`` loads the routes of all functions, ``names.py`` names them, ``schemas.py`` makes JSON schemas of their
models, and ``results.py`` those of events and errors. ``openapi.py`` and ``asyncapi.py`` build the two documents, and
``pages.py`` makes the readable pages from them with Jinja templates.
``recording.py`` records the examples from a running stage. It is used at build time only: no function imports it.
"""
