"""``quantization_config`` of a config.json: the number format of weights of products, and which modules are left out.

- ``mxfp4``: gpt-oss, whose experts alone are so (transformers.integrations.mxfp4);
- ``gptq``, ``awq``: groups along the inputs of a product with a scale of fp16, and a zero of the element's type in all
  but AWQ files without one (AutoGPTQ packs zeros of symmetric groups too);
- ``fp8``: e4m3 with one scale for a tensor, which is multiplied into the product's sums.

Formats of others, and blocks of rows and columns, which no format here has, are refused by name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatch

from archsim.facts.number_formats import MOST_BLOCK
from archsim.frontend.configs.fields import ConfigFields

KEY = "quantization_config"
LEFT_OUT = ("lm_head",)  # which these methods leave out unless told otherwise
_EXPERTS = "experts"
_SCHEME = "activation_scheme"
_NEUTRAL = (  # how weights were quantised, or which kernel runs them
    "backend", "checkpoint_format", "damp_percent", "do_fuse", "dequantize", "fmt",
    "fuse_max_seq_len",
    "meta", "model_file_base_name", "model_name_or_path", "modules_to_fuse", "pack_dtype", "static_groups",
    "true_sequential", "use_exllama", "exllama_config", "version", "is_marlin_format", "batch_size", "dataset",
)  # fmt: skip


@dataclass(frozen=True)
class WeightFormats:
    """``text`` is the format of weights of products; ``left_out``: patterns of modules; ``within``: a part of the paths
    of those that it holds for, '' for all; ``warning``: what the file says beside that nothing here does, or ''."""

    text: str
    left_out: tuple[str, ...] = ()
    within: str = ""
    warning: str = ""

    def of(self, module: str) -> str:
        """The format of the weights of a module, '' where it is left out."""
        if self.within and self.within not in module.split("."):
            return ""
        inside = f".{module}."
        return "" if any(fnmatch(inside, f"*.{pattern}.*") for pattern in self.left_out) else self.text


def weight_formats(fields: ConfigFields) -> WeightFormats | None:
    """What a file says of the formats of weights; None where it says nothing. Raises ModelError."""
    if not fields.has(KEY):
        return None
    found = fields.inner(KEY)
    method = found.word("quant_method", None, tuple(METHODS))
    stated = METHODS[method](found)
    for key in _NEUTRAL:
        found.has(key)
    found.finish()
    return stated


def _left_out(found: ConfigFields) -> tuple[str, ...]:
    key = "modules_to_not_convert"
    return (*LEFT_OUT, *(found.names(key) if found.has(key) else ()))


def _mxfp4(found: ConfigFields) -> WeightFormats:
    return WeightFormats("fp4_e2m1/32:e8m0", _left_out(found), _EXPERTS)


def _groups(found: ConfigFields, *, has_zero: bool) -> WeightFormats:
    bits = found.size("bits", low=2, high=8)
    if bits not in (4, 8):
        found.wrong("bits", "4 or 8: other elements have no format here")
    group = found.size("group_size", low=2, high=MOST_BLOCK)
    return WeightFormats(f"int{bits}/{group}:fp16{'+z' if has_zero else ''}", _left_out(found))


def _gptq(found: ConfigFields) -> WeightFormats:
    found.only("desc_act", False, "groups follow one another along the inputs")
    found.only("lm_head", False, "the last product is left out")
    found.flag("sym", True)
    return _groups(found, has_zero=True)


def _awq(found: ConfigFields) -> WeightFormats:
    return _groups(found, has_zero=found.flag("zero_point", True))


def _fp8(found: ConfigFields) -> WeightFormats:
    if found.has("weight_block_size"):
        shown = " x ".join(map(str, found.sizes("weight_block_size")))
        found.fail(
            "weight_block_size",
            f"has blocks of {shown} elements that share a scale; formats here have blocks along one axis: remove "
            "quantization_config, and state --dtype weights=fp8_e4m3/128:fp32 for such blocks of each row",
        )
    scheme, warning = found.word(_SCHEME, "", ("", "static", "dynamic")), ""
    if scheme:
        warning = (
            f"{KEY}.{_SCHEME} '{scheme}' is not timed: activations are in the chip's format, or in that of --dtype, "
            "such as a=fp8"
        )
    return WeightFormats("fp8", _left_out(found), warning=warning)


METHODS: dict[str, Callable[[ConfigFields], WeightFormats]] = {
    "awq": _awq, "fp8": _fp8, "gptq": _gptq, "mxfp4": _mxfp4,
}  # fmt: skip
