package text

// DefaultMinTokens is the least number of words of a sentence that is compared, where no configuration says another.
const DefaultMinTokens = 4

// DefaultThreshold is the least similarity of a match, where no configuration says another.
var DefaultThreshold = Threshold{Num: 4, Den: 5}
