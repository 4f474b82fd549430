"""The labelling page: a server for the browser, active learning behind it, every answer durable."""
