"""gaoya's MinHashStringIndex, in bulk calls, bands as it chooses them for the threshold, then verification.

It takes strings: tokens are given as numbers with spaces between. Its query leaves out what its sketches estimate to be
below the threshold. A block is queried when it is in.
"""
from gaoya.minhash import MinHashStringIndex

from peer import Peer, flat


def arguments(parser):
    parser.add_argument("--perm", type=int, default=128)


def main():
    peer = Peer(arguments)
    index = MinHashStringIndex(
        hash_size=32, jaccard_threshold=peer.num / peer.den, num_bands=None, band_size=None,
        num_hashes=peer.args.perm, id_container="smallvec",
    )
    for first, last in peer.blocks(1000):
        peer.timed("look", block, peer, index, first, last)
    peer.report(f"{peer.args.perm} hashes; {index}")


def block(peer, index, first, last):
    rows = peer.looked_up(first, last)
    texts = [" ".join(map(str, peer.numbers[peer.starts[r] : peer.ends[r]].tolist())) for r in range(first, last)]
    index.par_bulk_insert_docs(list(range(first, last)), texts)
    peer.candidates(*flat(rows, index.par_bulk_query([texts[r - first] for r in rows])))


main()
