"""Something only a layer can bring."""


def greet(word: str, name: str) -> str:
    """The word said to the name."""
    return f"{word}, {name}"
