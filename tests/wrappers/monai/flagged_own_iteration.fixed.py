import torch
from monai.engines import SupervisedTrainer
from monai.utils.enums import CommonKeys


class ClippingTrainer(SupervisedTrainer):
    def _iteration(self, engine, batchdata):
        inputs, targets = engine.prepare_batch(batchdata, engine.state.device, engine.non_blocking)
        engine.network.train()
        engine.optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            outputs = engine.inferer(inputs, engine.network)
            loss = engine.loss_function(outputs, targets).mean()
        engine.scaler.scale(loss).backward()
        engine.scaler.unscale_(engine.optimizer)
        torch.nn.utils.clip_grad_norm_(engine.network.parameters(), 1.0)  # expect: AMP101 safe
        engine.scaler.step(engine.optimizer)
        engine.scaler.update()
        return {CommonKeys.LOSS: loss.item()}
