"""The console page: the elements, and the data for their first paint in the page itself."""

from html import escape
from importlib.resources import files
from typing import Any, Final

import orjson
from starlette.responses import HTMLResponse, Response

_CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'self'"
)
"""No code and no request but our own. Styles of custom elements are adopted sheets; some browsers count them as inline."""

_PAGE: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="{base}/static/toolwitness.css">
<script type="application/json" id="tw-boot">{boot}</script>
<script type="module" src="{base}/static/toolwitness.js"></script>
<tool-console></tool-console>
<noscript>This page draws recorded facts with script. The same facts as JSON: <a href="{base}/api/tasks">tasks</a>.</noscript>
"""


def console(title: str, boot: dict[str, Any], *, base: str) -> HTMLResponse:
    """Make the console page with ``boot`` as the data of its first paint."""
    data = orjson.dumps(boot).decode()
    # In a script element only "<" can end it or open a comment: escaped, no recorded text can.
    safe = data.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    html = _PAGE.format(title=escape(title), base=escape(base, quote=True), boot=safe)
    return HTMLResponse(html, headers={"Content-Security-Policy": _CSP, "Cache-Control": "no-store", "Referrer-Policy": "no-referrer"})


def not_signed_in(*, base: str) -> HTMLResponse:
    """Make the page for somebody whom nobody knows, with what to do next."""
    html = (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
        "<title>toolwitness: not signed in</title>"
        f'<link rel="stylesheet" href="{escape(base, quote=True)}/static/toolwitness.css">'
        '<main class="tw-plain"><h1>Nobody is signed in here</h1><p>The address that toolwitness prints when it starts holds a token. It opens one '
        "session, once. Copy that address from the terminal; if it was used already, start the server again for a new one.</p></main>"
    )
    return HTMLResponse(html, status_code=401, headers={"Content-Security-Policy": _CSP, "Cache-Control": "no-store"})


def asset(name: str) -> Response:
    """Give one built file of the elements."""
    kinds = {".js": "text/javascript", ".css": "text/css"}
    suffix = next((s for s in kinds if name.endswith(s)), "")
    file = files("toolwitness.server") / "static" / name
    if not suffix or "/" in name or not file.is_file():
        return Response("The elements are not built. Run `make web`, or install a wheel.\n", status_code=404, media_type="text/plain")
    return Response(file.read_bytes(), media_type=kinds[suffix], headers={"Cache-Control": "no-cache"})
