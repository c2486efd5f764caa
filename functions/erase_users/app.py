"""Runs erasures of users in slices, from the queue of erasures."""

from headrace.features.people.erasure.slices import eraser
from headrace.features.people.erasures import Task
from headrace.features.people.jobs import slices

handler = slices(eraser, Task)
