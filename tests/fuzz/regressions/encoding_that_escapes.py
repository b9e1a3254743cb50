# coding: unicode_escape
import torch

scaler = torch.cuda.amp.GradScaler()
