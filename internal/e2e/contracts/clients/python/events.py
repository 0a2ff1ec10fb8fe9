"""Reads messages from stdin, each a line of JSON, as the official SDK of CloudEvents reads them from a binding, and writes
each event in them as a line: events.py http|kafka|nats."""

import json
import sys

from cloudevents.core.bindings import http, kafka
from cloudevents.core.formats.json import JSONFormat

BATCH = "application/cloudevents-batch+json"


def over_http(headers, key, body):
    if headers.get("content-type") == BATCH:  # the SDK reads the events of a batch, and not the batch
        return [JSONFormat().read(None, json.dumps(event)) for event in json.loads(body)]
    return [http.from_http_event(http.HTTPMessage(headers, body.encode()))]


def over_kafka(headers, key, body):
    encoded = {name: value.encode() for name, value in headers.items()}
    return [kafka.from_kafka_event(kafka.KafkaMessage(encoded, key.encode(), body.encode()))]


def over_nats(headers, key, body):
    return [JSONFormat().read(None, body)]


read = {"http": over_http, "kafka": over_kafka, "nats": over_nats}[sys.argv[1]]
for line in sys.stdin:
    for event in read(**json.loads(line)):
        print(JSONFormat().write(event).decode())
