"""A real MCP server with OAuth: FastMCP with its in-memory provider, which registers clients and gives short-lived tokens.

    python server.py

The resource and its authorization server listen on ports of their own, so that one can be down without the other. The first
line of output tells where; then each line of input is a command, answered by one line of JSON. The end of the input ends it.
"""

import asyncio
import json
import os
import socket
import sys
import time
from urllib.parse import parse_qs

import uvicorn
from fastmcp import FastMCP
from fastmcp.server.auth.auth import ClientRegistrationOptions, RevocationOptions
from fastmcp.server.auth.providers import in_memory
from fastmcp.server.dependencies import get_access_token

HOST = "127.0.0.1"
# Paths of the authorization server whose requests are recorded.
RECORDED = ("/register", "/authorize", "/token", "/revoke")


class Recorder:
    """Writes down requests with their statuses, and answers token requests with 503 while the server is "in trouble"."""

    def __init__(self, app):
        self.app = app
        self.requests = []
        self.is_in_trouble = False

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http" or scope["path"] not in (*RECORDED, "/mcp"):
            await self.app(scope, receive, send)
            return
        entry = {"path": scope["path"], "method": scope["method"], "at": time.time()}
        self.requests.append(entry)
        if scope["path"] in RECORDED:
            receive = await self.read(entry, scope, receive)
        answer = bytearray()

        async def sent(message):
            if message["type"] == "http.response.start":
                entry["status"] = message["status"]
            elif scope["path"] in RECORDED:
                answer.extend(message.get("body", b""))
                entry["answer"] = answer.decode()
            await send(message)

        if self.is_in_trouble and scope["path"] in RECORDED:
            await sent({"type": "http.response.start", "status": 503, "headers": []})
            await sent({"type": "http.response.body", "body": b"not now"})
        else:
            await self.app(scope, receive, sent)

    @staticmethod
    async def read(entry, scope, receive):
        """Reads the whole request, and returns what the application receives in its place."""
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        sent = body if scope["method"] == "POST" else scope["query_string"]
        entry["form"] = {name: values[0] for name, values in parse_qs(sent.decode()).items()}
        messages = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def replay():
            return next(messages, None) or await receive()

        return replay


class Port:
    """A port that can stop listening and listen again."""

    def __init__(self, app, lifespan):
        self.app, self.lifespan = app, lifespan
        self.socket = self.bind(0)
        self.number = self.socket.getsockname()[1]
        self.server = self.serving = None

    @staticmethod
    def bind(number):
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, number))
        return listener

    async def up(self):
        self.socket = self.socket or self.bind(self.number)
        config = uvicorn.Config(self.app, lifespan=self.lifespan, log_level="warning", timeout_graceful_shutdown=1)
        self.server = uvicorn.Server(config)
        self.serving = asyncio.create_task(self.server.serve([self.socket]))
        while not self.server.started:
            await asyncio.sleep(0.01)

    async def down(self):
        self.server.should_exit = True
        await self.serving
        self.socket.close()
        self.socket = None


class Late:
    """Stands for an application that is made once its ports are known."""

    app = None

    async def __call__(self, scope, receive, send):
        await self.app(scope, receive, send)


def application(provider):
    server = FastMCP("oauth", auth=provider)

    @server.tool(annotations={"readOnlyHint": True, "openWorldHint": False})
    async def whoami() -> str:
        """Says which client this is."""
        return get_access_token().client_id

    @server.tool(annotations={"readOnlyHint": True, "openWorldHint": False})
    async def add(a: int, b: int, seconds: float = 0) -> int:
        """Adds, after some seconds."""
        await asyncio.sleep(seconds)
        return a + b

    @server.tool(annotations={"readOnlyHint": True, "openWorldHint": False})
    async def expire() -> None:
        """Ends all access tokens at once, also the one of this call."""
        provider.access_tokens.clear()

    return server.http_app(path="/mcp")


def forget(provider):
    """As if the server had started again: it remembers nobody."""
    for memory in (provider.clients, provider.access_tokens, provider.refresh_tokens):
        memory.clear()


async def main():
    late = Late()
    resource, authorization = Port(late, "on"), Port(late, "off")
    provider = in_memory.InMemoryOAuthProvider(
        base_url=f"http://{HOST}:{authorization.number}",
        resource_base_url=f"http://{HOST}:{resource.number}",
        client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=["use"], default_scopes=["use"]),
        revocation_options=RevocationOptions(enabled=True),
        required_scopes=["use"],
    )
    late.app = recorder = Recorder(application(provider))
    await resource.up()
    await authorization.up()

    async def command(line):
        name, *words = line.split()
        match name:
            case "requests":
                return recorder.requests
            case "tokens":
                return {"access": list(provider.access_tokens), "refresh": list(provider.refresh_tokens)}
            case "lifetime":
                in_memory.DEFAULT_ACCESS_TOKEN_EXPIRY_SECONDS = int(words[0])
            case "expire":
                provider.access_tokens.clear()
            case "revoke":
                provider.refresh_tokens.clear()
            case "forget":
                forget(provider)
            case "trouble":
                recorder.is_in_trouble = True
            case "down":
                await authorization.down()
            case "up":
                recorder.is_in_trouble = False
                if authorization.socket is None:
                    await authorization.up()
            case _:
                raise ValueError(line)
        return None

    urls = {"url": f"http://{HOST}:{resource.number}/mcp", "issuer": f"http://{HOST}:{authorization.number}"}
    print(json.dumps(urls), flush=True)
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        print(json.dumps(await command(line)), flush=True)
    # Open streams would hold a graceful end up.
    os._exit(0)


asyncio.run(main())
