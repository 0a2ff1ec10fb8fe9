"""Writes the posts on stdin, one a line, to Kafka by Confluent's serializers: as JSON, whose schema a registry has, all but the
last, which is Avro; then a tombstone for the first: produce.py BROKER TOPIC."""

import json
import sys

from confluent_kafka import Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

broker, topic = sys.argv[1:]
registry = SchemaRegistryClient.new_client({"url": "mock://posts"})
as_json = JSONSerializer(json.dumps({"title": "Post", "type": "object"}), registry)
record = {"type": "record", "name": "Post", "fields": [{"name": name, "type": "string"} for name in ("id", "text")]}
as_avro = AvroSerializer(registry, json.dumps(record))
producer = Producer({"bootstrap.servers": broker})
context = SerializationContext(topic, MessageField.VALUE)

posts = [json.loads(line) for line in sys.stdin]
for post in posts[:-1]:
    producer.produce(topic, as_json(post, context), key=post["id"])
producer.produce(topic, as_avro({name: posts[-1][name] for name in ("id", "text")}, context), key=posts[-1]["id"])
producer.produce(topic, None, key=posts[0]["id"])
producer.flush()
