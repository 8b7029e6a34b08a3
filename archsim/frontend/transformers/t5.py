"""T5: encoder and decoder with a learned bias by distance in place of positions.

The bias of a pair of rows is looked up by the bucket of their distance (Raffel et al., "Exploring the Limits of
Transfer Learning", 2020, section 2.1, and the reference code): near distances have a bucket each, far ones share
buckets that grow with the logarithm. It is a constant of a run, made once for all layers of a side.
"""

from __future__ import annotations

from math import log

import numpy as np

from archsim.base.errors import ModelError
from archsim.frontend.configs.fields import ConfigFields
from archsim.frontend.configs.module_graph import ModuleGraph
from archsim.frontend.transformers import feed_forward
from archsim.frontend.transformers.attention import AttentionForm, causal_attention, full_attention
from archsim.frontend.transformers.decoder import MOST_HEADS, MOST_LAYERS, write_head
from archsim.frontend.transformers.encoder_decoder import crossed
from archsim.frontend.transformers.run_shape import DECODE, AskedShape, RunShape
from archsim.ir.graph import Array

MOST_PAIRS = 1 << 26  # of a row and a key, whose buckets are stored
ROWS = 512  # of the encoder, where neither the user nor n_positions says another number
FORMS = {"relu": ("relu", False), "gated-gelu": ("gelu_new", True), "gated-silu": ("silu", True)}
UNSCALED = AttentionForm(scale=1.0)


def t5(graph: ModuleGraph, fields: ConfigFields, asked: AskedShape) -> None:
    """The encoder in prefill alone; the decoder over ``prompt`` rows, or over new ones."""
    model = _T5(graph, fields)
    fields.head("ForConditionalGeneration", "T5WithLMHeadModel")
    tied = fields.flag("tie_word_embeddings", True)
    is_scaled = fields.flag("scale_decoder_outputs", tied)
    positions = fields.size("n_positions", ROWS)
    run = asked.decoder(prompt=positions, source=positions)
    source = model.encoded(run) if run.phase != DECODE else ""
    value = model.decoded(run, source)
    if is_scaled:
        factor = graph.numbers("lm_head.scale", model.width**-0.5, "float32")
        value = graph.add("Mul", "lm_head.scaled", value, factor)
    graph.output(write_head(graph, value, run, model.vocabulary, "shared.weight" if tied else ""))


def buckets(distances: Array, both: bool, count: int, most: int) -> Array:
    """The bucket of each distance key - query; ``both``: whether keys behind the query have buckets of their own."""
    found = np.zeros(distances.shape, np.int64)
    if both:
        count //= 2
        found += np.where(distances > 0, count, 0)
    far = np.abs(distances) if both else np.maximum(-distances, 0)
    exact = count // 2
    with np.errstate(divide="ignore"):
        grown = exact + np.log(np.maximum(far, 1) / exact) / log(most / exact) * (count - exact)
    return np.asarray(found + np.where(far < exact, far, np.minimum(grown.astype(np.int64), count - 1)))


class _T5:
    """Sizes, and the parts that they belong to."""

    def __init__(self, graph: ModuleGraph, fields: ConfigFields) -> None:
        self.graph, self.width, self.vocabulary = graph, fields.size("d_model"), fields.size("vocab_size")
        self.heads, self.head, self.inner = (
            fields.size("num_heads", high=MOST_HEADS),
            fields.size("d_kv"),
            fields.size("d_ff"),
        )
        layers = fields.size("num_layers", high=MOST_LAYERS)
        self.layers = {"encoder": layers, "decoder": fields.size("num_decoder_layers", layers, high=MOST_LAYERS)}
        self.buckets = fields.size("relative_attention_num_buckets", 32, low=4)
        self.distance = fields.size("relative_attention_max_distance", 128, low=self.buckets)
        self.epsilon = fields.real("layer_norm_epsilon", 1e-6)
        self.function, self.gated = FORMS[fields.word("feed_forward_proj", "relu", FORMS)]
        fields.word("dense_act_fn", self.function, (self.function,))  # written beside feed_forward_proj by newer tools
        fields.only("is_gated_act", self.gated, "feed_forward_proj says so")

    def encoded(self, run: RunShape) -> str:
        """Rows of the encoder."""
        graph = self.graph
        indices = graph.input("input_ids", (run.batch, run.source), "int64")
        with graph.module("encoder"):
            value = self._embedded(indices)
            places = np.arange(run.source)
            bias = self._bias("encoder", places, places, both=True)
            for index in range(self.layers["encoder"]):
                with graph.module(f"block.{index}"):
                    normed = graph.rms_norm("layer.0.layer_norm", value, self.epsilon)
                    with graph.module("layer.0.SelfAttention"):
                        query, key, new = self._by_heads(normed, normed)
                        moved = self._out(full_attention(graph, "attn", query, key, new, UNSCALED, bias))
                    value = graph.add("Add", "layer.0.residual", value, moved)
                    value = self._moved("layer.1", value)
            return graph.rms_norm("final_layer_norm", value, self.epsilon)

    def decoded(self, run: RunShape, source: str) -> str:
        """Rows of the decoder; ``source``: those of the encoder, '' where their keys and values lie in states."""
        graph = self.graph
        indices = graph.input("decoder_input_ids", (run.batch, run.rows), "int64")
        with graph.module("decoder"):
            value = self._embedded(indices)
            bias = self._bias("decoder", np.arange(run.past, run.keys), np.arange(run.keys), both=False)
            for index in range(self.layers["decoder"]):
                with graph.module(f"block.{index}"):
                    value = self._decoder_block(run, value, source, bias)
            return graph.rms_norm("final_layer_norm", value, self.epsilon)

    def _decoder_block(self, run: RunShape, value: str, source: str, bias: str) -> str:
        graph = self.graph
        normed = graph.rms_norm("layer.0.layer_norm", value, self.epsilon)
        with graph.module("layer.0.SelfAttention"):
            query, key, new = self._by_heads(normed, normed)
            moved = self._out(causal_attention(graph, "attn", run, query, key, new, UNSCALED, bias))
        value = graph.add("Add", "layer.0.residual", value, moved)
        normed = graph.rms_norm("layer.1.layer_norm", value, self.epsilon)
        with graph.module("layer.1.EncDecAttention"):
            query, *made = self._by_heads(normed, source)
            both = (made[0], made[1]) if made else None
            moved = self._out(crossed(graph, "attn", query, both, run.source, UNSCALED))
        value = graph.add("Add", "layer.1.residual", value, moved)
        return self._moved("layer.2", value)

    def _embedded(self, indices: str) -> str:
        """Words of the table that both sides and lm_head share."""
        with self.graph.top():
            table = self.graph.weight("shared.weight", self.vocabulary, self.width)
        return self.graph.rows("embed_tokens", table, indices)

    def _bias(self, side: str, rows: Array, keys: Array, both: bool) -> str:
        """(1, heads, rows, keys): of the first layer's table, which the others use too.

        ``rows``, ``keys``: places one behind the other, so that the buckets of a row are those of the one before,
        moved by one. Raises ModelError for more than ``MOST_PAIRS``."""
        graph, pairs = self.graph, len(rows) * len(keys)
        if pairs > MOST_PAIRS:
            raise ModelError(
                f"module '{side}': {len(rows)} rows of {len(keys)} keys are {pairs:,} pairs, each with a bucket of its "
                f"distance; allowed {MOST_PAIRS:,}: fewer rows by --parameter prompt, source or context"
            )
        first, last = int(keys[0] - rows[-1]), int(keys[-1] - rows[0])
        by_distance = buckets(np.arange(first, last + 1), both, self.buckets, self.distance).astype(np.int32)
        with graph.module("block.0.layer.0.SelfAttention"):
            table = graph.weight("relative_attention_bias.weight", self.buckets, self.heads)
            places = np.lib.stride_tricks.sliding_window_view(by_distance, len(keys))[::-1]
            found = graph.add("Gather", "bias_rows", table, graph.numbers("buckets", places[None], "int32"), axis=0)
            return graph.add("Transpose", "bias", found, perm=(0, 3, 1, 2))

    def _by_heads(self, rows: str, others: str) -> tuple[str, ...]:
        """Queries of ``rows``, keys and values of ``others`` where there are any."""
        graph, made = self.graph, [("q", rows)]
        made += [("k", others), ("v", others)] if others else []
        every = self.heads * self.head
        return tuple(graph.heads(name, graph.linear(name, source, every), self.heads) for name, source in made)

    def _out(self, context: str) -> str:
        return self.graph.linear("o", self.graph.joined_heads("attn_output", context), self.width)

    def _moved(self, name: str, value: str) -> str:
        graph = self.graph
        with graph.module(name):
            normed = graph.rms_norm("layer_norm", value, self.epsilon)
            with graph.module("DenseReluDense"):
                if self.gated:
                    names = ("wi_0", "act", "wi_1", "wo")
                    moved = feed_forward.gated_by(graph, normed, self.inner, self.function, names)
                else:
                    opened = graph.activation("act", graph.linear("wi", normed, self.inner), self.function)
                    moved = graph.linear("wo", opened, self.width)
            return graph.add("Add", "residual", value, moved)
