"""What the peers in Python that join a collection share: the sets, the clock, the report."""
import argparse
import json
import time

import numpy as np


def run(pairs_of):
    """Calls pairs_of(sets, measure, threshold), which gives pairs of line numbers, and reports what it took."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sets", required=True, help="file of sets, integers a line")
    parser.add_argument("--measure", required=True)
    parser.add_argument("--threshold", required=True, help="as a fraction, such as 4/5")
    parser.add_argument("--out", required=True, help="file for the pairs found")
    args = parser.parse_args()
    num, _, den = args.threshold.partition("/")
    with open(args.sets) as lines:
        sets = [line.strip() for line in lines]
    begin = time.process_time()
    pairs = pairs_of(sets, args.measure, int(num) / int(den))
    seconds = time.process_time() - begin
    found = np.array([(max(p), min(p)) for p in pairs], dtype=np.uint32).reshape(-1, 2)
    found.tofile(args.out)
    print(json.dumps({"seconds": seconds, "peakBytes": peak()}))


def peak():
    """The greatest memory of this program so far, in bytes. What wait() tells the parent would count the parent's."""
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0
