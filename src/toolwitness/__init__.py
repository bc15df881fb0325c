"""What your users see is what happened: a truthful record of an agent's tool calls."""
