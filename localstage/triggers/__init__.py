"""Invokes functions without a client: RabbitMQ and SQS event source mappings, and schedules."""

from localstage.triggers.pacing import Status
from localstage.triggers.rabbitmq import RabbitMqTrigger
from localstage.triggers.schedules import ScheduleTrigger
from localstage.triggers.sqs import SqsTrigger
from localstage.triggers.triggers import Triggers

__all__ = ["RabbitMqTrigger", "ScheduleTrigger", "SqsTrigger", "Status", "Triggers"]
