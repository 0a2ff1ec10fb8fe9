package text

import "testing"

func TestFirst(t *testing.T) {
	var s Splitter
	ss, rt := s.Split("RT @bob: Hello, World! I don’t 1,000.5 #Tag @al.x https://t.co/abc. Привет МИР… 转发微博 ﷺ café cafe\u0301 t.co/x ส้มตำ")
	t.Log(rt)
	for _, x := range ss {
		t.Logf("%+v", x)
	}
}
