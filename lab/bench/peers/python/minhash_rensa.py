"""rensa's RMinHashLSH, in bulk calls, then verification. A block is queried when it is in."""
from rensa import RMinHash, RMinHashLSH

from peer import Peer, flat


def arguments(parser):
    parser.add_argument("--perm", type=int, default=128)
    parser.add_argument("--bands", type=int, required=True)


def main():
    peer = Peer(arguments)
    lsh = RMinHashLSH(threshold=peer.num / peer.den, num_perm=peer.args.perm, num_bands=peer.args.bands)
    for first, last in peer.blocks(1000):
        peer.timed("look", block, peer, lsh, first, last)
    peer.report(f"{peer.args.perm} permutations, {peer.args.bands} bands of {peer.args.perm // peer.args.bands}")


def block(peer, lsh, first, last):
    begin = peer.starts[first]
    tokens = peer.numbers[begin : peer.ends[last - 1]].tobytes()
    bounds = [(4 * (peer.starts[r] - begin), 4 * (peer.ends[r] - begin)) for r in range(first, last)]
    sets = [[tokens[at : at + 4] for at in range(a, b, 4)] for a, b in bounds]
    sketches = RMinHash.from_token_sets(sets, num_perm=peer.args.perm, seed=42)
    lsh.insert_many(sketches, first)
    peer.candidates(*flat(peer.looked_up(first, last), lsh.query_all(sketches)))


main()
