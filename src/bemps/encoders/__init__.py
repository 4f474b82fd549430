"""Frozen text encoders without torch: their weights, and vectors of texts by onnxruntime."""

from bemps.encoders.onnx_text import OnnxTextEncoder as OnnxTextEncoder
from bemps.encoders.weights import TEXT_ENCODERS as TEXT_ENCODERS
from bemps.encoders.weights import download_weights as download_weights
from bemps.encoders.weights import find_weights as find_weights
