package record

// SetMaxFacts makes pages smaller, for small worlds.
func SetMaxFacts(n int) { maxFacts = n }
