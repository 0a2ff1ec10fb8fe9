package publish

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBinary(t *testing.T) {
	e := Event{Data: []byte(`{"specversion":"1.0","type":"t","source":"a\u00e4","n":7,"ok":true,"no":null,` +
		`"datacontenttype":"application/json","dataschema":"https://x/y","data": {"a":[1,{"data":2}]},"id":"1"}`)}
	got, err := e.Binary()
	want := Binary{
		Attributes: []Attribute{
			{"specversion", "1.0"}, {"type", "t"}, {"source", "aä"}, {"n", "7"}, {"ok", "true"},
			{"dataschema", "https://x/y"}, {"id", "1"},
		},
		ContentType: "application/json", Data: []byte(`{"a":[1,{"data":2}]}`),
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestBinaryRefusesWhatIsNoEvent(t *testing.T) {
	for _, data := range []string{``, `{`, `{"id":"1"}`, `{"id":["1"],"data":{}}`, `{"id":"1","data":{`, `[1]`, `null`} {
		if got, err := (&Event{Data: []byte(data)}).Binary(); err == nil {
			t.Errorf("%s: got %+v", data, got)
		}
	}
}
