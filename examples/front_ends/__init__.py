"""Two chat pages of other people's making, each with our card beside its own part: one on the AI SDK, one on AG-UI."""
