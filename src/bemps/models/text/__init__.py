"""Text models that are fine-tuned (needs torch and transformers)."""
