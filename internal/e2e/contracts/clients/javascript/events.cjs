// Reads messages from stdin, each a line of JSON, as the official SDK of CloudEvents reads them from a binding, and writes
// each event in them as a line: events.cjs http|kafka|nats.
const { CloudEvent, HTTP, Kafka } = require("cloudevents");

const read = {
  http: ({ headers, body }) => HTTP.toEvent({ headers, body }),
  kafka: ({ headers, key, body }) => Kafka.toEvent({ headers, key, value: body, body }),
  nats: ({ body }) => new CloudEvent(JSON.parse(body)), // the SDK has no binding for NATS
}[process.argv[2]];

for (const line of require("fs").readFileSync(0, "utf8").trim().split("\n")) {
  for (const event of [read(JSON.parse(line))].flat()) {
    event.validate();
    console.log(JSON.stringify(event));
  }
}
