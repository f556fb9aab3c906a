"""Reproduction of the CG-DCA paper: `fedbn reproduce cg-dca`."""
