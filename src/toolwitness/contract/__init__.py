"""The documents and the envelope that cross our border: built as plain dicts, read by models, published as JSON
Schemas.

What the room promises about JSON: a value is never silently changed. What comes in is refused, by name and place,
where two readers could read it differently: NaN and infinities, duplicate keys, numbers that no double holds, halves
of surrogate pairs. Integers keep all their digits, of any length. Fields that we do not know are kept, at every
level. What goes out is UTF-8; a lone surrogate that a foreign value holds goes out as its JSON escape, and a number
that is not finite is an error.
"""
