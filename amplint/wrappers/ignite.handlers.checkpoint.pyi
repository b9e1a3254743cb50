"""ignite.handlers.checkpoint: where ignite.handlers has its checkpoint from."""

from ignite.handlers import Checkpoint as Checkpoint
