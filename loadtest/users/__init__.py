"""The Locust users, one class for each thing that clients do."""
