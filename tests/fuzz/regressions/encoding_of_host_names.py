# -*- coding: idna -*-
train_one_epochmodelGradScaler, batches:
