package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"refrain/feed"
	"refrain/internal/terminal"
	"refrain/server"
)

func (m *Main) match() *cobra.Command {
	var address, token, threshold string
	var raw bool
	cmd := &cobra.Command{
		Use:   "match TEXT",
		Short: "Ask a running server what a text repeats",
		Long: "Look each sentence of a text up in the window of a running server, as if it were posted now, without " +
			"storing\nit. With - the text comes from stdin.",
		Example: `  refrain match "The quick brown fox jumps over the lazy dog."` + "\n" +
			`  refrain match --server http://127.0.0.1:9000 --json - < article.txt`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("want one text, got %d arguments (quote the text)", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			text := args[0]
			if text == "-" {
				in, err := io.ReadAll(io.LimitReader(m.Stdin, maxMatchText+1)) // the server refuses a longer one
				if err != nil {
					return err
				}
				text = string(in)
			}
			question := map[string]string{"text": text}
			if threshold != "" {
				question["threshold"] = threshold
			}
			body, err := requestMatch(cmd.Context(), address, cmp.Or(token, os.Getenv("REFRAIN_TOKEN")), question)
			if err != nil {
				return err
			}
			if raw {
				_, err = m.Stdout.Write(body)
				return err
			}
			return m.printMatches(body)
		},
	}
	cmd.Flags().StringVar(&address, "server", "http://"+server.Default().HTTP, "address of the server")
	cmd.Flags().StringVar(&token, "token", "", "bearer token, if the server wants one (default $REFRAIN_TOKEN)")
	cmd.Flags().StringVar(&threshold, "threshold", "", "least similarity, at or above the server's (default the server's)")
	cmd.Flags().BoolVar(&raw, "json", false, "print the server's answer as it is")
	return cmd
}

// maxMatchText is what the server takes of one text.
const maxMatchText = 1 << 20

func requestMatch(ctx context.Context, address, token string, question map[string]string) ([]byte, error) {
	asked, err := json.Marshal(question)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(address, "http://") && !strings.HasPrefix(address, "https://") {
		return nil, usage("--server %q: want http:// or https:// and a host, as in http://127.0.0.1:8080", address)
	}
	url := strings.TrimSuffix(address, "/") + "/v1/match"
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(asked))
	if err != nil {
		return nil, usage("--server: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, fmt.Errorf("%w (is `refrain serve` running there?)", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("POST %s: %w", url, err)
	}
	if resp.StatusCode == http.StatusUnauthorized {
		return nil, fmt.Errorf("POST %s: %s (give it with --token or REFRAIN_TOKEN)", url, refusal(resp, body))
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("POST %s: %s", url, refusal(resp, body))
	}
	return body, nil
}

// refusal is what an answer says went wrong: title and detail of a problem document, else the answer as it is.
func refusal(resp *http.Response, body []byte) string {
	var p struct{ Title, Detail string }
	if json.Unmarshal(body, &p) != nil || p.Title+p.Detail == "" {
		return resp.Status + ": " + terminal.Clean(string(bytes.TrimSpace(body)))
	}
	message := resp.Status
	if p.Title != "" && p.Title != http.StatusText(resp.StatusCode) {
		message += ": " + terminal.Clean(p.Title)
	}
	if p.Detail != "" {
		message += ": " + terminal.Clean(p.Detail)
	}
	if after := resp.Header.Get("Retry-After"); after != "" {
		message += " (again after " + terminal.Clean(after) + " s)"
	}
	return message
}

// answered is what of the server's answer is shown.
type answered struct {
	Sentences []struct {
		Text     string `json:"text"`
		Compared bool   `json:"compared"`
		Cut      bool   `json:"truncated"`
		Matches  []struct {
			Jaccard     float64 `json:"jaccard"`
			Measure     string  `json:"measure"`
			Similarity  float64 `json:"similarity"`
			Occurrences int     `json:"occurrences"`
			Truncated   bool    `json:"truncated"`
			Earlier     struct {
				Post string `json:"post"`
				Time string `json:"time"`
				Text string `json:"text"`
			} `json:"earlier"`
			First struct {
				Post string `json:"post"`
				Time string `json:"time"`
			} `json:"first"`
		} `json:"matches"`
	} `json:"sentences"`
	Missing []int `json:"missingPartitions"`
}

func (m *Main) printMatches(body []byte) error {
	var a answered
	if err := json.Unmarshal(body, &a); err != nil {
		return fmt.Errorf("answer of the server: %w", err)
	}
	var b strings.Builder
	for _, s := range a.Sentences {
		fmt.Fprintf(&b, "%s\n", terminal.Clean(s.Text))
		switch {
		case !s.Compared:
			fmt.Fprintln(&b, "  too short to be compared")
		case s.Cut:
			fmt.Fprintf(&b, "  repeats more texts than one answer holds (limits.match_results); %d of them shown: ask for "+
				"fewer sentences at a time\n", len(s.Matches))
		case len(s.Matches) == 0:
			fmt.Fprintln(&b, "  nothing like it in the window")
		}
		if len(s.Matches) > 0 && s.Matches[0].Truncated {
			fmt.Fprintf(&b, "  repeats more texts than the server reports (max_matches); %d of them:\n", len(s.Matches))
		}
		for _, r := range s.Matches {
			match := feed.Match{Jaccard: r.Jaccard, Measure: r.Measure, Similarity: r.Similarity}
			fmt.Fprintf(&b, "  %s %.3f  %s %s  %q\n    first in %s at %s, seen %d %s before\n",
				cmp.Or(r.Measure, "J"), match.Value(),
				r.Earlier.Time, terminal.Clean(r.Earlier.Post), terminal.Clean(r.Earlier.Text),
				terminal.Clean(r.First.Post), r.First.Time, r.Occurrences-1, terminal.Noun(r.Occurrences-1, "time"))
		}
	}
	if len(a.Missing) > 0 {
		fmt.Fprintf(m.Stderr, "not the whole window was looked in: nobody answered for %s %v (GET /readyz of the workers says why)\n",
			terminal.Noun(len(a.Missing), "partition"), a.Missing)
	}
	_, err := io.WriteString(m.Stdout, b.String())
	return err
}
