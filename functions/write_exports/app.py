"""Runs exports in slices, from the queue of exports."""

from headrace.features.people.exports.slices import exporter
from headrace.features.people.exports.tasks import Task
from headrace.features.people.jobs import slices

handler = slices(exporter, Task)
