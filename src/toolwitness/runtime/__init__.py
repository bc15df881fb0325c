"""The rooms where tool bodies really run: the guard of one body, and the runtimes that start bodies."""
