"""transformers.training_args: where transformers has the arguments of its trainer from."""

from transformers import TrainingArguments as TrainingArguments
