import torch
from torch import nn
from transformers import Trainer, TrainingArguments


class LoggingTrainer(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = super().training_step(model, inputs, num_items_in_batch)
        norm = sum(each.grad.norm() ** 2 for each in model.parameters())  # expect: AMP102 none
        self.log({"grad_norm": norm.sqrt().item()})
        return loss


class ClippingTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        return nn.functional.cross_entropy(model(**inputs).logits, inputs["labels"])

    def training_step(self, model, inputs, num_items_in_batch=None):
        model.train()
        inputs = self._prepare_inputs(inputs)
        with self.compute_loss_context_manager():
            loss = self.compute_loss(model, inputs)
        self.accelerator.backward(loss)
        nn.utils.clip_grad_norm_(model.get_input_embeddings().parameters(), 0.1)  # expect: AMP101 none
        return loss.detach()


class PlainTrainer(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = self.compute_loss(model, self._prepare_inputs(inputs))
        loss.backward()  # expect: AMP103 none
        return loss.detach()


def main(model, train):
    args = TrainingArguments("out", fp16=torch.cuda.is_available(), max_grad_norm=1.0)
    LoggingTrainer(model=model, args=args, train_dataset=train).train()
