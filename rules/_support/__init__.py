"""What several rules share: how hazards are spelled, and the edits that fixes are made of."""
