"""House rules of one team for mixed precision: one module for each rule."""
