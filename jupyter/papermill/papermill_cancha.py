"""Lets papermill write parameters for notebooks in Go:

    papermill in.ipynb out.ipynb -p matches 5 -y '{teams: [Nieves FC, Villa Cobre]}'

The cell tagged "parameters" declares them (matches := 20); the one that papermill puts in after it assigns other values, so that a
name which the notebook does not declare, or a value of another type, is a compile error that names it. Installing this module is
enough: papermill loads it when it starts.
"""
import papermill  # noqa: F401  first, since it loads the module below while it is itself being loaded

from _papermill_cancha import CanchaEngine, GoTranslator

__all__ = ["CanchaEngine", "GoTranslator"]
