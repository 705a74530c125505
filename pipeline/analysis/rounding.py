"""How far from equal doubles may be that are equal but for rounding."""

from __future__ import annotations

NOISE = 1e-12
"""What is left of a difference that is none when sums are rounded, relative to values of about 1 or to the sums."""
