# coding: undefined
scaler = GradScaler()
