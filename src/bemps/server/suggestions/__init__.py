"""Suggested labels: from the model, from a column of the file, or from a server that speaks OpenAI's chat protocol."""
