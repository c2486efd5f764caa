"""Event source mappings and schedules: what invokes functions without a client."""
