"""Which HTTP requests a server of the stage answers: those of programs on this machine, and of the pages it serves.

Any web page in the developer's browser reaches the ports of loopback, but it does not choose the headers ``Host``,
``Origin`` and ``Sec-Fetch-Site``. A page whose name was pointed at 127.0.0.1 (DNS rebinding) sends its name as
``Host``. Imports the standard library only, because MiniStack's environment loads it too.
"""

from __future__ import annotations

import re

_LOOPBACK = re.compile(r"(localhost|127(\.(25[0-5]|2[0-4]\d|1?\d?\d)){3}|\[::1\])(:\d{1,5})?", re.IGNORECASE)


def refusal(host: str | None, origin: str | None, site: str | None) -> str:
    """Why a request is refused; empty if it may be answered.

    Args:
        host: the header ``Host``.
        origin: the header ``Origin``; only a page of the same server may send one.
        site: the header ``Sec-Fetch-Site``, which browsers add where they leave out ``Origin``.
    """
    if host is None or not _LOOPBACK.fullmatch(host):
        return f"Host: {host!r} is not this machine; allowed: localhost, 127.0.0.0/8 and [::1]"
    if origin is not None and origin.lower() != f"http://{host.lower()}":
        return f"Origin: {origin!r} is another page; allowed: none, or http://{host}"
    if site not in (None, "none", "same-origin"):
        return f"Sec-Fetch-Site: {site!r} is a request of another page; allowed: same-origin, none: type its address"
    return ""
