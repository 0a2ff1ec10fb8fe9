"""Verifies messages from stdin, each a line of JSON, as the official library of Standard Webhooks does, and prints how many
are right: webhooks.py SECRET."""

import json
import sys

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

webhook = Webhook(sys.argv[1])
right = 0
for line in sys.stdin:
    message = json.loads(line)
    try:
        webhook.verify(message["body"], message["headers"])
        right += 1
    except WebhookVerificationError:
        pass
print(right)
