"""The stream ``ski``: lift rides, resorts and their seasons, and counts of a resort's day."""
