"""BERT: the encoder over tokens without padding, and the pooler of its first token; no head of a task."""

from __future__ import annotations

from archsim.frontend.configs.fields import ConfigFields
from archsim.frontend.configs.module_graph import ModuleGraph
from archsim.frontend.transformers.encoder import bert_layer, read_encoder
from archsim.frontend.transformers.run_shape import AskedShape

PLAIN = "BertModel"


def bert(graph: ModuleGraph, fields: ConfigFields, asked: AskedShape) -> None:
    """Embeddings of words, positions and segments, layers, pooler."""
    form, positions = read_encoder(fields), fields.size("max_position_embeddings")
    vocabulary, segments = fields.size("vocab_size"), fields.size("type_vocab_size", 2)
    fields.only("position_embedding_type", "absolute", "positions are added to the words")
    fields.only("add_cross_attention", False, "the model has no second input")
    fields.flag("tie_word_embeddings", True)  # of a head that is not run
    named = fields.architecture(PLAIN)
    if named != PLAIN:
        graph.warn(f"architectures names {named}: the encoder and its pooler are run, no head of a task")
    run = asked.encoder(positions)
    rows = (run.batch, run.rows)
    words, kinds = (graph.input(name, rows, "int64") for name in ("input_ids", "token_type_ids"))
    with graph.module("embeddings"):
        word = graph.embedding("word_embeddings", words, vocabulary, form.width)
        kind = graph.embedding("token_type_embeddings", kinds, segments, form.width)
        place = graph.positions("position_embeddings", positions, form.width, 0, run.rows)
        value = graph.add("Add", "embedded", graph.add("Add", "words_and_kinds", word, kind), place)
        value = graph.layer_norm("LayerNorm", value, form.epsilon)
    for index in range(form.layers):
        with graph.module(f"encoder.layer.{index}"):
            value = bert_layer(graph, form, value)
    graph.output(value)
    with graph.module("pooler"):
        first = graph.reshape("first", graph.cut("first_rows", value, 1, 0, 1), run.batch, form.width)
        graph.output(graph.activation("activation", graph.linear("dense", first, form.width, bias=True), "tanh"))
