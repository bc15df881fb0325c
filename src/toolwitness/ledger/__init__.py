"""The append-only record: ``append``, ``read``, ``follow``. In memory, or in one SQLite file that several processes share."""
