package detector

import (
	"errors"
	"fmt"
	"time"

	"refrain/hashcodes"
	"refrain/sigstore"
	"refrain/text"
)

// Config says what counts as a match and what the window may hold. Default has values for all of it: a 0 is a value,
// never the default.
type Config struct {
	MinTokens  int                   // least words of a sentence that a Detector compares: see text.Compared
	Similarity text.Similarity       // of token sets: Jaccard, Cosine or Dice
	Threshold  text.Threshold        // the least of a match: more than 0, at most 1
	Span       time.Duration         // how far back a repeat may lie: 1 ms or more
	Lateness   time.Duration         // how far behind the newest posts one may come: 0 or more
	MaxMatches int                   // groups that one look-up reports at most, its own first; 0: no limit
	Flood      int                   // groups that one reports that has more than MaxMatches: 1 to MaxMatches; without a limit nothing
	MaxLater   int                   // later occurrences, of all groups, that one look-up reports at most; 0: no limit
	FloodLater int                   // as Flood
	Budget     int64                 // bytes of the window; 0: no limit
	Reserved   func() int64          // bytes of the budget that others hold; nil: none
	OmitTexts  bool                  // keep no texts in the window
	Model      *hashcodes.Model      // codes of the tokens
	Engine     Engine                // finds candidates
	Dealer     *Dealer               // gives each window its engine, in place of Engine; nil: all have Engine
	AuthorKey  sigstore.AuthorKey    // of the count of authors: secret where they are not to be trusted
	OnForced   func(sigstore.Forced) // told when the budget forces early expiry; nil: nobody is
}

// Default is a window of a day without limits.
func Default() Config {
	return Config{
		MinTokens: text.DefaultMinTokens, Threshold: text.DefaultThreshold,
		Span: 24 * time.Hour, Lateness: 5 * time.Minute,
		Model: hashcodes.Default(), Engine: Auto(nil),
	}
}

func (c *Config) validate() error {
	errs := c.checkNumbers()
	if c.Model == nil {
		errs = append(errs, errors.New("no model: begin with Default"))
	}
	if c.Engine == nil && c.Dealer == nil {
		errs = append(errs, errors.New("no engine: begin with Default"))
	}
	return errors.Join(errs...)
}

func (c *Config) checkNumbers() (errs []error) {
	if err := c.Measure().Check(); err != nil {
		errs = append(errs, err)
	}
	if c.Span < time.Millisecond {
		errs = append(errs, fmt.Errorf("span %v: want at least 1ms", c.Span))
	}
	if c.Lateness < 0 {
		errs = append(errs, fmt.Errorf("lateness %v: want 0 or more", c.Lateness))
	}
	if c.MaxMatches < 0 || c.Budget < 0 {
		errs = append(errs, fmt.Errorf("max matches %d, budget %d: want 0 (no limit) or more", c.MaxMatches, c.Budget))
	}
	if c.MaxMatches > 0 && (c.Flood < 1 || c.Flood > c.MaxMatches) {
		errs = append(errs, fmt.Errorf("flood %d: want 1 to the max matches, %d", c.Flood, c.MaxMatches))
	}
	if c.MaxLater < 0 || c.MaxLater > 0 && (c.FloodLater < 1 || c.FloodLater > c.MaxLater) {
		errs = append(errs, fmt.Errorf("max later %d, flood later %d: want 0 (no limit) or more, and 1 to that", c.MaxLater, c.FloodLater))
	}
	return errs
}

// Measure says which sentences are similar enough.
func (c *Config) Measure() text.Measure { return c.Similarity.At(c.Threshold) }

// coding is what the window needs of a model.
func (c *Config) coding(m *hashcodes.Model) sigstore.Coding {
	bounds := hashcodes.NewBounds(c.Measure(), m.Ones())
	return sigstore.Coding{Model: m, Bounds: bounds, Engine: c.Engine(bounds, m)}
}
