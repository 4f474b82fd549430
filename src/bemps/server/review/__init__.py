"""What panels that look back ask of the model: doubted labels, goals, and a map of the items."""
