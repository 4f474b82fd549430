"""The requests that the labelling page makes: items, answers, panels, results."""
