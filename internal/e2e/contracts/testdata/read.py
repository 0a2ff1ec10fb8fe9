"""Reads events, one a line, as the official SDK reads them, and prints how many are valid."""
import sys

from cloudevents.http import from_json

print(sum(1 for line in sys.stdin if from_json(line)["id"]))
