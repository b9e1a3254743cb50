"""How large is a defect? Figures of three runs: the code, the code with the fix, the reference."""
