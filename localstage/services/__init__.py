"""RabbitMQ, Redis or Valkey, DynamoDB and MiniStack for one stage: installed, started, watched, stopped."""

from localstage.services.endpoints import Endpoints, ServiceStatus
from localstage.services.guardian import LOCK
from localstage.services.services import Services

__all__ = ["LOCK", "Endpoints", "ServiceStatus", "Services"]
