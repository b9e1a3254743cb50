import torch
from torch import nn
from transformers import Trainer, TrainingArguments


class WeightedTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        loss = nn.functional.cross_entropy(outputs.logits.float(), labels)
        return (loss, outputs) if return_outputs else loss

    def training_step(self, model, inputs, num_items_in_batch=None):
        model.train()
        inputs = self._prepare_inputs(inputs)
        with self.compute_loss_context_manager():
            loss = self.compute_loss(model, inputs)
        self.accelerator.backward(loss)
        return loss.detach() / self.args.gradient_accumulation_steps


class OwnClipTrainer(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        model.train()
        with self.compute_loss_context_manager():
            loss = self.compute_loss(model, self._prepare_inputs(inputs))
        self.accelerator.backward(loss)
        self.accelerator.clip_grad_norm_(model.parameters(), 1.0)  # the only `unscale_`: the trainer's own clip is off
        torch.nn.utils.clip_grad_norm_(model.get_input_embeddings().parameters(), 0.1)
        return loss.detach()


def main(model, train, evaluate, clips_itself):
    if clips_itself:
        args = TrainingArguments("out", fp16=True, max_grad_norm=0.0, gradient_accumulation_steps=1)
        OwnClipTrainer(model=model, args=args, train_dataset=train).train()
        return
    args = TrainingArguments("out", fp16=True, max_grad_norm=1.0, gradient_accumulation_steps=2)
    trainer = WeightedTrainer(model=model, args=args, train_dataset=train, eval_dataset=evaluate)
    trainer.train()
    trainer.save_model()
