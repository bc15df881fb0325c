"""The ground floor: vocabulary, evidence, the transition table, the fold. Standard library only.

Nothing here reads a clock, makes an id, touches a file or writes a log line: given the same events
the core gives the same record, on every machine and for ever.
"""
