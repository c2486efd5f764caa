"""The only place that builds objects, each once per environment.

One module for what each kind of function needs, so that a function loads only what it uses.
"""
