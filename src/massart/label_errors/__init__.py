"""Labels that are probably wrong, found in one pass, because each row is predicted before it is learned."""

from massart.label_errors.diagnosis import Diagnosis
from massart.label_errors.places import Place
from massart.label_errors.run import diagnose
from massart.label_errors.suspects import Suspect

__all__ = ["Diagnosis", "Place", "Suspect", "diagnose"]
