"""The house on the web: an ASGI app with the API, the live stream and the console page."""
