"""Makers of manifests: each reads one published or customary layout of problems and attempts."""
