"""SetSimilaritySearch's all_pairs: All-Pairs with a positional filter, in Python over numpy."""
from SetSimilaritySearch import all_pairs

import join


def pairs_of(sets, measure, threshold):
    split = [line.split() for line in sets]
    return [(x, y) for x, y, _ in all_pairs(split, similarity_func_name=measure, similarity_threshold=threshold)]


join.run(pairs_of)
