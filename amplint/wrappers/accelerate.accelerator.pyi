"""accelerate.accelerator: where accelerate has its accelerator from."""

from accelerate import Accelerator as Accelerator
