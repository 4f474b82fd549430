"""Frozen text encoders without torch: their weights, and vectors of texts by onnxruntime."""

from bemps.models.encoders.encoder_table import TEXT_ENCODERS as TEXT_ENCODERS
from bemps.models.encoders.onnx_text import OnnxTextEncoder as OnnxTextEncoder
from bemps.models.encoders.weight_files import download_weights as download_weights
from bemps.models.encoders.weight_files import find_weights as find_weights
