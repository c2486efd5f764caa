"""Ads: clicks on ads, and the questions about them."""

from headrace.core.feature import Feature

FEATURE = Feature(
    name="ads",
    needs=("analytics",),
    parts={
        "STREAM": "stream",
        "hash_address": "accepting",
        "known": "storing",
        "steps": "people",
        "sources": "people",
    },
    routes={"receive_http": "accepting"},
    functions=("read_ads",),
    tells=("click.stored", "click.taken-back"),
)
