package main

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"refrain/hashcodes"
)

func (m *Main) model() *cobra.Command {
	return &cobra.Command{
		Use:   "model default|md5|FILE",
		Short: "Show what a model of codes is, and what it was learned from",
		Long: "Print a model's description as JSON: the shape of its codes, its words, and its report: what it was learned from\n" +
			"and the false candidates of hashed codes (before) and of its own (after) on sentences kept aside.",
		Example: "  refrain model default\n" +
			"  refrain model posts.model",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("%d models: want one of default, md5 or a file", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			flags := modelFlags{name: args[0], bits: hashcodes.DefaultBits, ones: hashcodes.DefaultOnes}
			model, err := flags.model()
			if err != nil {
				return err
			}
			e := json.NewEncoder(m.Stdout)
			e.SetIndent("", "  ")
			return e.Encode(shownModel(model))
		},
	}
}

// shownModel is a model's description as people read it.
func shownModel(m *hashcodes.Model) any {
	description := m.Description()
	return struct {
		Name        string          `json:"name"`
		Bits        int             `json:"bits"`
		Ones        int             `json:"ones"`
		Learner     string          `json:"learner"`
		Seed        uint64          `json:"seed"`
		TextVersion int             `json:"text_version"`
		Words       int             `json:"words"`
		TrainedOn   json.RawMessage `json:"trained_on,omitempty"`
	}{
		m.Name(), description.Bits, description.Ones, description.Learner, description.Seed, description.TextVersion,
		m.Len(), json.RawMessage(description.TrainedOn),
	}
}
