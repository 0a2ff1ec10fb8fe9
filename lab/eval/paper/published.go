package paper

// What Zhang et al., SIGIR 2012, print. Learners are in the order of theirs: md5, ner, opt.

// published2 is a part of Table 2: #can by d from 0, of 2,000 queries among 1,000,000 sentences.
type published2 struct {
	corpus     string
	candidates [3][]int
	precision  []float64    // of opt
	recall     [3][]float64 // nil: not in the text
}

// tipster and sogou are from the paper's Table 2.
var (
	tipster = published2{
		corpus: "TIPSTER",
		candidates: [3][]int{
			{19_087, 172_464, 992_403, 3_955_643, 12_049_613, 29_990_264},
			{8_881, 64_361, 416_552, 1_889_988, 6_472_842, 17_857_693},
			{4_704, 7_262, 27_060, 139_808, 632_570, 2_358_244},
		},
		precision: []float64{.965, .648, .182, .036, .008, .002},
		recall: [3][]float64{
			{.896, .928, .965, .992, 1, 1}, {.896, .929, .968, .994, 1, 1}, {.891, .924, .966, .988, .998, 1.000},
		},
	}
	sogou = published2{
		corpus: "SogouT 2.0",
		candidates: [3][]int{
			{15_686, 72_832, 310_708, 1_146_414, 3_775_472, 11_025_379},
			{15_205, 67_964, 258_559, 862_317, 2_654_901, 7_574_689},
			{15_773, 67_846, 242_141, 727_063, 2_001_083, 5_306_237},
		},
		precision: []float64{.623, .247, .091, .033, .012, .004},
		recall:    [3][]float64{{.394, .669, .907, .987, .998, .999}, nil, {.403, .687, .907, .986, .998, .999}},
	}
)

// published3 is a row of Table 3: candidates a sentence where the recall is least and where it is 1.00, rounded.
type published3 struct {
	corpus      string
	recall      [2]string // with d
	truth       float64
	candidates  [2][3]float64
	outOfDomain float64 // Table 4: opt with codes of the web, at recall 1.00
}

var table3 = []published3{
	{"TIPSTER (en, news)", [2]string{".89 (0)", "1.00 (4)"}, 2.5,
		[2][3]float64{{9.5, 4.4, 2.4}, {6024.8, 3236.4, 316.3}}, 5482.1},
	{"Twitter (en)", [2]string{".88 (0)", "1.00 (4)"}, 1.5, [2][3]float64{{1.6, 1.6, 1.6}, {488.1, 485.1, 477.4}}, 492.1},
	{"ClueWeb09 (en)", [2]string{".77 (0)", "1.00 (4)"}, 35.1,
		[2][3]float64{{27.7, 27.3, 26.9}, {1253.0, 1006.4, 554.1}}, 796.4},
	{"Zhidao (zh)", [2]string{".75 (0)", "1.00 (3)"}, 2.6, [2][3]float64{{3.0, 3.0, 2.9}, {147.2, 108.7, 94.5}}, 88.1},
	{"Weibo (zh)", [2]string{".99 (0)", "1.00 (2)"}, 37.5, [2][3]float64{{40.4, 39.5, 39.6}, {145.8, 95.0, 47.4}}, 49.1},
	{"SogouT (zh)", [2]string{".90 (2)", "1.00 (4)"}, 12.2,
		[2][3]float64{{155.4, 129.3, 121.1}, {1887.7, 1327.5, 1000.5}}, 1228.9},
}
