"""What float16 can hold, as messages and notes write it."""

from __future__ import annotations

from amplint.model.literals import number_text
from amplint.model.torch.precision import FLOAT16, LIMITS

VANISHING = number_text(LIMITS[FLOAT16].vanishing, 3)
"""Positive numbers up to this one round to zero."""
LARGEST = number_text(LIMITS[FLOAT16].largest)
"""The largest number of float16."""
