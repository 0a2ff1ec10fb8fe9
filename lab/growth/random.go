package growth

import "math"

// random is a stream of numbers that its key decides: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
type random struct{ state uint64 }

// keyed begins the stream of a key.
func keyed(key ...uint64) random {
	state := uint64(0)
	for _, k := range key {
		state = mix(state + k*0x9e3779b97f4a7c15 + 0x632be59bd9b4e019)
	}
	return random{state}
}

func (r *random) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	return mix(r.state)
}

// float is uniform, at least 0 and less than 1.
func (r *random) float() float64 { return unit(r.next()) }

// intn is uniform, at least 0 and less than n.
func (r *random) intn(n int) int { return int(r.float() * float64(n)) }

// normal is Gaussian, of mean 0 and variance 1.
func (r *random) normal() float64 {
	return math.Sqrt(-2*math.Log(1-r.float())) * math.Cos(2*math.Pi*r.float())
}

func unit(x uint64) float64 { return float64(x>>11) / (1 << 53) }

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
