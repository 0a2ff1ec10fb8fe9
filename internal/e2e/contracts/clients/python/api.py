"""Drives a server through the client that openapi-python-client makes of openapi.yaml: it posts the lines on stdin, follows
the events up to the first, looks a text up, asks what a post repeats, and deletes it: api.py URL ID TEXT. What came of it is
a line of JSON."""

import json
import sys

from refrain_client import Client
from refrain_client.api.compare import match_text
from refrain_client.api.events import follow_events
from refrain_client.api.posts import add_posts, delete_post
from refrain_client.api.reuse import post_reuse
from refrain_client.models import Answer, FollowEventsFormat, FollowEventsFrom, Post, Query, Reuse, ReuseEvent

url, id, text = sys.argv[1:]
client = Client(base_url=url, raise_on_unexpected_status=True)
lines = sys.stdin.read().splitlines()


def first_event():
    """Follows a stream that does not end, and stops it."""
    request = follow_events._get_kwargs(from_=FollowEventsFrom.START, format_=FollowEventsFormat.NDJSON)
    with client.get_httpx_client().stream(**request) as stream:
        return ReuseEvent.from_dict(json.loads(next(stream.iter_lines())))


posted = add_posts.sync(client=client, body=[Post.from_dict(json.loads(line)) for line in lines])
again = client.get_httpx_client().post(  # the generator knows no NDJSON
    "/v1/posts", content="\n".join(lines), headers={"Content-Type": "application/x-ndjson"}
)
assert Answer.from_dict(again.json()).accepted == posted.accepted == len(lines), again.text
event = first_event()
matches = repeats = 0
while not matches:
    matches = len(match_text.sync(client=client, body=Query(text=text)).sentences[0].matches)
while not repeats:  # the index follows the events
    repeats = len(post_reuse.sync(id, client=client).repeats)
deleted = delete_post.sync_detailed(id, client=client)
while isinstance(gone := post_reuse.sync(id, client=client), Reuse):  # nor is it gone at once
    pass
came = {"Accepted": posted.accepted, "Event": event.id, "Deleted": deleted.status_code, "Problem": gone.type_}
print(json.dumps(came))
