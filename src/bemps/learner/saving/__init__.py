"""A learner as a folder of JSON and plain arrays, and back. Nothing in the folder is executed."""
