"""py_stringsimjoin's jaccard_join and cosine_join, in Cython. They join two tables: the collection is given twice, and of what
comes out a pair is kept once."""
import pandas as pd
from py_stringmatching import WhitespaceTokenizer
from py_stringsimjoin import cosine_join, jaccard_join

import join


def pairs_of(sets, measure, threshold):
    table = pd.DataFrame({"line": range(len(sets)), "tokens": pd.Series(sets, dtype=object)})
    of = {"jaccard": jaccard_join, "cosine": cosine_join}[measure]
    found = of(table, table, "line", "line", "tokens", "tokens", WhitespaceTokenizer(return_set=True), threshold,
               allow_missing=False, out_sim_score=False, n_jobs=1, show_progress=False)
    left, right = found["l_line"].to_numpy(), found["r_line"].to_numpy()
    once = left < right
    return list(zip(left[once].tolist(), right[once].tolist()))


join.run(pairs_of)
