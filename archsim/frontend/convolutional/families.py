"""The families of convolutional classifiers by the ``model_type`` of their config.json."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from archsim.frontend.configs.asked import AskedParameters
from archsim.frontend.configs.fields import ConfigFields
from archsim.frontend.configs.module_graph import ModuleGraph
from archsim.frontend.convolutional import efficientnet, mobilenet_v2

FAMILIES: Mapping[str, Callable[[ModuleGraph, ConfigFields, AskedParameters], None]] = {
    "efficientnet": efficientnet.efficientnet,
    "mobilenet_v2": mobilenet_v2.mobilenet_v2,
}
