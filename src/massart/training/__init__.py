"""From rows to a model file: passes, progress, checkpoints, predictions."""

from massart.training.predict import Predicted, predict_file
from massart.training.progress import Callbacks, Step
from massart.training.run import Training
from massart.training.settings import Every, Settings
from massart.training.start import is_complete, open_training
from massart.training.summary import Summary

__all__ = [
    "Callbacks",
    "Every",
    "Predicted",
    "Settings",
    "Step",
    "Summary",
    "Training",
    "is_complete",
    "open_training",
    "predict_file",
]
