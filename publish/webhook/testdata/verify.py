"""Checks requests with the standardwebhooks package: a JSON line each in, "ok" or the error's name each out."""
import json
import sys

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

for line in sys.stdin:
    request = json.loads(line)
    try:
        event = Webhook(request["secret"]).verify(request["body"], request["headers"])
        print("ok", event["id"])
    except WebhookVerificationError as error:
        print(type(error).__name__)
