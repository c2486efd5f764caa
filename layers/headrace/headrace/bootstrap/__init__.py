"""The only place that builds objects, each once per environment and on first use.

Factories import what they build inside: a function loads only the modules that it uses.
"""
