"""Puts the house together: the only room that knows all the others."""
