# coding: mac_arabic
import torch

scaler = torch.cuda.amp.GradScaler()
