package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"refrain/lab/report"
)

// TestEvalJoins runs every table of joins on a few posts, and wants a place for it in the document.
func TestEvalJoins(t *testing.T) {
	data := evalPosts(t)
	writeDocuments(t, data)
	writeProducts(t, filepath.Join(data, "setjoin"))
	for _, e := range joinTables() {
		t.Run(e.name, func(t *testing.T) {
			document := filepath.Join("..", "..", "docs", "measurements", "evaluation.md")
			if err := report.Eval.CanWrite(document, e.name); err != nil {
				t.Error(err)
			}
			r := mustEval(t, e.name, "--quick", "--json", "--data", data)
			if len(r.Grids) == 0 || len(r.Grids[0].Rows) < 4 || len(r.Grids[0].Rows[0]) != len(r.Grids[0].Head) {
				t.Fatalf("no table: %+v", r)
			}
			if pairs := r.Grids[0].Rows[3][1]; pairs == "0" {
				t.Errorf("no pairs: hardly anything was tried: %v", r.Grids[0].Rows)
			}
		})
	}
}

// TestEvalProducts: of four products that are the same two have the same words, one has some of them, one has none.
func TestEvalProducts(t *testing.T) {
	data := t.TempDir()
	writeProducts(t, filepath.Join(data, "setjoin"))
	g := mustEval(t, "products", "--json", "--data", data).Grids[0]
	for _, want := range []string{"0.9 2 1.000 0.500 0.667", "0.5 3 1.000 0.750 0.857"} {
		found := false
		for _, row := range g.Rows {
			found = found || strings.Join(row, " ") == want
		}
		if !found {
			t.Errorf("no row %s in %v", want, g.Rows)
		}
	}
}

// writeDocuments writes posts of 31 words, three at a time like each other but for the last word.
func writeDocuments(t *testing.T, data string) {
	t.Helper()
	var posts bytes.Buffer
	for i := range 300 {
		fmt.Fprintf(&posts, `{"id":"%d","text":"`, i)
		for word := range 30 {
			fmt.Fprintf(&posts, "%d ", i/3*1000+word*word*7)
		}
		fmt.Fprintf(&posts, `%d"}`+"\n", i)
	}
	for _, file := range []string{"stream/ira_2012-02_2016-08.jsonl.zst", "news/reuters21578_to_1987-03-31.jsonl.gz",
		"stream/weibo_ced_2010-2012.jsonl.zst", "news/20ng_10groups_A.jsonl.gz"} {
		path := filepath.Join(data, filepath.FromSlash(file))
		if err := os.WriteFile(path, compressed(t, file, posts.Bytes()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// writeProducts writes two catalogues of four products.
func writeProducts(t *testing.T, folder string) {
	t.Helper()
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	names := [][2]string{
		{"Sony Turntable PSLX350H", "sony turntable PSLX350H"}, {"Bose speaker, system", "Bose Speaker System"},
		{"Panasonic Microwave Oven Black", "Panasonic Microwave Oven"}, {"Canon Ink", "Toner"},
	}
	files := map[string]string{"Abt.csv": "\"id\",\"name\"\n", "Buy.csv": "\"id\",\"name\"\n",
		"abt_buy_perfectMapping.csv": "\"idAbt\",\"idBuy\"\n"}
	for i, name := range names {
		files["Abt.csv"] += fmt.Sprintf("%d,%q\n", i, name[0])
		files["Buy.csv"] += fmt.Sprintf("%d,%q\n", 100+i, name[1])
		files["abt_buy_perfectMapping.csv"] += fmt.Sprintf("%d,%d\n", i, 100+i)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
