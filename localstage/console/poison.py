"""Makes a record that can never be stored, so that one sees what becomes of it."""

from __future__ import annotations

import uuid

import aiohttp

from localstage.services.endpoints import Endpoints

_QUEUE = "persist.chat.0"


async def send_poison(endpoints: Endpoints) -> str:
    """Publish a text that is not JSON to the first queue of chat, as a broken program would; returns the text.

    Raises:
        aiohttp.ClientError: the broker does not take it.
    """
    text = f'{{"v": 1, "poison-{uuid.uuid4().hex[:8]}"'
    record = {
        "routing_key": _QUEUE,
        "payload": text,
        "payload_encoding": "string",
        "properties": {"delivery_mode": 2, "content_type": "application/json"},
    }
    login = {"Authorization": aiohttp.encode_basic_auth(endpoints.broker_username, endpoints.broker_password)}
    limit = aiohttp.ClientTimeout(total=5)
    async with aiohttp.ClientSession(headers=login, timeout=limit, raise_for_status=True) as session:
        url = f"{endpoints.broker_console_url}/api/exchanges/%2F/amq.default/publish"
        async with session.post(url, json=record) as answer:
            routed = (await answer.json())["routed"]
    if not routed:
        raise aiohttp.ClientError(f"the queue {_QUEUE} is away")
    return text
