"""A model checker for decisions: every order of what people, clocks and workers can do with two calls, on the real code.

``world`` is one moment (the record, the clock, who works), ``steps`` is what can happen next, ``laws`` is what must hold in every moment
and across every step, ``search`` walks them all, breadth first. ``python -m toolwitness.testing.model --depth 6`` runs it.
"""
