package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"refrain/internal/retry"
	"refrain/internal/terminal"
	"refrain/server"
)

func (m *Main) ready() *cobra.Command {
	var address, token string
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "ready",
		Short: "Ask a running server whether it wants posts",
		Long: "Ask GET /readyz and print what it answers. Exit status 0: ready; 1: not, or nobody answers, with the reasons on\n" +
			"stderr. It is what a container's health check runs, whose image has no shell, and what an upgrade waits for between\n" +
			"one process and the next. With a token of the scope admin the reasons have their details.",
		Example: "  refrain ready\n" +
			"  refrain ready --server http://match-2:8080 --wait 10m && echo next",
		Args: atMost(0, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			url, err := readyURL(address)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), max(wait, readyTimeout))
			defer cancel()
			answer, err := m.awaitReady(ctx, url, cmp.Or(token, os.Getenv("REFRAIN_TOKEN")), wait > 0)
			if err != nil {
				return err
			}
			_, err = io.WriteString(m.Stdout, answer)
			return err
		},
	}
	cmd.Flags().StringVar(&address, "server", localServer(os.Getenv("REFRAIN_HTTP")), "address of the server")
	cmd.Flags().StringVar(&token, "token", "", "bearer token, for the details (default $REFRAIN_TOKEN)")
	cmd.Flags().DurationVar(&wait, "wait", 0, "ask again and again, for so long at most")
	return cmd
}

// readyTimeout is how long one answer may take.
const readyTimeout = 5 * time.Second

// localServer is where the server of this machine, or container, answers that listens at an address.
func localServer(listens string) string {
	host, port, err := net.SplitHostPort(listens)
	if err != nil {
		return "http://" + server.Default().HTTP
	}
	if ip := net.ParseIP(host); host == "" || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// awaitReady asks once, or until the server is ready or ctx ends; meanwhile it says what it waits for, whenever that changes.
func (m *Main) awaitReady(ctx context.Context, url, token string, again bool) (string, error) {
	said := ""
	for pauses := retry.Quick(); ; {
		answer, err := askReady(ctx, url, token)
		if err == nil || !again {
			return answer, err
		}
		if now := err.Error(); now != said {
			fmt.Fprintf(m.Stderr, "waiting: %s\n", now)
			said = now
		}
		if retry.Sleep(ctx, pauses.NextBackOff()) != nil {
			return "", err
		}
	}
}

func readyURL(address string) (string, error) {
	u, err := url.Parse(strings.TrimSuffix(address, "/") + "/readyz")
	if err != nil {
		return "", usage("--server: %w", err)
	}
	if u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", usage("--server %q: want http:// or https:// and a host, as in http://127.0.0.1:8080", address)
	}
	return u.String(), nil
}

func askReady(ctx context.Context, url, token string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxReadyAnswer))
	switch {
	case err != nil:
		return "", fmt.Errorf("GET %s: %w", url, err)
	case resp.StatusCode != http.StatusOK:
		return "", fmt.Errorf("GET %s: %s%s", url, refusal(resp, body), details(body))
	}
	var lines strings.Builder
	for line := range strings.Lines(string(body)) {
		lines.WriteString(terminal.Clean(strings.TrimSpace(line)) + "\n")
	}
	return lines.String(), nil
}

// details are what a server tells of its conditions to a token of the scope admin, a line each.
func details(body []byte) string {
	var p struct {
		Conditions []struct{ Name, Detail string }
	}
	if json.Unmarshal(body, &p) != nil {
		return "" // somebody else's answer
	}
	var lines strings.Builder
	for _, c := range p.Conditions {
		if c.Detail != "" {
			fmt.Fprintf(&lines, "\n  %s: %s", terminal.Clean(c.Name), terminal.Clean(c.Detail))
		}
	}
	return lines.String()
}

// maxReadyAnswer bounds what is read of an answer: a few lines, as a rule.
const maxReadyAnswer = 1 << 20
