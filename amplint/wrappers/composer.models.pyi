"""composer.models: the model that a Trainer drives."""

from composer import ComposerClassifier as ComposerClassifier
from composer import ComposerModel as ComposerModel
