"""The judge: what the tool bodies really did, read from a capture, against what a record claims about them.

``layout`` knows which files are captures and which reader reads them, ``episodes`` reads truth into runs of a body, ``claims`` sorts a
replay by call, ``false`` holds the table of false claims, ``score`` puts a number on one capture and ``running`` on a directory. The judge
knows documents and events; it knows no adapter.
"""
