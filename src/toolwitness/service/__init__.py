"""Commands: load, decide, append. One file a command; nothing here runs a tool or draws a screen."""
