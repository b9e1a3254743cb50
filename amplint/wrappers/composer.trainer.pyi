"""composer.trainer: the Trainer."""

from composer import Trainer as Trainer
