"""datasketch MinHashLSH, its bulk generator and settings as they come, then verification.

Tokens are given as numbers, which the library mixes itself; hashing strings would cost more.
"""
from datasketch import MinHash, MinHashLSH

from peer import Peer, flat


def arguments(parser):
    parser.add_argument("--perm", type=int, default=128)


def main():
    peer = Peer(arguments)
    lsh = MinHashLSH(threshold=peer.num / peer.den, num_perm=peer.args.perm)
    for first, last in peer.blocks(1000):
        peer.timed("look", block, peer, lsh, first, last)
    peer.report(f"{peer.args.perm} permutations, {lsh.b} bands of {lsh.r}")


def block(peer, lsh, first, last):
    sets = (peer.numbers[peer.starts[r] : peer.ends[r]].tolist() for r in range(first, last))
    found = []
    for row, sketch in enumerate(MinHash.generator(sets, num_perm=peer.args.perm, hashfunc=int), first):
        found.append(lsh.query(sketch))
        lsh.insert(row, sketch, check_duplication=False)
    peer.candidates(*flat(peer.looked_up(first, last), found))


main()
