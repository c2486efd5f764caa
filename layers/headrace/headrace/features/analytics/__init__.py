"""Totals, rates and unique users of any window, exact, from aggregates that are computed once.

A *slot* is one closed step of a stream: a minute, ten minutes, an hour or a day (UTC). Its aggregate is read from the
table once and kept in the cache; longer ones are merged from shorter ones. A window is a few slots and two live edges.
"""
