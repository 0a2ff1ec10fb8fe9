package tables

import (
	"context"
	"fmt"
	"io"
	"net/http"
)

// openURL is the body of a good answer to GET.
func openURL(ctx context.Context, client *http.Client, url string) (io.ReadCloser, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, fmt.Errorf("GET %s: %s", r.URL.Path, resp.Status)
	}
	return resp.Body, nil
}

// postLines sends a body of posts, one a line, and returns what is answered. An error is that there is no answer.
func postLines(ctx context.Context, client *http.Client, url string, lines io.Reader) (status int, answer []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, lines)
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/x-ndjson")
	resp, err := client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// postError says how a request with posts was answered.
func postError(status int, answer []byte) error {
	return fmt.Errorf("POST /v1/posts: %d %s: %s", status, http.StatusText(status), answer[:min(len(answer), 300)])
}
