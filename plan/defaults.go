package plan

// DefaultCosts are the costs as far as they are measured. "Here" is the machine of docs/plan.md: 2 shared vCPUs of an AMD
// EPYC, much other work beside, 2026-11-21; look-ups are by BenchmarkLookup of this package.
func DefaultCosts() Costs {
	return Costs{
		DecodeMicros: 0.8, // BenchmarkDecodePost: ASCII 0.55, escaped Cyrillic 1.1 (docs/measurements/benchmarks.md, by stage)
		// A process with the role split alone, less DecodeMicros and NATS.WriteMicros: 6.0 to 6.6 µs (refrain-lab bench cluster).
		// Requests of many posts; those of one take the time of a request besides.
		SplitMicros:  5,
		ReadMicros:   1.5, // here, BenchmarkBatchDecode of topic 0.87; the rest is allowed for fetching: not measured by itself
		InsertMicros: 3.5, // here, from 0.5 to 1 M texts, prefix engine, 3.2 to 3.7 over thresholds, scan 2.0 to 2.3
		// A match takes 3.3 (here: look-ups at 1 M texts, less those that find nothing, by match; 2.9 to 4.0 over thresholds);
		// making the event 5, which is not measured by itself: the order of a post's record.
		EventMicros: 8.3,
		// refrain-lab bench cluster: the process with publish and api, less its share of time, by event; one client follows.
		PublishMicros: 12,

		// refrain-lab bench cluster, brokers of one node. Of the processes for look-ups what is left once look-ups, insertions and
		// events are taken off; of the broker from the deployments with two readers and with four, while posts come as fast as they
		// go through. A broker with little to do takes more for each: Kafka 120 µs a post at 2,200 posts/s, for its requests then
		// have few (refrain-lab bench hot).
		Kafka: BrokerCost{WriteMicros: 0.8, ReadMicros: 2.2, TakeMicros: 2, HandMicros: 1.5, HopSeconds: 0.005, HopTail: 0.025},
		NATS:  BrokerCost{WriteMicros: 0.5, ReadMicros: 1.5, TakeMicros: 0.8, HandMicros: 0.3, HopSeconds: 0.005, HopTail: 0.025},

		// 3.5 µs to 10⁶ rows and 9 in 25·10⁶ (docs/measurements/benchmarks.md, growth). Replay is reading and this: 5.0 µs planned where
		// 2.7 to 3.8 of processor time were measured, 205,000 sentences of ira in a window that lets nothing go, from topics in
		// memory and embedded ones.
		InsertGrowth: 0.29,
		// The same posts, and made-up ones in 10⁶ rows: 1.2 to 1.8 (docs/design/0021-snapshots.md).
		RestoreMicros: 1.6,

		// Here, 2026-11-23, ira, profiles of refrain backfill: gather 1.0 in memory and 1.2 into runs (2026-11-24), merge 0.2 and split 2.2, insert and
		// expire 1.8 to 2.4, an event 2.0 to 3.6 and its match 3.3. A post of a run-in takes 4.0, from slices of 1 and 7 days with a span of 7.
		GatherMicros: 1.2, MergeMicros: 2.4, BackfillInsertMicros: 1.8, BackfillEventMicros: 5.3, SortBytes: 128 << 20,
		// Runs of ira and Weibo had 0.35 and 0.31 of the bytes of the posts, with --keep first 0.48, of a CSV of 5 GB 0.56.
		RunShare: 0.35, RunShareKept: 0.56,

		RecordBytes: 64,  // here, BenchmarkFeed: 63 to 71 in five of six streams, 37 in ira, where texts repeat within a record
		EventBytes:  880, // refrain detect, ira, pheme, crisislex, weibo: 1,017 to 1,117 bytes a line with two texts
		// Here, BenchmarkTopicBytes of server, 100 posts a request: 0.80 to 0.93 in four streams, and 227 to 335 bytes an
		// event of some 1,060. Of 1,000 posts a request 0.68 to 0.74 and 212 to 242; of one, 1.7 to 2.1 and 499 to 605.
		RecordShare: 0.87, EventShare: 0.25,
		// Here, refrain serve, ira, 100 posts a request: 1,457 of 1,917 events (20,000 posts), 1,094 of 10,089, 948 of 31,254, 868 of
		// 56,418 (200,000): an event adds less the more is known of its texts. That is 127 to 239 bytes a sentence.
		IndexBytes:  900,
		LetterBytes: 2 * 9 * (64 << 20), // dead letters and dead events, each dead_letters.files + 1 of dead_letters.bytes

		BatchSeconds: 0.005, // the bound of the detector's batches
		MaxBatch:     64,    // sigstore/scan: more at once make none cheaper
		HopSeconds:   0.005, // not measured: assumed
		HopTail:      0.025, // not measured: assumed

		// Here, 2026-11-23, nothing else on the machine: look-ups that find nothing, which in one of many partitions nearly all
		// do (a match counts in EventMicros), at 62,500 to 1,000,000 texts, medians of three runs; exponents by least squares of
		// logarithms with the base fixed. At 0.6 and 0.8 Million is what 10⁶ made-up sentences took, some tenth more, and Large
		// goes on from there to 25·10⁶ of them (docs/measurements/benchmarks.md, growth); 0.9 is taken as 0.8, 0.7 as 0.6, and
		// 0.5 and all scans in proportion. 3/7 is Dice at 0.6, which is the same search: one run, matches included.
		Prefix: []LookupCost{
			{Threshold: 3. / 7, Base: 1, Million: 106, Exponent: 1, Large: 1},
			{Threshold: 0.5, Base: 1, Million: 27.6, Exponent: 0.80, Large: 1},
			{Threshold: 0.6, Base: 1, Million: 7.6, Exponent: 0.68, Large: 0.89},
			{Threshold: 0.7, Base: 1, Million: 3.5, Exponent: 0.57, Large: 0.89},
			{Threshold: 0.8, Base: 1, Million: 2.4, Exponent: 0.48, Large: 0.42},
			{Threshold: 0.9, Base: 1, Million: 1.1, Exponent: 0.51, Large: 0.42},
		},
		// By cosine: the same. Large: that of Jaccard at about the same cost, or in proportion.
		Cosine: []LookupCost{
			{Threshold: 0.6, Base: 1, Million: 126, Exponent: 1, Large: 1},
			{Threshold: 0.7, Base: 1, Million: 15.6, Exponent: 0.72, Large: 1},
			{Threshold: 0.8, Base: 1, Million: 4.7, Exponent: 0.56, Large: 0.89},
		},
		// Here, 2026-11-21, much other work beside, matches included: an upper bound.
		Scan: []LookupCost{
			{Threshold: 0.5, Base: 1, Million: 77.9, Exponent: 0.94, Large: 1},
			{Threshold: 0.6, Base: 1, Million: 32.7, Exponent: 0.92, Large: 1},
			{Threshold: 0.7, Base: 1, Million: 21.6, Exponent: 0.84, Large: 1},
			{Threshold: 0.8, Base: 1, Million: 15.5, Exponent: 0.81, Large: 1},
			{Threshold: 0.9, Base: 1, Million: 7.9, Exponent: 0.71, Large: 1},
		},
		// Here, BenchmarkBands: the distinct sentences of all streams.
		BandShare: []AtThreshold{{0.5, 0.771}, {0.6, 0.626}, {0.7, 0.468}, {0.8, 0.320}, {0.9, 0.160}},
		GPU: GPUCost{
			// Base: 1.6 of a look-up that finds nothing (BenchmarkLookup of sigstore/gpu, 2026-11-28, kernels that do nothing), of
			// which 0.2 to 1.0 is the host path; the rest is allowed for the driver, which is not measured, nor is Launch.
			Base: 1.8, Launch: 50, Batch: 256,
			False: 0.7, // here, scan at 0.5 without holders: 280 µs instead of 96, 318 compared instead of 43
			// The popcount kernel on an H200: goals below the bounds that follow from its issue rates at 32 and 64 bits
			// (docs/design/0006-cuda.md); in proportion beyond. Not measured here.
			Rate:  map[int]float64{32: 3.5e6, 64: 1.8e6, 128: 0.9e6, 256: 0.45e6},
			Bytes: 4,
		},
		// Here, BenchmarkFalse, distinct sentences of all streams, 32 bits with 1,000 queries in 400,000 sets, the others with
		// 300 in 200,000, where none found is written as 0.01.
		MD5: []FalseCost{
			{32, 1, []AtThreshold{{0.5, 15_800}, {0.6, 1_980}, {0.7, 210}, {0.8, 8.8}, {0.9, 0.15}}},
			{32, 2, []AtThreshold{{0.5, 250_700}, {0.6, 60_200}, {0.7, 9_530}, {0.8, 1_440}, {0.9, 109}}},
			{64, 1, []AtThreshold{{0.5, 154}, {0.6, 5.3}, {0.7, 0.3}, {0.8, 0.15}, {0.9, 0.01}}},
			{64, 2, []AtThreshold{{0.5, 6_720}, {0.6, 1_000}, {0.7, 124}, {0.8, 3.8}, {0.9, 0.01}}},
			{64, 4, []AtThreshold{{0.5, 216_000}, {0.6, 45_400}, {0.7, 6_660}, {0.8, 1_060}, {0.9, 91}}},
			{128, 1, []AtThreshold{{0.5, 2.4}, {0.6, 0.27}, {0.7, 0.01}, {0.8, 0.01}, {0.9, 0.01}}},
			{128, 2, []AtThreshold{{0.5, 27}, {0.6, 0.48}, {0.7, 0.02}, {0.8, 0.01}, {0.9, 0.01}}},
			{128, 4, []AtThreshold{{0.5, 5_010}, {0.6, 813}, {0.7, 104}, {0.8, 3}, {0.9, 0.01}}},
			{256, 1, []AtThreshold{{0.5, 0.35}, {0.6, 0.08}, {0.7, 0.01}, {0.8, 0.01}, {0.9, 0.01}}},
			{256, 2, []AtThreshold{{0.5, 0.13}, {0.6, 0.03}, {0.7, 0.01}, {0.8, 0.01}, {0.9, 0.01}}},
			{256, 4, []AtThreshold{{0.5, 19}, {0.6, 0.4}, {0.7, 0.01}, {0.8, 0.01}, {0.9, 0.01}}},
		},
		// The same, 2026-11-28.
		Passing: []FalseCost{
			{32, 1, []AtThreshold{{0.5, 3_320}, {0.6, 324}, {0.7, 24.8}, {0.8, 1.85}, {0.9, 0.0833}}},
			{32, 2, []AtThreshold{{0.5, 8_900}, {0.6, 1_960}, {0.7, 452}, {0.8, 91.8}, {0.9, 6.67}}},
			{32, 4, []AtThreshold{{0.5, 65_100}, {0.6, 26_300}, {0.7, 9_680}, {0.8, 3_080}, {0.9, 542}}},
			{64, 1, []AtThreshold{{0.5, 39.2}, {0.6, 2.12}, {0.7, 0.117}, {0.8, 0.05}, {0.9, 0.01}}},
			{64, 2, []AtThreshold{{0.5, 38.9}, {0.6, 2.68}, {0.7, 0.167}, {0.8, 0.01}, {0.9, 0.01}}},
			{64, 4, []AtThreshold{{0.5, 620}, {0.6, 195}, {0.7, 55.9}, {0.8, 11}, {0.9, 1.1}}},
			{128, 1, []AtThreshold{{0.5, 2.18}, {0.6, 0.167}, {0.7, 0.01}, {0.8, 0.01}, {0.9, 0.01}}},
			{128, 2, []AtThreshold{{0.5, 0.2}, {0.6, 0.0167}, {0.7, 0.01}, {0.8, 0.01}, {0.9, 0.01}}},
			{128, 4, []AtThreshold{{0.5, 0.267}, {0.6, 0.01}, {0.7, 0.01}, {0.8, 0.01}, {0.9, 0.01}}},
			{256, 1, []AtThreshold{{0.5, 0.317}, {0.6, 0.0333}, {0.7, 0.01}, {0.8, 0.01}, {0.9, 0.01}}},
			{256, 2, []AtThreshold{{0.5, 0.0833}, {0.6, 0.01}, {0.7, 0.01}, {0.8, 0.01}, {0.9, 0.01}}},
			{256, 4, []AtThreshold{{0.5, 0.01}, {0.6, 0.01}, {0.7, 0.01}, {0.8, 0.01}, {0.9, 0.01}}},
		},
		// Here: 0.12 by Scan at 0.5, where 43 of 318 inside the radius pass the holders and are compared; 0.22 by look-ups of
		// tweets at 0.6 with 32 bits, 60 of 191 (refrain-lab eval effect).
		// With two bits a token, of the same 64, BenchmarkLookup/scan_of_two_ones less scan at 1 M texts, 2026-11-23: 0.042 at 0.5,
		// where 67 of 6,720 are compared, 0.045 at 0.6; the scans of one bit took 1.4 and 1.9 times as long as above: in proportion.
		FalseMicros: 0.2, MoreMicros: 0.03,

		// The parts follow from the layout of the window (package sigstore). Here, without texts, 1.41 occurrences a text: 158
		// bytes a text at threshold 0.8 by the prefix engine, 123.5 by scan.
		RowBytes: 24, TableBytes: 7.5, SetBytes: 1, TokenBytes: 2.2, OccurrenceBytes: 27, TextBytes: 8, DictionaryBytes: 15,
		PrefixBytes: 14, // here: 139, 158, 174, 190, 207 bytes a text at 0.9 to 0.5: 16 to 19 a step, which is 1.2 tokens
		ScanBytes:   4,

		ProcessBytes: 70e6, // docs/measurements/benchmarks.md, the window: RSS less what the window holds, 68 and 72 MB
		Garbage:      0.08, // the least that internal/memory lets grow
	}
}
