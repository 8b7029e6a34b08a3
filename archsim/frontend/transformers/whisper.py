"""Whisper: two convolutions and an encoder over frames of sound, and a decoder that attends to it."""

from __future__ import annotations

from archsim.frontend.configs.fields import ConfigFields
from archsim.frontend.configs.module_graph import ACTIVATIONS, ModuleGraph
from archsim.frontend.transformers import feed_forward
from archsim.frontend.transformers.attention import AttentionForm, causal_attention, full_attention
from archsim.frontend.transformers.decoder import MOST_HEADS, MOST_LAYERS, write_head
from archsim.frontend.transformers.encoder_decoder import crossed
from archsim.frontend.transformers.run_shape import DECODE, AskedShape, RunShape

EPSILON = 1e-5  # of torch.nn.LayerNorm
FRAMES = 2  # of sound for a row of the encoder: the stride of its second convolution


def whisper(graph: ModuleGraph, fields: ConfigFields, asked: AskedShape) -> None:
    """The encoder in prefill alone; the decoder over ``prompt`` rows, or over new ones."""
    model = _Whisper(graph, fields)
    fields.head("ForConditionalGeneration")
    fields.only("scale_embedding", False, "embeddings are not scaled")
    fields.size("num_hidden_layers", model.layers["encoder"])  # the encoder's, once more
    tied = fields.flag("tie_word_embeddings", True)
    run = asked.decoder(model.targets)
    with graph.module("model"):
        sound = model.encoded(run) if run.phase != DECODE else ""
        value = model.decoded(run, sound)
    weights = "model.decoder.embed_tokens.weight" if tied else ""
    graph.output(write_head(graph, value, run, model.vocabulary, weights, "proj_out"))


class _Whisper:
    """Sizes, and the parts that they belong to."""

    def __init__(self, graph: ModuleGraph, fields: ConfigFields) -> None:
        self.graph, self.width, self.vocabulary = graph, fields.size("d_model"), fields.size("vocab_size")
        self.mels, self.rows = fields.size("num_mel_bins", 80), fields.size("max_source_positions")
        self.targets = fields.size("max_target_positions")
        self.function = fields.word("activation_function", "gelu", ACTIVATIONS)
        self.layers, self.heads, self.inner = dict[str, int](), dict[str, int](), dict[str, int]()
        for side in ("encoder", "decoder"):
            self.layers[side] = fields.size(f"{side}_layers", high=MOST_LAYERS)
            self.heads[side] = fields.size(f"{side}_attention_heads", high=MOST_HEADS)
            self.inner[side] = fields.size(f"{side}_ffn_dim")
            if self.width % self.heads[side]:
                fields.wrong(f"{side}_attention_heads", f"a divisor of {self.width}, d_model")

    def encoded(self, run: RunShape) -> str:
        """Rows of the encoder."""
        graph = self.graph
        value = graph.input("input_features", (run.batch, self.mels, FRAMES * self.rows))
        with graph.module("encoder"):
            value = self._convolved("conv1", value, 1)
            value = self._convolved("conv2", value, FRAMES)
            value = graph.add("Transpose", "conv2.permute", value, perm=(0, 2, 1))
            value = graph.add("Add", "embedded", value, graph.weight("embed_positions.weight", self.rows, self.width))
            for index in range(self.layers["encoder"]):
                with graph.module(f"layers.{index}"):
                    value = self._encoder_layer(value)
            return graph.layer_norm("layer_norm", value, EPSILON)

    def decoded(self, run: RunShape, sound: str) -> str:
        """Rows of the decoder; ``sound``: those of the encoder, '' where their keys and values lie in states."""
        graph = self.graph
        indices = graph.input("decoder_input_ids", (run.batch, run.rows), "int64")
        with graph.module("decoder"):
            words = graph.embedding("embed_tokens", indices, self.vocabulary, self.width)
            places = graph.positions("embed_positions", self.targets, self.width, run.past, run.rows)
            value = graph.add("Add", "embedded", words, places)
            for index in range(self.layers["decoder"]):
                with graph.module(f"layers.{index}"):
                    value = self._decoder_layer(run, value, sound)
            return graph.layer_norm("layer_norm", value, EPSILON)

    def _convolved(self, name: str, value: str, stride: int) -> str:
        graph, channels = self.graph, self.graph.shape(value)[1]
        weights = graph.weight(f"{name}.weight", self.width, channels, 3), graph.weight(f"{name}.bias", self.width)
        made = graph.add("Conv", name, value, *weights, kernel_shape=(3,), strides=(stride,), pads=(1, 1))
        return graph.activation(f"{name}.gelu", made, "gelu")

    def _encoder_layer(self, value: str) -> str:
        graph = self.graph
        normed = graph.layer_norm("self_attn_layer_norm", value, EPSILON)
        with graph.module("self_attn"):
            query, key, new = self._by_heads("encoder", normed, normed)
            context = full_attention(graph, "attn", query, key, new, AttentionForm())
            moved = self._out(context)
        value = graph.add("Add", "self_attn.residual", value, moved)
        return self._moved("encoder", value)

    def _decoder_layer(self, run: RunShape, value: str, sound: str) -> str:
        graph = self.graph
        normed = graph.layer_norm("self_attn_layer_norm", value, EPSILON)
        with graph.module("self_attn"):
            query, key, new = self._by_heads("decoder", normed, normed)
            moved = self._out(causal_attention(graph, "attn", run, query, key, new, AttentionForm()))
        value = graph.add("Add", "self_attn.residual", value, moved)
        normed = graph.layer_norm("encoder_attn_layer_norm", value, EPSILON)
        with graph.module("encoder_attn"):
            query, *made = self._by_heads("decoder", normed, sound)
            both = (made[0], made[1]) if made else None
            moved = self._out(crossed(graph, "attn", query, both, self.rows, AttentionForm()))
        value = graph.add("Add", "encoder_attn.residual", value, moved)
        return self._moved("decoder", value)

    def _by_heads(self, side: str, rows: str, others: str) -> tuple[str, ...]:
        """Queries of ``rows``; keys, without a bias, and values of ``others`` where there are any."""
        made = [("q_proj", rows, True)]
        made += [("k_proj", others, False), ("v_proj", others, True)] if others else []
        graph = self.graph
        return tuple(
            graph.heads(name, graph.linear(name, source, self.width, bias), self.heads[side])
            for name, source, bias in made
        )

    def _out(self, context: str) -> str:
        return self.graph.linear("out_proj", self.graph.joined_heads("attn_output", context), self.width, bias=True)

    def _moved(self, side: str, value: str) -> str:
        graph = self.graph
        normed = graph.layer_norm("final_layer_norm", value, EPSILON)
        moved = feed_forward.plain(graph, normed, self.inner[side], self.function, ("fc1", "activation_fn", "fc2"))
        return graph.add("Add", "fc2.residual", value, moved)
