"""From rows to a model file: passes, progress, checkpoints, predictions."""

from massart.training.opening import is_complete, open_training
from massart.training.predicting import Predicted, predict_file
from massart.training.run import Training
from massart.training.settings import Every, Settings
from massart.training.summary import Summary
from massart.training.watching import Step, Watcher

__all__ = [
    "Every",
    "Predicted",
    "Settings",
    "Step",
    "Summary",
    "Training",
    "Watcher",
    "is_complete",
    "open_training",
    "predict_file",
]
