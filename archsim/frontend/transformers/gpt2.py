"""GPT-2: learned positions, layer normalisation, one projection for queries, keys and values."""

from __future__ import annotations

from archsim.frontend.configs.fields import ConfigFields
from archsim.frontend.configs.module_graph import ACTIVATIONS, ModuleGraph
from archsim.frontend.transformers import feed_forward
from archsim.frontend.transformers.attention import AttentionForm, causal_attention
from archsim.frontend.transformers.decoder import MOST_HEADS, MOST_LAYERS, write_head
from archsim.frontend.transformers.run_shape import AskedShape, RunShape

HEAD = "transformer.wte.weight"


def gpt2(graph: ModuleGraph, fields: ConfigFields, asked: AskedShape) -> None:
    """Embeddings of words and positions, blocks, a norm and lm_head, which is the table of words."""
    fields.head("LMHeadModel")
    width, positions = fields.size("n_embd"), fields.size("n_positions")
    layers, vocabulary = fields.size("n_layer", high=MOST_LAYERS), fields.size("vocab_size")
    epsilon = fields.real("layer_norm_epsilon", 1e-5)
    block = _Block(fields, width, epsilon)
    tied = fields.flag("tie_word_embeddings", True)
    run = asked.decoder(positions)
    indices = graph.input("input_ids", (run.batch, run.rows), "int64")
    with graph.module("transformer"):
        words = graph.embedding("wte", indices, vocabulary, width)
        value = graph.add("Add", "embedded", words, graph.positions("wpe", positions, width, run.past, run.rows))
        for index in range(layers):
            with graph.module(f"h.{index}"):
                value = block.write(graph, run, value)
        value = graph.layer_norm("ln_f", value, epsilon)
    graph.output(write_head(graph, value, run, vocabulary, HEAD if tied else ""))


class _Block:
    """One block: x + attention(norm(x)), then x + feed_forward(norm(x))."""

    def __init__(self, fields: ConfigFields, width: int, epsilon: float) -> None:
        self.heads, self.epsilon = fields.size("n_head", high=MOST_HEADS), epsilon
        if width % self.heads:
            fields.wrong("n_head", f"a divisor of {width}, n_embd")
        self.inner = fields.size("n_inner", 4 * width)
        self.function = fields.word("activation_function", "gelu_new", ACTIVATIONS)
        self.form = AttentionForm(0.0 if fields.flag("scale_attn_weights", True) else 1.0)
        fields.only("scale_attn_by_inverse_layer_idx", False, "scores are scaled alike in all layers")
        fields.flag("reorder_and_upcast_attn", False)  # the order of a product's factors
        fields.only("add_cross_attention", False, "the model has no encoder")

    def write(self, graph: ModuleGraph, run: RunShape, value: str) -> str:
        width = graph.shape(value)[-1]
        normed = graph.layer_norm("ln_1", value, self.epsilon)
        with graph.module("attn"):
            every = graph.linear("c_attn", normed, 3 * width, bias=True)
            parts = (graph.cut(part, every, 2, at * width, (at + 1) * width) for at, part in
                     enumerate(("query", "key", "value")))  # fmt: skip
            query, key, new = (graph.heads(part, each, self.heads) for each, part in
                               zip(parts, ("query", "key", "value"), strict=True))  # fmt: skip
            context = causal_attention(graph, "attn", run, query, key, new, self.form)
            moved = graph.linear("c_proj", graph.joined_heads("attn_output", context), width, bias=True)
        value = graph.add("Add", "attn.residual", value, moved)
        normed = graph.layer_norm("ln_2", value, self.epsilon)
        with graph.module("mlp"):
            moved = feed_forward.plain(graph, normed, self.inner, self.function, ("c_fc", "act", "c_proj"))
        return graph.add("Add", "mlp.residual", value, moved)
