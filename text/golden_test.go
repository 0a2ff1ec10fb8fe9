package text

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"refrain/internal/dataset"
)

type goldenRule struct {
	Lang     string
	N        int
	Name     string
	Text     string
	Expected []string
}

// goldenFailures are the golden rules that this package decides otherwise; docs/text.md gives the reasons.
var goldenFailures = []string{"ar 1", "ar 4", "ar 5"}

// TestGoldenRules pins the list, so that an improvement changes it as a regression does. White space and
// backslashes are left out of the comparison: some rules expect a line break or an escape to be taken out of
// the text, which byte ranges cannot do.
func TestGoldenRules(t *testing.T) {
	b, err := os.ReadFile(dataset.File(t, "segment/golden_rules.json"))
	if err != nil {
		t.Fatal(err)
	}
	var rules []goldenRule
	if err := json.Unmarshal(b, &rules); err != nil {
		t.Fatal(err)
	}
	var s Splitter
	var failures []string
	for _, r := range rules {
		var got, want []string
		sentences, _ := s.Split(r.Text)
		for _, x := range sentences {
			got = append(got, squeeze(r.Text[x.Start:x.End]))
		}
		for _, x := range r.Expected {
			want = append(want, squeeze(x))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			failures = append(failures, fmt.Sprintf("%s %d", r.Lang, r.N))
			t.Logf("%s %d %s (-want +got):\n%s", r.Lang, r.N, r.Name, diff)
		}
	}
	if diff := cmp.Diff(goldenFailures, failures); diff != "" {
		t.Errorf("rules that fail, of %d (-want +got):\n%s", len(rules), diff)
	}
}

func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '\\' {
			return -1
		}
		return r
	}, s)
}
