"""FAISS binary indexes: range search within one Hamming radius on OR codes, then verification.

Rows go in block by block, and a block is searched when it is in. FAISS takes one radius for all, as the paper does; it
finds distances below its radius, so it is given one more.
"""
import faiss
import numpy as np

from peer import Peer


def arguments(parser):
    parser.add_argument("--index", choices=("flat", "hash", "multihash"), required=True)
    parser.add_argument("--radius", type=int, required=True)


def index(kind, bits, radius):
    """Hash indexes with the settings that did best on signatures of sentences, which are far from uniform.

    MultiHash cuts a code into pieces, and some piece of a code within the radius has at most radius // pieces changes.
    It follows at most 2: more are too many buckets, fewer bits a piece too full ones. Hash looks at the first 16 bits.
    """
    if kind == "flat":
        return faiss.IndexBinaryFlat(bits), "exact within the radius"
    if kind == "hash":
        ix = faiss.IndexBinaryHash(bits, 16)
        ix.nflip = min(radius, 2)
        return ix, f"b=16 nflip={ix.nflip}"
    pieces = max(2, bits // 32)
    ix = faiss.IndexBinaryMultiHash(bits, pieces, bits // pieces)
    ix.nflip = min(radius // pieces, 2)
    return ix, f"nhash={pieces} b={bits // pieces} nflip={ix.nflip}"


def main():
    peer = Peer(arguments)
    faiss.omp_set_num_threads(1)
    codes = peer.load("codes.u32", np.uint32).view(np.uint8)
    codes = codes.reshape(-1, len(codes) // (peer.load("groups.u32", np.uint32).size))
    ix, note = index(peer.args.index, 8 * codes.shape[1], peer.args.radius)
    for first, last in peer.blocks(1024):
        peer.timed("add", ix.add, codes[first:last])
        peer.timed("look", search, peer, ix, codes, peer.looked_up(first, last))
    peer.report(f"radius {peer.args.radius}, {note}")


def search(peer, ix, codes, rows):
    if not len(rows):
        return
    ends, _, found = ix.range_search(np.ascontiguousarray(codes[rows]), peer.args.radius + 1)
    peer.candidates(np.repeat(rows, np.diff(ends.astype(np.int64))), found)


main()
