"""Measured, not claimed: what this package does beside what others do, in one run, as ratios.

``python -m bench`` runs everything there is; ``python -m bench.ledger`` one part. Read the ratios: single figures move with the machine.
"""
