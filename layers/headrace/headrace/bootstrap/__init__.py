"""The only place that builds objects, each once per environment.

Each module builds what some functions need, so that a function loads only what it uses.
"""
