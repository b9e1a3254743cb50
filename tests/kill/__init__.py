"""The campaign of kills: what becomes of files while they are fixed and the worst happens."""
