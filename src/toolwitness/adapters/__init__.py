"""What other people's runtimes say, in our words: recorders, readers and emitters, one framework a room.

Each is a stranger to the next. Each opens with its mapping table as data, and its page in the docs is made from that table.
"""
