package jsonschema_test

import (
	"slices"
	"testing"

	"refrain/internal/jsonschema"
)

const document = `
things:
  thing:
    type: object
    required: [name]
    additionalProperties: false
    properties:
      name: { type: string, minLength: 2, maxLength: 3, pattern: "^[^\\u0000-\\u001F]+$" }
      n: { $ref: "#/things/count" }
      at: { type: string, format: date-time }
      list: { type: array, minItems: 1, maxItems: 2, items: { enum: [1, b] } }
      kind: { oneOf: [{ type: string }, { type: number, format: double, exclusiveMinimum: 0 }, { type: integer }] }
      both: { allOf: [{ type: object, required: [a] }, { required: [b] }] }
      other: { $ref: "other.json#/x" }
      link: { format: uri }
      is: { const: { a: [1] } }
      some: { type: [string, "null"] }
  count: { type: integer, minimum: 0, maximum: 9 }
  odd: { multipleOf: 2 }
`

func TestCheck(t *testing.T) {
	files := jsonschema.Files{}
	for name, text := range map[string]string{"doc.yaml": document, "other.json": `{"x":{"type":"boolean"}}`} {
		if err := files.Add(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	for data, want := range map[string]string{
		`{"name":"ab","n":3,"at":"2026-01-02T03:04:05.5Z","list":[1,"b"],"kind":0.5,"both":{"a":1,"b":2},"other":true,` +
			`"link":"urn:x:y","is":{"a":[1]},"some":null}`: "",
		`{}`:                         ": name is missing",
		`{"name":"a"}`:               "/name: a, want 2",
		`{"name":"abcd"}`:            "/name: abcd, want 3",
		`{"name":"a\n"}`:             "/name: a\n, want ^[^\\u0000-\\u001F]+$",
		`{"name":7}`:                 "/name: integer, want string",
		`{"name":"ab","x":1}`:        ": x is not described",
		`{"name":"ab","n":1.5}`:      "/n: number, want integer",
		`{"name":"ab","n":10}`:       "/n: 10, want 9",
		`{"name":"ab","at":"today"}`: "/at: today, want the format date-time",
		`{"name":"ab","list":[]}`:    "/list: [], want 1",
		`{"name":"ab","list":[2]}`:   "/list/0: 2, want [1 b]",
		`{"name":"ab","kind":1}`:     "/kind: fits 2 of the schemas of oneOf",
		`{"name":"ab","kind":[]}`:    "/kind: fits 0 of the schemas of oneOf",
		`{"name":"ab","both":{}}`:    "/both: a is missing",
		`{"name":"ab","other":1}`:    "/other: integer, want boolean",
		`{"name":"ab","link":"x"}`:   "/link: x, want the format uri",
		`{"name":"ab","is":{}}`:      "/is: map[], want map[a:[1]]",
		`{"name":"ab","some":1}`:     "/some: integer, want [string null]",
		`[]`:                         ": array, want object",
		`{`:                          "unexpected end of JSON input",
	} {
		got := files.Check("doc.yaml#/things/thing", []byte(data))
		if want == "" && len(got) > 0 || want != "" && !slices.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", data, got, want)
		}
	}
	for ref, want := range map[string]string{
		"doc.yaml#/things/odd":  ": this program does not know the keyword multipleOf",
		"doc.yaml#/things/none": ": there is no schema doc.yaml#/things/none",
		"none.yaml":             ": there is no schema none.yaml",
	} {
		if got := files.Check(ref, []byte("1")); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: got %q, want %q", ref, got, want)
		}
	}
}
