"""A module that only a layer contains."""


def greet(word: str, name: str) -> str:
    """A greeting of ``word`` and ``name``."""
    return f"{word}, {name}"
