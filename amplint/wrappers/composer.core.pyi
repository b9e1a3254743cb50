"""composer.core: the callback that a Trainer calls."""

from composer import Callback as Callback
