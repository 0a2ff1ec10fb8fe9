"""FAISS in the paper's Table 5: seconds of processor time of one thread for all queries, by size of the collection."""
import argparse
import json
import os
import statistics
import time

import faiss
import numpy as np


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True, help="folder with codes.u32 and queries.u32")
    parser.add_argument("--index", choices=("flat", "multihash"), required=True)
    parser.add_argument("--radius", type=int, required=True)
    parser.add_argument("--sizes", required=True, help="rows, comma-separated, ascending")
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    faiss.omp_set_num_threads(1)
    codes, queries = (load(args.data, name) for name in ("codes.u32", "queries.u32"))
    ix, note = index(args.index, args.radius)
    begin, cells = 0, []
    for size in map(int, args.sizes.split(",")):
        started = time.process_time()
        ix.add(codes[begin:size])
        added = time.process_time() - started
        seconds, hits = measure(ix, queries, args.radius, args.runs)
        cells.append({"rows": size, "seconds": seconds, "hits": hits, "secondsAdding": added})
        begin = size
    print(json.dumps({"note": note, "cells": cells}))


def load(folder, name):
    return np.fromfile(os.path.join(folder, name), dtype=np.uint32).view(np.uint8).reshape(-1, 4)


def index(kind, radius):
    """MultiHash: two pieces of 16 bits; within the radius one of them has at most radius // 2 changes."""
    if kind == "flat":
        return faiss.IndexBinaryFlat(32), "all queries in one call"
    ix = faiss.IndexBinaryMultiHash(32, 2, 16)
    ix.nflip = radius // 2
    return ix, f"nhash=2 b=16 nflip={ix.nflip}, all queries in one call"


def measure(ix, queries, radius, runs):
    """The median of several runs, or one run where it takes more than two seconds. FAISS finds distances below its radius."""
    took = []
    while len(took) < runs:
        started = time.process_time()
        ends, _, _ = ix.range_search(queries, radius + 1)
        took.append(time.process_time() - started)
        if took[0] > 2:
            break
    return statistics.median(took), int(ends[-1])


main()
