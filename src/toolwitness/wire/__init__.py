"""What the bytes say: framing, JSON as it came, canonical JSON, and which call an id means. Standard library only."""
