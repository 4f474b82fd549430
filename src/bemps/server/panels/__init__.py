"""The content of the side panels: progress, team, keys."""
