FILE = "bands.json"
