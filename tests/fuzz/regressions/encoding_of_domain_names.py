# coding: punycode
scaler = GradScaler()
-
