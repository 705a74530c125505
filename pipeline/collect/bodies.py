"""The body of an answer, of which no more is read than is wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aiohttp import ClientResponse


async def body_of(response: ClientResponse, *, most: int) -> bytes:
    """The body, read as it comes; of one that is longer than wanted, one byte more, and the connection is closed."""
    body = bytearray()
    async for piece in response.content.iter_any():
        body += piece[: most + 1 - len(body)]
        if len(body) > most:
            response.close()
            break
    return bytes(body)
