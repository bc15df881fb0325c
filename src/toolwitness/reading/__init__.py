"""What every reader of other people's streams needs: the row of a mapping table, the pen, the book of calls, and how they end."""
