package openapi

import (
	"reflect"
	"slices"
	"testing"
	"time"
)

const described = `
paths:
  /things:
    get:
      responses:
        "200": {content: {application/json: {schema: {$ref: "#/components/schemas/Thing"}}}}
components:
  schemas:
    Thing:
      type: object
      required: [name, parts, at, share]
      properties:
        name: { type: string, enum: [a, b] }
        parts: { type: array, items: { $ref: "#/components/schemas/Part" } }
        at: { type: string, format: date-time }
        share: { type: number }
        part: { $ref: "#/components/schemas/Part" }
    Part:
      type: object
      required: [n]
      properties:
        n: { type: integer }
        ok: { type: boolean }
`

type thing struct {
	Name  string    `json:"name"`
	Parts []part    `json:"parts"`
	At    time.Time `json:"at"`
	Share float64   `json:"share"`
	Part  *part     `json:"part,omitempty"`
	Inner int       `json:"-"`

	hidden int // not in JSON
}

var _ = thing{hidden: 1} // a field that nobody uses would be complained of

type part struct {
	N  int64 `json:"n"`
	OK bool  `json:"ok,omitempty"`
}

func mustShape(t *testing.T) Shape {
	t.Helper()
	d, err := Parse([]byte(described))
	if err != nil {
		t.Fatal(err)
	}
	return d.Shape(d.Answer("get", "/things"))
}

func TestEqualShapes(t *testing.T) {
	described := mustShape(t)
	if diff := Diff(described, Of(reflect.TypeFor[thing]())); diff != nil {
		t.Errorf("of a type: %q", diff)
	}
	samples := [][]byte{
		[]byte(`{"name":"a","parts":[{"n":1},{"n":2,"ok":true}],"at":"2026-01-02T03:04:05Z","share":0.5}`),
		[]byte(`{"name":"b","parts":[],"at":"2026-01-02T03:04:05.5Z","share":1,"part":{"n":3}}`),
	}
	if diff := Diff(described, OfJSON(samples...)); !slices.Equal(diff, []string{".part.ok: described, and not answered"}) {
		t.Errorf("of samples that have no ok in part: %q", diff)
	}
}

// TestDifferences: each of these types differs from the description of a part in one thing.
func TestDifferences(t *testing.T) {
	for want, other := range map[string]reflect.Type{
		".more: answered, and not described": reflect.TypeFor[struct {
			N    int  `json:"n"`
			OK   bool `json:"ok,omitempty"`
			More int  `json:"more"`
		}](),
		".ok: described, and not answered": reflect.TypeFor[struct {
			N int `json:"n"`
		}](),
		".n: described as integer, answered as number": reflect.TypeFor[struct {
			N  float64 `json:"n"`
			OK bool    `json:"ok,omitempty"`
		}](),
		".ok: required: false, always there: true": reflect.TypeFor[struct {
			N  int  `json:"n"`
			OK bool `json:"ok"`
		}](),
		".n: described as integer, answered as null or integer": reflect.TypeFor[struct {
			N  *int `json:"n"`
			OK bool `json:"ok,omitempty"`
		}](),
		": described as object, answered as Go's interface {}": reflect.TypeFor[any](),
	} {
		if got := Diff(*mustShape(t).Members["parts"].Shape.Items, Of(other)); !slices.Equal(got, []string{want}) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
