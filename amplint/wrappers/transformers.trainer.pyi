"""transformers.trainer: where transformers has its trainer from."""

from transformers import Trainer as Trainer
