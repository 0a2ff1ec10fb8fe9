"""What the peers in Python share: the sets, the clock, the verification, the report.

A peer looks rows up among those before them and hands what it finds to candidates(); Peer verifies the pairs by
Jaccard on the token sets, all in numpy, and report() writes those that hold and a line of JSON. The format of the
files is told in collection.go. Times are of the processor: beside other work a thread waits, and the wall says little.
"""
import argparse
import json
import os
import time

import numpy as np


class Peer:
    def __init__(self, add_arguments=lambda parser: None):
        parser = argparse.ArgumentParser()
        parser.add_argument("--data", required=True, help="folder that the driver wrote")
        parser.add_argument("--threshold", required=True, help="as a fraction, such as 4/5")
        parser.add_argument("--rows", type=int, required=True, help="rows to take, from the first")
        parser.add_argument("--every", type=int, default=1, help="look only every so-many-th row up")
        parser.add_argument("--limit", type=float, default=1e9, help="seconds of processor time after which to stop")
        parser.add_argument("--out", required=True, help="file for the pairs found")
        add_arguments(parser)
        self.args = parser.parse_args()
        num, _, den = self.args.threshold.partition("/")
        self.num, self.den = int(num), int(den or 1)
        self.ends = self.load("ends.u64", np.uint64).astype(np.int64)[: self.args.rows]
        self.starts = np.concatenate(([0], self.ends[:-1]))
        self.sizes = self.ends - self.starts
        self.numbers = self.load("numbers.u32", np.uint32)[: self.ends[-1]]
        self.done = self.looked = self.met = 0  # rows taken in, rows looked up, candidates
        self.pairs = []
        self.seconds = {"add": 0.0, "look": 0.0}
        self.begin = time.process_time()

    def load(self, name, dtype):
        return np.fromfile(os.path.join(self.args.data, name), dtype=dtype)

    def blocks(self, size):
        """Yields the row ranges of the stream until it ends or time is up."""
        for first in range(0, self.args.rows, size):
            if time.process_time() - self.begin > self.args.limit:
                return
            last = min(first + size, self.args.rows)
            yield first, last
            self.done = last

    def looked_up(self, first, last):
        """The rows of a range that are looked up."""
        rows = np.arange(first + -first % self.args.every, last, self.args.every)
        self.looked += len(rows)
        return rows

    def timed(self, what, call, *args):
        begin = time.process_time()
        result = call(*args)
        self.seconds[what] += time.process_time() - begin
        return result

    def candidates(self, later, earlier):
        """Verifies candidate pairs of rows, two arrays; those whose order is the other way round are left out."""
        keep = earlier < later
        later, earlier = later[keep], earlier[keep]
        self.met += len(later)
        n, m = self.sizes[later], self.sizes[earlier]
        keep = np.minimum(n, m) * self.den >= np.maximum(n, m) * self.num
        later, earlier = later[keep], earlier[keep]
        for at in range(0, len(later), 100_000):
            self.verify(later[at : at + 100_000], earlier[at : at + 100_000])

    def verify(self, later, earlier):
        """Counts the common tokens of many pairs at once: tokens tagged with their pair and sorted come in twos."""
        tagged = np.concatenate((self.tagged(later), self.tagged(earlier)))
        tagged.sort()
        twice = tagged[1:][tagged[1:] == tagged[:-1]] >> np.uint64(32)
        common = np.bincount(twice.astype(np.int64), minlength=len(later))
        union = self.sizes[later] + self.sizes[earlier] - common
        true = common * self.den >= union * self.num
        self.pairs.append(np.stack((later[true], earlier[true]), axis=1).astype(np.uint32))

    def tagged(self, rows):
        sizes = self.sizes[rows]
        ends = np.cumsum(sizes)
        at = np.arange(ends[-1] if len(ends) else 0) + np.repeat(self.starts[rows] - (ends - sizes), sizes)
        pair = np.repeat(np.arange(len(rows), dtype=np.uint64), sizes)
        return pair << np.uint64(32) | self.numbers[at]

    def report(self, note):
        pairs = np.concatenate(self.pairs) if self.pairs else np.empty((0, 2), np.uint32)
        pairs.tofile(self.args.out)
        print(json.dumps({
            "rows": self.done, "looked": self.looked, "candidates": self.met, "note": note,
            "secondsAdding": self.seconds["add"], "secondsLooking": self.seconds["look"], "peakBytes": peak(),
        }))


def peak():
    """The greatest memory of this program so far, in bytes. What wait() tells the parent would count the parent's."""
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


def flat(later, lists):
    """Lists of candidates, one a row, as two arrays."""
    counts = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
    earlier = np.fromiter((e for l in lists for e in l), dtype=np.int64, count=int(counts.sum()))
    return np.repeat(np.asarray(later, dtype=np.int64), counts), earlier
