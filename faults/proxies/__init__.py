"""Proxies between a stage and its services, and the faults that they can cause."""
