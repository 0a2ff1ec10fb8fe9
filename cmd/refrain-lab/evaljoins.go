package main

import "refrain/lab/eval/joins"

// joinTables are those of exact joins.
func joinTables() []evalTable {
	return []evalTable{
		{"ppjoin", "Exact joins by threshold: candidates and time", joins.Thresholds},
		{"ppjoin-growth", "Exact joins by how much data there is", joins.Growth},
		{"shingles", "Near-duplicate documents by samples of shingles, against 4-grams", joins.Shingles},
		{"products", "Products of two catalogues joined by name: precision and recall", joins.Products},
	}
}
