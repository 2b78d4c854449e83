"""The version of tlagrid, read by the build and recorded in every verdict."""

__version__ = "0.1.0"
