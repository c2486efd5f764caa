"""Invokes functions without a client: event source mappings of RabbitMQ, SQS and streams of tables, and schedules."""

from localstage.triggers.pacing import Status
from localstage.triggers.rabbitmq import RabbitMqTrigger
from localstage.triggers.schedules import ScheduleTrigger
from localstage.triggers.sqs import SqsTrigger
from localstage.triggers.triggers import AwsAccess, Triggers

__all__ = ["AwsAccess", "RabbitMqTrigger", "ScheduleTrigger", "SqsTrigger", "Status", "Triggers"]
