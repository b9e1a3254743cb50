"""The words for what a replay can run on. Imports nothing: every command line is read with them at hand."""

from __future__ import annotations

AUTO, CUDA, EMULATED, CPU = "auto", "cuda", "cuda-emulated", "cpu"
CHOICES = (AUTO, CUDA, EMULATED, CPU)
"""What may be asked for; `auto` stands for the first of the others that is there."""
