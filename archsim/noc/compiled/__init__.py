"""The compiled virtual-channel routers."""
