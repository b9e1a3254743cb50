"""timm.utils.cuda: where timm.utils has its scaler from."""

from timm.utils import NativeScaler as NativeScaler
