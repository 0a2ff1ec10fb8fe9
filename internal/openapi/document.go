// Package openapi compares what the API answers with its description, for the tests of those who answer.
//
// Both become a Shape: which members there are, which of them always, and of what type. A test compares two shapes, so
// that a field that only one side has is a difference, whichever side it is.
package openapi

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.yaml.in/yaml/v3"
)

// Document is an OpenAPI document, as far as it says what is answered.
type Document struct {
	Paths      map[string]map[string]Operation // by path, then by method in lower case
	Components struct {
		Schemas   map[string]*Schema
		Responses map[string]Response
	}
}

// Operation is one method of one path.
type Operation struct {
	Responses map[string]Response // by status
}

// Response is an answer.
type Response struct {
	Content map[string]struct{ Schema *Schema } // by media type
}

// Schema is a JSON schema, as far as Shape understands it.
type Schema struct {
	Ref        string `yaml:"$ref"`
	Type       any    // a string, or a list of them
	Format     string
	Const      any
	Properties map[string]*Schema
	Required   []string
	Items      *Schema
	AllOf      []*Schema `yaml:"allOf"`
	OneOf      []*Schema `yaml:"oneOf"`
}

// Read reads api/openapi.yaml, from whichever folder of the module a test runs in.
func Read(tb testing.TB) *Document {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join(root(tb), "api", "openapi.yaml"))
	if err != nil {
		tb.Fatal(err)
	}
	d, err := Parse(data)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// root is the folder that holds go.mod.
func root(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			tb.Fatal("there is no go.mod above this test")
		}
		dir = filepath.Dir(dir)
	}
}

// Parse reads a document.
func Parse(data []byte) (*Document, error) {
	var d Document
	if err := yaml.Unmarshal(data, &d); err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	return &d, nil
}

// Answer is the schema of the JSON that a route answers with when all is well; nil: it answers with none.
func (d *Document) Answer(method, path string) *Schema {
	return d.Paths[path][method].Responses["200"].Content["application/json"].Schema
}
