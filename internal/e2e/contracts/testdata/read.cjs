// Reads events, one a line, as the official SDK reads them from an HTTP request, and prints how many are valid.
const { HTTP } = require("cloudevents");

let text = "";
process.stdin.on("data", (chunk) => (text += chunk)).on("end", () => {
  let valid = 0;
  for (const body of text.trim().split("\n")) {
    const event = HTTP.toEvent({ headers: { "content-type": "application/cloudevents+json" }, body });
    event.validate();
    valid++;
  }
  console.log(valid);
});
