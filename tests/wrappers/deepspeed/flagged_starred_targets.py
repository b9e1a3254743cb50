import deepspeed

CONFIG = {"fp16": {"enabled": True}}


def engine_and_the_rest(model, loader, criterion):
    engine, *_ = deepspeed.initialize(model=model, config=CONFIG)
    for inputs, labels in loader:
        loss = criterion(engine(inputs), labels)
        loss.backward()  # expect: AMP103 none
        engine.step()


class Trainer:
    def __init__(self, model, loader):
        self.loader = loader
        self.engine, *self.others = deepspeed.initialize(model=model, config=CONFIG)

    def train(self, criterion):
        for inputs, labels in self.loader:
            loss = criterion(self.engine(inputs), labels)
            loss.backward()  # expect: AMP103 none
            self.engine.step()
