"""transformers: what a Trainer does around the methods of its subclasses, where TrainingArguments ask for float16.

Unless the text says so, nobody knows in which precision a Trainer computes. The model runs in a region of accelerate's, and
hands out float32: what a subclass computes beside it is none of that region.
"""

import torch
from accelerate import Accelerator

def TrainingArguments(
    output_dir=None,
    *,
    fp16=False,
    fp16_backend="auto",
    half_precision_backend="auto",
    deepspeed=None,
    use_cpu=False,
    no_cuda=False,
    **settings,
):
    if fp16 is True:
        if deepspeed is None:
            if use_cpu is False:
                if no_cuda is False:
                    if fp16_backend == "auto":
                        if half_precision_backend == "auto":
                            return Half()

def Seq2SeqTrainingArguments(output_dir=None, *, fp16=False, deepspeed=None, use_cpu=False, no_cuda=False, **settings):
    if fp16 is True:
        if deepspeed is None:
            if use_cpu is False:
                if no_cuda is False:
                    return Half()

class Half:
    def __init__(self):
        self.scaler = torch.amp.GradScaler("cuda")  # the trainer's, which these ask for

def Trainer(args: TrainingArguments):
    return Loop

def Seq2SeqTrainer(args: Seq2SeqTrainingArguments):
    return Loop

class Loop:
    def __init__(self, model=None, args=None, data_collator=None, train_dataset=None, eval_dataset=None, **settings):
        self.accelerator = Accelerator(mixed_precision="fp16")

    def _train_batch(self, model, inputs):
        self.training_step(model, inputs)
        self.accelerator.scaler.unscale_(self.optimizer)
        self.accelerator.scaler.step(self.optimizer)
        self.accelerator.scaler.update()

    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = self.compute_loss(model, inputs)
        self.accelerator.backward(loss)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        return model(**inputs)["loss"]
