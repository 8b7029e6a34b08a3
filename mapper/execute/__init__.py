"""Executing a Program in numbers: on the Program alone, under any order that its tokens allow."""
