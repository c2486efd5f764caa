"""Two functions in the place of persist_events, as published servers of this kind store rides.

They are what is compared, and no part of the platform: they have neither retries nor dead letters.
"""
