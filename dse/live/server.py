"""The server of an open study: its page on the loopback, for whom the user gives the address."""

from __future__ import annotations

import json
import secrets
import signal
import socket
import sys
import tempfile
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from importlib.resources import files
from os import environ
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from dse.live.controls import list_controls
from dse.live.session import Session
from dse.problems import InputError, Problem
from dse.report.page_assets import policy, style

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

_LARGEST = 1 << 20  # bytes of a request
_PARTS = {"inputs", "limits"}


def serve(source: Path, port: int, announce: Callable[[str], None]) -> None:
    """Serve the page of a study or a run until Ctrl-C.

    `port`: the port on 127.0.0.1; 0 for a free one.

    InputError if the study cannot be used, the port is taken, or a package is missing.
    """
    try:
        import uvicorn
    except ImportError:
        remedy = "pip install 'dse-accelerators[open]'"
        raise InputError("dse open", [Problem("", "needs starlette and uvicorn", remedy)]) from None
    with tempfile.TemporaryDirectory(prefix="dse-open-") as workspace, _listener(port) as listener:
        session = Session(source, Path(workspace))
        try:
            token, port = secrets.token_urlsafe(24), listener.getsockname()[1]
            app = make_app(session, token, port)
            config = uvicorn.Config(
                app, log_level="warning", access_log=False, timeout_graceful_shutdown=1
            )
            address = f"http://127.0.0.1:{port}/{token}/"
            announce(address)
            if environ.get("DISPLAY") or sys.platform == "darwin":
                webbrowser.open(address)
            with suppress(KeyboardInterrupt):
                signal.signal(signal.SIGTERM, signal.default_int_handler)
                uvicorn.Server(config).run(sockets=[listener])
        finally:
            session.close()


def _listener(port: int) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as error:
        message = f"{port} cannot be used: {error.strerror or error}"
        remedy = "give another port, or leave the option out"
        raise InputError("dse open", [Problem("--port", message, remedy)]) from None


def make_app(session: Session, token: str, port: int) -> ASGIApp:
    """Return the application: a page, its data and the reports, below the token.

    Whoever does not know the token, or comes from the page of another host, gets 403.
    """
    from starlette.applications import Starlette
    from starlette.responses import FileResponse, HTMLResponse, JSONResponse
    from starlette.routing import Route

    headers = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}

    async def page(_: Request) -> Response:
        return HTMLResponse(_page(session), headers=headers)

    async def state(_: Request) -> Response:
        return JSONResponse(asdict(session.state), headers=headers)

    async def controls(_: Request) -> Response:
        return JSONResponse([asdict(each) for each in list_controls(session.study)])

    async def points(request: Request) -> Response:
        found = {"before": session.before, "provisional": session.provisional}
        return JSONResponse(found[request.path_params["which"]], headers=headers)

    async def report(request: Request) -> Response:
        path = session.report_of(request.path_params["number"])
        if not path.is_file():
            return JSONResponse({"problem": "a newer report has replaced it"}, 404)
        return FileResponse(path, media_type="text/html", headers=headers)

    async def change(request: Request) -> Response:
        content = await _read_changes(request)
        if content is None:
            return JSONResponse({"problem": "the changes are not inputs and limits by name"}, 400)
        session.change(content)
        return JSONResponse(asdict(session.state))

    routes = [
        Route(f"/{token}/", page),
        Route(f"/{token}/state", state),
        Route(f"/{token}/controls", controls),
        Route(f"/{token}/points/{{which}}", points),
        Route(f"/{token}/report/{{number:int}}", report),
        Route(f"/{token}/change", change, methods=["POST"]),
    ]
    return _guarded(Starlette(routes=routes), token, port)


async def _read_changes(request: Request) -> dict[str, dict[str, Any]] | None:
    """Return the changes in the body of a request; None if it has none."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _LARGEST:
            return None
    try:
        content = json.loads(body)
    except ValueError:
        return None
    if not isinstance(content, dict) or not content.keys() <= _PARTS:
        return None
    values = [
        value for part in content.values() if isinstance(part, dict) for value in part.values()
    ]
    if not all(isinstance(part, dict) for part in content.values()):
        return None
    return content if all(isinstance(value, str | int | float) for value in values) else None


def _guarded(app: ASGIApp, token: str, port: int) -> ASGIApp:
    """Return an application that answers only requests with the token, from its pages."""
    from starlette.datastructures import Headers
    from starlette.responses import PlainTextResponse

    hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
    origins = {None, *(f"http://{host}" for host in hosts)}

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            given = scope["path"].split("/")[1]
            known = secrets.compare_digest(given.encode(), token.encode())
            if (
                not known
                or headers.get("host") not in hosts
                or headers.get("origin") not in origins
            ):
                refusal = PlainTextResponse("forbidden: use the address that dse open prints", 403)
                await refusal(scope, receive, send)
                return
        await app(scope, receive, send)

    return guarded


def _page(session: Session) -> str:
    script = _own("page.js")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    return environment.from_string(_own("page.html")).render(
        name=session.study.name,
        source=str(session.source),
        style=style(),
        policy=f"{policy([script])}; connect-src 'self'; frame-src 'self'",
        script=Markup(script),  # noqa: S704 (our own file)
    )


def _own(name: str) -> str:
    return files("dse.live").joinpath(name).read_text(encoding="utf-8")
