"""Convolutional classifiers from the config.json that Hugging Face keeps beside their weights."""
