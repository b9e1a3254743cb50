import torch
from monai.engines import GanTrainer, SupervisedEvaluator, SupervisedTrainer
from monai.handlers import CheckpointSaver, LrScheduleHandler, StatsHandler, ValidationHandler
from monai.losses import DiceLoss
from monai.networks.nets import UNet


def segment(train_loader, val_loader, device):
    net = UNet(spatial_dims=3, in_channels=1, out_channels=2, channels=(16, 32, 64), strides=(2, 2)).to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.1)
    evaluator = SupervisedEvaluator(device=device, val_data_loader=val_loader, network=net, amp=True)
    trainer = SupervisedTrainer(
        device=device,
        max_epochs=5,
        train_data_loader=train_loader,
        network=net,
        optimizer=optimizer,
        loss_function=DiceLoss(to_onehot_y=True, softmax=True),
        train_handlers=[
            LrScheduleHandler(lr_scheduler=scheduler, print_lr=True),
            ValidationHandler(validator=evaluator, interval=2, epoch_level=True),
            StatsHandler(tag_name="train_loss", output_transform=lambda output: output[0]["loss"]),
        ],
        amp=True,
    )
    saver = CheckpointSaver(
        save_dir="runs", save_dict={"net": net, "opt": optimizer, "scaler": trainer.scaler}, save_interval=1
    )
    saver.attach(trainer)
    trainer.run()


def adversarial(loader, generator, discriminator, device):
    g_optimizer = torch.optim.Adam(generator.parameters(), lr=2e-4)
    d_optimizer = torch.optim.Adam(discriminator.parameters(), lr=2e-4)
    criterion = torch.nn.BCEWithLogitsLoss()

    def generator_loss(fake):
        return criterion(discriminator(fake), torch.ones(fake.shape[0], 1, device=device))

    def discriminator_loss(fake, real):
        zeros = torch.zeros(fake.shape[0], 1, device=device)
        return criterion(discriminator(fake.detach()), zeros) + criterion(discriminator(real), zeros + 1)

    trainer = GanTrainer(
        device,
        10,
        loader,
        generator,
        g_optimizer,
        generator_loss,
        discriminator,
        d_optimizer,
        discriminator_loss,
        amp=True,
    )
    trainer.run()
