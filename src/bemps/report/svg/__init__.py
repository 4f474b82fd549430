"""Figures as SVG, without a plotting library."""
