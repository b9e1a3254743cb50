"""timm.utils.clip_grad: where timm.utils has its ways of clipping from."""

from timm.utils import dispatch_clip_grad as dispatch_clip_grad
