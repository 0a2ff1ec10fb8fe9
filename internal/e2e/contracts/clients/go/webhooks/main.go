// Webhooks verifies messages from stdin, each a line of JSON, as the official library of Standard Webhooks does, and prints
// how many are right: webhooks SECRET.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func main() {
	w, err := standardwebhooks.NewWebhook(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	right := 0
	for in := json.NewDecoder(os.Stdin); in.More(); {
		var m struct {
			Headers map[string]string
			Body    string
		}
		if err := in.Decode(&m); err != nil {
			log.Fatal(err)
		}
		header := http.Header{}
		for name, value := range m.Headers {
			header.Set(name, value)
		}
		if w.Verify([]byte(m.Body), header) == nil {
			right++
		}
	}
	fmt.Println(right)
}
