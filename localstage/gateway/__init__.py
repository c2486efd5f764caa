"""API Gateway on this machine: HTTP APIs, WebSocket APIs, @connections, and the token issuer."""

from localstage.gateway.gateway import Gateway
from localstage.gateway.issuer import Issuer

__all__ = ["Gateway", "Issuer"]
