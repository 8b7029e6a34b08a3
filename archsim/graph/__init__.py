"""The neutral graph between front ends and operators: nodes and values, shape inference, canonical form."""
