# The few commands that one types; what they do stands in the scripts.
.PHONY: build test lint demo release

build:   ## bin/refrain and bin/refrain-lab
	go build -o bin/ ./cmd/...

test:    ## everything, as CI does; one package: go test ./text
	./test

lint:    ## what ./test lints with
	@test -z "$$(gofmt -l .)" || { gofmt -l .; exit 1; }
	go vet ./...
	go tool -modfile=tools/go.mod staticcheck ./...
	go tool -modfile=tools/go.mod errcheck -ignoretests -exclude tools/errcheck.txt ./...

demo:    ## the service on a made-up feed; the page is http://127.0.0.1:8080/
	go run ./cmd/refrain demo

release: ## archives and SHA256SUMS in bin/release: make release VERSION=v0.1.0
	deploy/release $(VERSION)
