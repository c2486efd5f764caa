"""A module that only a layer contains."""


def greet(word: str, name: str) -> str:
    """The word said to the name."""
    return f"{word}, {name}"
