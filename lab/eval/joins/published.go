package joins

import (
	"refrain/internal/units"
	"refrain/lab/report"
)

// What Xiao et al., WWW 2008, print.

// publishedTable1 is their Table 1, of DBLP by Jaccard.
var publishedTable1 = []struct {
	threshold          string
	allPairs, pp, plus int
}{
	{"0.95", 199_268, 176_971, 32_397},
	{"0.90", 1_857_987, 657_200, 36_318},
	{"0.80", 16_983_319, 3_303_232, 63_265},
}

func publishedCandidates() report.Grid {
	g := report.Grid{Caption: "**The paper's Table 1**: candidates on DBLP, by Jaccard (the row of .85 is not at hand)",
		Head: []string{"t", "allpairs", "ppjoin", "ppjoin+", "allpairs / ppjoin", "allpairs / ppjoin+"}}
	for _, p := range publishedTable1 {
		g.Add(p.threshold, units.Thousands(p.allPairs), units.Thousands(p.pp), units.Thousands(p.plus),
			times(float64(p.allPairs), float64(p.pp)), times(float64(p.allPairs), float64(p.plus)))
	}
	return g
}

func publishedSpeed() report.Grid {
	g := report.Grid{Caption: "**The paper's speed** against its All-Pairs at t = .8, up to",
		Head: []string{"", "ppjoin", "ppjoin+"}}
	g.Add("DBLP, jaccard", "2 x", "2.6 x")
	g.Add("Enron, jaccard", "3 x", "4 x")
	g.Add("DBLP by 3-grams, jaccard", "3 x", "5 x")
	g.Add("DBLP, cosine", "2 x", "3 x")
	g.Add("Enron, cosine", "1.6 x", "1.7 x")
	return g
}

// publishedSample is section 7.5: what 32 min-wise shingles find of what 4-grams do.
var publishedSample = map[string][2]string{"0.95": {".38", ".11"}, "0.80": {".57", ".03"}}
