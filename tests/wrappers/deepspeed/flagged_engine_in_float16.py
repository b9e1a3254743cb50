import argparse

import deepspeed
import torch
from torch.optim.lr_scheduler import OneCycleLR

CONFIG = {"train_micro_batch_size_per_gpu": 8, "fp16": {"enabled": True, "initial_scale_power": 16}}


def schedule_beside_the_engine(model, dataset, criterion, steps):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    scheduler = OneCycleLR(optimizer, max_lr=1e-3, total_steps=steps)
    engine, optimizer, loader, _ = deepspeed.initialize(
        model=model, optimizer=optimizer, model_parameters=model.parameters(), training_data=dataset, config=CONFIG
    )
    for inputs, labels in loader:
        loss = criterion(engine(inputs), labels)
        engine.backward(loss)
        engine.step()
        scheduler.step()  # expect: AMP107 none


def backward_around_the_engine(model, dataset, criterion):
    engine, _, loader, _ = deepspeed.initialize(model=model, training_data=dataset, config_params=CONFIG)
    for inputs, labels in loader:
        loss = criterion(engine(inputs), labels)
        loss.backward()  # expect: AMP103 none
        engine.step()


class Trainer:
    def __init__(self, model, dataset, args: argparse.Namespace):
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
        self.scheduler = OneCycleLR(self.optimizer, max_lr=args.lr, total_steps=args.steps)
        config = {
            "train_micro_batch_size_per_gpu": args.batch_size,
            "bf16": {"enabled": args.dtype == "bf16"},
            "fp16": {"enabled": args.dtype == "fp16"},
        }
        self.engine, self.optimizer, self.loader, _ = deepspeed.initialize(
            model=model, optimizer=self.optimizer, training_data=dataset, config=config
        )

    def train(self, criterion):
        for inputs, labels in self.loader:
            self.engine.backward(criterion(self.engine(inputs), labels))
            self.engine.step()
            self.scheduler.step()  # expect: AMP107 none
