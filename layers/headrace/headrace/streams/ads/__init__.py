"""The stream ``ads``: clicks on ads, their history and their counts."""
