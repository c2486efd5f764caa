"""``python -m headrace_client.cli``: the command line without an installed program."""

from . import main

main()
