"""Measures analytics , questions asked first, and single slots of analytics."""
