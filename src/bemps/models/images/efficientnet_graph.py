"""EfficientNet-Lite0 as an ONNX graph: programs without torch make the same vectors with it."""

from typing import Any

from torch import nn

from bemps.models.encoders.onnx_graph import OnnxGraph
from bemps.models.images.efficientnet import HalvingConv, LiteNetwork

IMAGES, VECTORS = "images", "vectors"
AXES = ("batch", "channels", "height", "width")


def efficientnet_graph(network: LiteNetwork) -> bytes:
    """Return the serialised graph, from normalised images (batch, 3, side, side) to vectors.

    Parameters
    ----------
    network : LiteNetwork
        The network, its normalisations folded into the convolutions.
    """
    graph, parts = OnnxGraph(), dict(network.named_children())
    maps = _convolved(graph, IMAGES, parts["_conv_stem"])
    blocks: Any = parts["_blocks"]
    for block in blocks:
        maps = _block(graph, maps, block)
    maps = graph.node("GlobalAveragePool", _convolved(graph, maps, parts["_conv_head"]))
    graph.node("Flatten", maps, output=VECTORS)
    return graph.serialised([IMAGES], [VECTORS], kind="float32", axes=AXES)


def _block(graph: OnnxGraph, maps: str, block: Any) -> str:
    layers = dict(block.named_children())
    inner = _convolved(graph, maps, layers["_expand_conv"]) if block.expands else maps
    inner = _convolved(graph, inner, layers["_depthwise_conv"])
    inner = _convolved(graph, inner, layers["_project_conv"], bounded=False)
    return graph.node("Add", inner, maps) if block.adds else inner


def _convolved(graph: OnnxGraph, maps: str, layer: Any, *, bounded: bool = True) -> str:
    """A convolution, and ReLU6 where its result is bounded."""
    weights = [graph.constant(part.detach().cpu().numpy()) for part in (layer.weight, layer.bias)]
    result = graph.node(
        *("Conv", maps, *weights), pads=_pads(layer), strides=list(layer.stride), group=int(layer.groups)
    )
    return graph.node("Clip", result, graph.scalar(0.0), graph.scalar(6.0)) if bounded else result


def _pads(layer: nn.Conv2d) -> list[int]:
    """Above, left, below, right."""
    if isinstance(layer, HalvingConv):
        before = (layer.kernel_size[0] - 2) // 2
        return [before, before, layer.kernel_size[0] - 2 - before, layer.kernel_size[0] - 2 - before]
    return [int(layer.padding[0])] * 4
