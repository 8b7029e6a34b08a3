"""The fields of a config.json: read one by one by what needs them, and refused where nothing does.

Whoever builds a model asks for its fields here; a field that nobody asked for, and that is not in ``NEUTRAL``, is
refused by name, so that none that changes what is computed is passed over. Every refusal is a ModelError that names
file and key.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn

from archsim.base.errors import ModelError, nearest

MOST_BYTES = 4 << 20  # of a file; the longest published ones, with a thousand names of classes, have some 70 kB
MOST = 1 << 24  # of any size; the largest published vocabularies have 262,144 rows

# What changes no number of a run without training: names, tokens, versions, dropout, initial values, what is returned.
NEUTRAL = frozenset((
    "_name_or_path", "_attn_implementation", "_commit_hash", "architectures", "auto_map", "transformers_version",
    "model_type", "torch_dtype", "dtype", "description", "source", "bos_token_id", "eos_token_id", "pad_token_id",
    "sep_token_id", "cls_token_id", "mask_token_id", "unk_token_id", "decoder_start_token_id",
    "forced_bos_token_id", "forced_eos_token_id", "begin_suppress_tokens", "suppress_tokens", "forced_decoder_ids",
    "initializer_range", "initializer_factor", "initializer_cutoff_factor", "init_std", "attention_dropout",
    "hidden_dropout", "dropout", "embd_pdrop", "attn_pdrop", "resid_pdrop", "resid_dropout", "embd_dropout",
    "embedding_dropout", "hidden_dropout_prob", "attention_probs_dropout_prob", "activation_dropout",
    "dropout_rate", "layerdrop", "encoder_layerdrop", "decoder_layerdrop", "classifier_dropout",
    "classifier_dropout_prob", "classifier_dropout_rate", "output_attentions", "output_hidden_states",
    "output_past", "return_dict", "use_return_dict", "use_cache", "cache_implementation", "gradient_checkpointing",
    "use_bfloat16", "torchscript", "id2label", "label2id", "num_labels", "problem_type", "task_specific_params",
    "finetuning_task", "prefix", "router_aux_loss_coef", "output_router_logits", "router_jitter_noise",
    "aux_loss_alpha", "seq_aux", "ep_size", "keys_to_ignore_at_inference", "tokenizer_class",
    "chunk_size_feed_forward", "max_length", "apply_spec_augment", "mask_time_prob", "mask_time_length",
    "mask_time_min_masks", "mask_feature_prob", "mask_feature_length", "mask_feature_min_masks",
    "median_filter_length", "median_filter_width",
    "use_weighted_layer_sum", "classifier_proj_size", "encoder_stride", "pretraining_tp",
    "max_window_layers", "n_ctx", "summary_activation", "summary_first_dropout", "summary_proj_to_labels",
    "num_beams", "num_beam_groups", "do_sample", "early_stopping", "temperature", "top_k", "top_p", "typical_p",
    "repetition_penalty", "length_penalty", "diversity_penalty", "no_repeat_ngram_size", "bad_words_ids", "min_length",
    "encoder_no_repeat_ngram_size", "num_return_sequences", "output_scores", "return_dict_in_generate",
    "remove_invalid_values", "exponential_decay_length_penalty", "tf_legacy_loss", "cross_attention_hidden_size",
    "semantic_loss_ignore_index", "batch_norm_momentum", "drop_connect_rate", "drop_path_rate", "path_norm",
    "stage_names", "out_features", "out_indices", "summary_type", "summary_use_proj", "directionality",
    "pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers", "pooler_size_per_head", "pooler_type",
))  # fmt: skip


class ConfigFields:
    """The fields of one file, or of a mapping in it. Each is marked as read when it is asked for."""

    def __init__(self, path: Path, found: Mapping[str, Any], within: str = "") -> None:
        """``within``: how keys begin in messages."""
        self.path = path
        self._found = found
        self._within = within
        self._read: set[str] = set()

    def has(self, key: str) -> bool:
        """Whether the file states ``key``; null is the same as nothing."""
        self._read.add(key)
        return self._found.get(key) is not None

    def is_zero(self, key: str) -> bool:
        """Whether the file states ``key`` as the number 0."""
        self._read.add(key)
        found = self._found.get(key)
        return isinstance(found, int | float) and not isinstance(found, bool) and found == 0

    def assume(self, defaults: Mapping[str, Any]) -> None:
        """Take these of fields that the file does not state."""
        stated = {key: value for key, value in self._found.items() if value is not None}
        self._found = {**self._found, **defaults, **stated}

    def of_a_model(self, is_encoder_decoder: bool) -> None:
        """Read what every model may state, and refuse what none of those here has."""
        self.only("is_encoder_decoder", is_encoder_decoder, "the family says so")
        self.only("is_decoder", False, "the family says which rows see which")
        self.only("pruned_heads", {}, "all heads are run")

    def states(self, key: str) -> bool:
        """Whether the file states ``key``, be it as null."""
        return key in self._found

    def size(self, key: str, default: int | None = None, low: int = 1, high: int = MOST) -> int:
        """A whole number from ``low`` to ``high``; one without ``default`` has to be there."""
        return self.integer(key, default, low, high)

    def integer(self, key: str, default: int | None, low: int, high: int) -> int:
        """The same of one that may be negative."""
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            self.wrong(key, f"a whole number from {low} to {high}")
        return value

    def real(self, key: str, default: float | None = None, low: float = 0.0, high: float = 1e12) -> float:
        """A number above ``low``, at most ``high``."""
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not low < value <= high:
            self.wrong(key, f"a number above {low:g}, at most {high:g}")
        return float(value) if isfinite(value) else self.wrong(key, "a finite number")

    def cap(self, key: str) -> float:
        """A number above 0, or 0 where the file has none."""
        return self.real(key) if self.has(key) else 0.0

    def flag(self, key: str, default: bool) -> bool:
        """true or false."""
        value = self._value(key, default)
        return value if isinstance(value, bool) else self.wrong(key, "true or false")

    def word(self, key: str, default: str | None, allowed: Collection[str]) -> str:
        """One of the words that are ``allowed``."""
        value = self._value(key, default)
        if not isinstance(value, str) or value not in allowed:
            near = nearest(value, allowed) if isinstance(value, str) else ""
            self.wrong(key, f"{', '.join(allowed)}{near}")
        return value

    def text(self, key: str, default: str) -> str:
        """Any words."""
        value = self._value(key, default)
        return value if isinstance(value, str) else self.wrong(key, "words")

    def words(self, key: str, count: int, allowed: Collection[str]) -> tuple[str, ...]:
        """``count`` of the words that are ``allowed``."""
        value = self._value(key, None)
        if not isinstance(value, list) or len(value) != count or any(item not in allowed for item in map(str, value)):
            self.wrong(key, f"{count} of {', '.join(allowed)}")
        return tuple(str(item) for item in value)

    def sizes(self, key: str, low: int = 0, high: int = MOST) -> tuple[int, ...]:
        """A list of whole numbers from ``low`` to ``high``."""
        value = self._value(key, None)
        if not isinstance(value, list) or not all(type(item) is int and low <= item <= high for item in value):
            self.wrong(key, f"a list of whole numbers from {low} to {high}")
        return tuple(value)

    def names(self, key: str) -> tuple[str, ...]:
        """A list of words."""
        value = self._value(key, None)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self.wrong(key, "a list of words")
        return tuple(value)

    def count(self, key: str) -> int:
        """How many entries a mapping has; 0 where there is none."""
        value = self._value(key, {})
        return len(value) if isinstance(value, dict) else self.wrong(key, "a mapping")

    def labels(self) -> int:
        """How many classes a classifier has; 2 where the file says nothing, as transformers takes it."""
        return self.count("id2label") or self.size("num_labels", 2)

    def architecture(self, default: str) -> str:
        """The class that the weights are of."""
        value = self._value("architectures", [default])
        if not isinstance(value, list) or len(value) != 1 or not isinstance(value[0], str):
            self.wrong("architectures", "a list of one name")
        return value[0]

    def head(self, *endings: str) -> None:
        """Refuse weights of another class than those whose names end so: they have another head, or none."""
        if not self.architecture(endings[0]).endswith(endings):
            self.wrong("architectures", f"one that ends in {' or '.join(endings)}")

    def inner(self, key: str) -> ConfigFields:
        """The fields of a mapping."""
        value = self._value(key, None)
        if not isinstance(value, dict):
            self.wrong(key, "a mapping")
        return ConfigFields(self.path, value, f"{self._within}{key}.")

    def only(self, key: str, value: Any, why: str) -> None:
        """Refuse every value of ``key`` but one, which is also what it is where the file does not state it."""
        found = self._value(key, value)
        if found != value or isinstance(found, bool) != isinstance(value, bool):
            self.wrong(key, f"{json.dumps(value)}: {why}")

    def finish(self) -> None:
        """Refuse the first field that nobody has asked for and that may change what is computed."""
        for key, value in self._found.items():
            if key not in self._read and key not in NEUTRAL and value is not None:
                near = nearest(key, self._read)
                self.fail(key, f"is not known here{near}; remove it if it changes nothing that is computed")

    def fail(self, key: str, message: str) -> NoReturn:
        """Raise a ModelError that names file and key."""
        raise ModelError(f"{self.path}: key '{self._within}{key}' {message}")

    def wrong(self, key: str, allowed: str) -> NoReturn:
        """Raise a ModelError that says what was found and what is allowed."""
        found = json.dumps(self._found.get(key), default=str)
        shown = found if len(found) <= 60 else f"{found[:57]}..."
        raise ModelError(f"{self.path}: key '{self._within}{key}': found {shown}; allowed {allowed}")

    def _value(self, key: str, default: Any) -> Any:
        self._read.add(key)
        value = self._found.get(key)
        if value is not None:
            return value
        if default is None:
            self.fail(key, "is missing")
        return default


def read_fields(path: Path) -> ConfigFields:
    """The fields of a file. Raises ModelError for one that cannot be read, or that is no mapping."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ModelError(f"{path}: has more than {MOST_BYTES:,} bytes; allowed a config.json")
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path}: cannot be read as JSON: {error}") from None
    if not isinstance(found, dict):
        raise ModelError(f"{path}: holds no mapping; allowed the config.json of a model")
    return ConfigFields(path, found)
