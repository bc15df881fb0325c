"""What every emitter needs to say our record in somebody else's stream: the moves of a task as they come, beside a stream that goes on."""
