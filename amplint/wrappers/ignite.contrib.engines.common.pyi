"""ignite.contrib.engines.common: handlers that are set up together, among them a checkpoint of what is to be saved."""

from ignite.handlers import Checkpoint

class setup_common_training_handlers(Checkpoint):
    def __init__(self, trainer, train_sampler=None, to_save=None, save_every_iters=1000, output_path=None, **settings):
        self.to_save = to_save
