"""Analytics: totals, series and top lists of any window of a stream, from counts that are kept by *slots* of time."""

from headrace.core.feature import Feature

FEATURE = Feature(name="analytics", parts={"late": "late_events"}, functions=("read_analytics",))
