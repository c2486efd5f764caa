"""Chat: generated conversations, IRC logs, their replay and the Locust load."""
