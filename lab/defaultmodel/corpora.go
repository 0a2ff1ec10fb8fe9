package main

// corpus is a part of the training text: one kind of source in one language.
type corpus struct {
	name     string
	language string   // whose words it knows
	files    []string // of the shared data, in the order of time where there is one
	posts    string   // of posts only those in this language; "": all
	side     int      // of a parallel text the column, from 1; 0: it holds posts
	share    int      // distinct sentences to learn from, at most: the mixture
	authors  bool     // the only corpus of its language: a word needs so many authors instead of a second corpus
}

const (
	ira     = "stream/ira_2012-02_2016-08.jsonl.zst"
	tatoeba = "parallel/tatoeba.en-"
	multi   = "parallel/multi30k.en-"
	pydocs  = "parallel/pydocs.en-"
	django  = "parallel/django.en-"
)

// corpora are all that the default model is learned from. Most of the shares are posts, since that is what feeds are, a
// quarter Chinese and a seventh Russian. The broadcasts of xwlb have few: their long formulaic sentences have so many false
// candidates that a larger share makes codes for nothing else. With 8,000 among twice as many of the others, learned at 0.7,
// they were worse than hashed ones on the other Chinese.
var corpora = []corpus{
	{name: "ira-en", language: "en", files: []string{ira}, posts: "en", share: 20_000},
	{name: "pheme", language: "en", files: []string{"stream/pheme_ottawa_germanwings.jsonl.gz"}, share: 4_000},
	{name: "crisislex", language: "en", files: []string{"stream/crisislex_t26_22events.jsonl.gz"}, share: 4_000},
	{name: "reuters", language: "en", files: []string{"news/reuters21578_to_1987-03-31.jsonl.gz"}, share: 6_000},
	{name: "20ng", language: "en", files: []string{"news/20ng_10groups_A.jsonl.gz"}, share: 6_000},
	{name: "ag-news", language: "en", files: []string{"news/ag_news_test.jsonl.gz"}, share: 2_500},
	{name: "tatoeba-en", language: "en", files: []string{tatoeba + "de.tsv.gz", tatoeba + "es.tsv.gz",
		tatoeba + "fr.tsv.gz"}, side: 1, share: 3_000},
	{name: "multi30k-en", language: "en", files: []string{multi + "de.train.tsv.gz", multi + "fr.train.tsv.gz"},
		side: 1, share: 1_500},
	{name: "docs-en", language: "en", files: []string{pydocs + "es.tsv.gz", pydocs + "fr.tsv.gz", django + "es.tsv.gz",
		django + "fr.tsv.gz"}, side: 1, share: 2_000},
	{name: "ira-de", language: "de", files: []string{ira}, posts: "de", share: 3_000},
	{name: "tatoeba-de", language: "de", files: []string{tatoeba + "de.tsv.gz"}, side: 2, share: 3_000},
	{name: "multi30k-de", language: "de", files: []string{multi + "de.train.tsv.gz"}, side: 2, share: 1_500},
	{name: "tatoeba-fr", language: "fr", files: []string{tatoeba + "fr.tsv.gz"}, side: 2, share: 3_000},
	{name: "multi30k-fr", language: "fr", files: []string{multi + "fr.train.tsv.gz"}, side: 2, share: 1_500},
	{name: "docs-fr", language: "fr", files: []string{pydocs + "fr.tsv.gz", django + "fr.tsv.gz"}, side: 2, share: 2_000},
	{name: "tatoeba-es", language: "es", files: []string{tatoeba + "es.tsv.gz"}, side: 2, share: 3_000},
	{name: "docs-es", language: "es", files: []string{pydocs + "es.tsv.gz", django + "es.tsv.gz"}, side: 2, share: 2_500},
	{name: "ira-ru", language: "ru", files: []string{ira}, posts: "ru", share: 15_000, authors: true},
	{name: "ira-uk", language: "uk", files: []string{ira}, posts: "uk", share: 2_500, authors: true},
	{name: "weibo", language: "zh", files: []string{"stream/weibo_ced_2010-2012.jsonl.zst"}, share: 12_500},
	{name: "weibo-hot", language: "zh", files: []string{"stream/weibo_hot_2020-11_2023-12.jsonl.gz"}, share: 7_500},
	{name: "zhihu", language: "zh", files: []string{"stream/zhihu_hot_2020-11_2022-12.jsonl.gz"}, share: 7_500},
	{name: "xwlb", language: "zh", files: []string{"news/xwlb_2022-09_2024-12.jsonl.gz"}, share: 500},
}
