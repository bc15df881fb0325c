"""Record → card: what a person reads about a call, in the browser and in the terminal alike. Pure.

Nothing here reads a clock or loads a value: the time and the bytes are passed in. Every claim on a card cites the evidence under it, and no
word is stronger than that evidence.
"""
