"""ONNX files to Workloads, without ever holding a weight. The only room that imports the onnx package."""
