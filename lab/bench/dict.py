#!/usr/bin/env python3
"""The script a user could write today: a dict of token sets, exact repeats only, no expiry.

usage: zstd -dc posts.jsonl.zst | lab/bench/dict.py [MIN_TOKENS]

It reads posts as JSON lines, cuts them at line breaks and after . ! ?, takes the set of lower-case words of each
sentence, and counts the sentences whose set was seen before. It finds no near repeats, knows no span, keeps
everything, and prints posts/s: the yardstick of docs/measurements/benchmarks.md.
"""
import json
import re
import resource
import sys
import time

WORD = re.compile(r"[#@]?\w+")
URL = re.compile(r"https?://\S+")
SENTENCE = re.compile(r"[.!?\n。！？]+")


def main():
    min_tokens = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    seen, posts, repeats = {}, 0, 0
    begin = time.perf_counter()
    for line in sys.stdin.buffer:
        post = json.loads(line)
        posts += 1
        for sentence in SENTENCE.split(URL.sub("", post["text"]).lower()):
            tokens = frozenset(WORD.findall(sentence))
            if len(tokens) < min_tokens:
                continue
            if tokens in seen:
                repeats += 1
            else:
                seen[tokens] = post["id"]
    took = time.perf_counter() - begin
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{posts} posts in {took:.1f} s, {posts / took:.0f} posts/s, {repeats} repeats, {rss} MB")


main()
