"""Says which rows of declared streams no stream claims, because a file was removed from the folder ``streams``."""

from __future__ import annotations

import logging
from collections import Counter
from contextlib import closing
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError

from localstage.client.errors import ClientError as RequestError
from localstage.client.http_api import HttpApi
from localstage.client.tokens import Token
from localstage.core.errors import StageError
from localstage.core.statefile import StateFile
from localstage.rows import table_of

TABLE, KEY = "DeclaredTable", "streamKey"
"""The table of declared streams. The values of its partition key begin with the name of a stream and ``#``."""

log = logging.getLogger("localstage.stage")


def say_unclaimed(state_dir: Path) -> None:
    """Log a warning for each stream that has rows and is declared no more. It reads the whole table."""
    try:
        state = StateFile(state_dir)
        running, table = state.read(), table_of(state.variables(), TABLE)
        pages = table.meta.client.get_paginator("scan").paginate(TableName=table.name, ProjectionExpression=KEY)
        rows = Counter(row[KEY].partition("#")[0] for page in pages for row in page["Items"])
        if not rows:
            return
        token = Token(running.token_url, "localstage", ["analytics:read"])
        with closing(HttpApi(running.http_url, token)) as api:
            declared = {each["name"] for each in api.get("/streams")["items"]}
    except (BotoCoreError, ClientError, RequestError, StageError) as error:
        log.debug("rows that no stream claims are not known: %s", error)
        return
    for name in sorted(rows.keys() - declared):
        found = f"{TABLE} has {rows[name]:,} rows of {name!r}, which no file of streams/ declares"
        log.warning("%s; they stay, and are shown again when a file declares it", found)
