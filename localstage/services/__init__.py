"""RabbitMQ, Redis or Valkey, DynamoDB, SQS and Secrets Manager for one stage: installed, started, watched, stopped."""

from localstage.services.services import LOCK, Endpoints, Services, ServiceStatus

__all__ = ["LOCK", "Endpoints", "ServiceStatus", "Services"]
