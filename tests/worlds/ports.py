"""Ports for servers that tests start."""

import random

from localstage.services.ports import FIRST, LAST, is_free

_unused = random.Random().sample(range(FIRST, LAST), LAST - FIRST)  # two workers have one seed


def free_port() -> int:
    """Return a port of loopback that is free now, a different one with each call.

    It is below Linux's ephemeral range: an outgoing connection cannot take it before the server listens.
    """
    while not is_free(port := _unused.pop()):
        pass
    return port
