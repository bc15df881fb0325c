"""Celery: its event stream, and what its result backend says, read as evidence. Nothing of Celery is imported."""

from toolwitness.adapters.celery.mapping import ADAPTER, CAPABILITIES, SECTIONS, TABLE, VERSION
from toolwitness.adapters.celery.reader import Reader

__all__ = ["ADAPTER", "CAPABILITIES", "SECTIONS", "TABLE", "VERSION", "Reader"]
