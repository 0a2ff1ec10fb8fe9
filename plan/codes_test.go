package plan_test

import (
	"testing"

	"refrain/hashcodes"
	"refrain/plan"
)

// scanMicros is the time of a look-up by scan.
func scanMicros(t *testing.T, f plan.Feed, m plan.Machine, c plan.Costs) float64 {
	t.Helper()
	r, err := plan.Plan(f, m, c)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range r.Alternatives {
		if a.Engine == "scan" {
			return a.LookupMicros
		}
	}
	t.Fatalf("no scan among %+v", r.Alternatives)
	return 0
}

// TestFalseCandidatesOnPaper: what was measured with md5 of 64 bits and one, less its false candidates, in proportion to the
// bits, and those of the codes there are. A million rows, one partition.
func TestFalseCandidatesOnPaper(t *testing.T) {
	f, m, c := simple()
	f.PostsPerDay = 2e6
	at := func(value float64) []plan.AtThreshold { return []plan.AtThreshold{{Threshold: 0.8, Value: value}} }
	c.FalseMicros, c.MoreMicros = 2, 3
	c.MD5 = []plan.FalseCost{{Bits: 64, Ones: 1, PerMillion: at(100)}, {Bits: 64, Ones: 2, PerMillion: at(400)},
		{Bits: 128, Ones: 1, PerMillion: at(5)}}
	near(t, "as measured", scanMicros(t, f, m, c), 3000)
	f.Ones = 2
	near(t, "two bits a token", scanMicros(t, f, m, c), 2800+3*400)
	f.Ones = 3
	near(t, "three, which were not measured", scanMicros(t, f, m, c), 2800+3*400)
	f.Bits, f.Ones = 128, 1
	near(t, "128 bits", scanMicros(t, f, m, c), 2*2800+2*5)
	f.Bits, f.FalsePerMillion = 64, at(30)
	near(t, "learned codes", scanMicros(t, f, m, c), 2800+2*30)
}

// TestSetCodes: learned codes have the share of the false candidates of md5 that their model reports.
func TestSetCodes(t *testing.T) {
	c := plan.Costs{MD5: []plan.FalseCost{
		{Bits: 64, Ones: 1, PerMillion: []plan.AtThreshold{{Threshold: 0.6, Value: 50}, {Threshold: 0.8, Value: 2}}},
		{Bits: 64, Ones: 2, PerMillion: []plan.AtThreshold{{Threshold: 0.6, Value: 900}, {Threshold: 0.8, Value: 10}}},
	}}
	for _, x := range []struct {
		name, trained string
		want          []float64
	}{
		{"two thresholds", `{"ones_asked":1,"measured":[{"threshold":"3/5","before":{"false":99},"after":{"false":49}},` +
			`{"threshold":"4/5","before":{"false":3},"after":{"false":0}}]}`, []float64{25, 0.5}},
		{"one threshold, against two bits a token",
			`{"ones_asked":2,"threshold":"0.6","before":{"false":899},"after":{"false":8}}`, []float64{9, 0.1}},
		{"two bits were asked for, one is compared with",
			`{"ones_asked":2,"ones_before":1,"threshold":"0.6","before":{"false":99},"after":{"false":49}}`, []float64{25, 1}},
		{"nothing known", `{"by":"hand"}`, nil},
		{"no object", `[1]`, nil},
		{"nothing said", "", nil},
	} {
		m, err := hashcodes.New(hashcodes.Description{Bits: 64, Ones: 1, Learner: "hand", TrainedOn: x.trained}, nil)
		if err != nil {
			t.Fatal(err)
		}
		f := plan.DefaultFeed()
		f.SetCodes(m, &c)
		if f.Model != "hand-64-1" || f.Bits != 64 || f.Ones != 1 || len(f.FalsePerMillion) != len(x.want) {
			t.Errorf("%s: got %+v", x.name, f)
			continue
		}
		for i, want := range x.want {
			near(t, x.name, f.FalsePerMillion[i].Value, want)
		}
	}
}

// TestDefaultModelIsKnown: the planner reads what the embedded model reports, at every threshold that md5 was measured at.
func TestDefaultModelIsKnown(t *testing.T) {
	f, c := plan.DefaultFeed(), plan.DefaultCosts()
	f.SetCodes(hashcodes.Default(), &c)
	for i, at := range f.FalsePerMillion {
		md5 := c.MD5[2].PerMillion[i]
		few := md5.Value < 1 // at 0.7 and above: then a difference is chance
		if c.MD5[2].Bits != 64 || c.MD5[2].Ones != 1 || at.Threshold != md5.Threshold || !few && at.Value >= md5.Value ||
			at.Value <= 0 || at.Value > 2*md5.Value {
			t.Errorf("got %+v, md5 %+v", at, md5)
		}
	}
	if len(f.FalsePerMillion) != 5 {
		t.Errorf("got %+v", f.FalsePerMillion)
	}
}
