"""``python -m headrace_client.cli``: the command line without its console script."""

from . import main

main()
