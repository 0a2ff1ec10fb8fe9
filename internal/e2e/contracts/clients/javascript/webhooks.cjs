// Verifies messages from stdin, each a line of JSON, as the official library of Standard Webhooks does, and prints how many
// are right: webhooks.cjs SECRET.
const { Webhook } = require("standardwebhooks");

const webhook = new Webhook(process.argv[2]);
let right = 0;
for (const line of require("fs").readFileSync(0, "utf8").trim().split("\n")) {
  const { headers, body } = JSON.parse(line);
  try {
    webhook.verify(body, headers);
    right++;
  } catch {}
}
console.log(right);
