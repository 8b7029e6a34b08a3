"""The best mappings that ZigZag recorded: ``files`` reads them, ``compare`` prices them and ours by one cost model."""
