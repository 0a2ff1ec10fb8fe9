package text

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSentences: every case is a text with "|" where it is cut. White space around a cut belongs to neither
// side.
func TestSentences(t *testing.T) {
	for _, marked := range sentenceCases {
		var s Splitter
		post := strings.NewReplacer("|", "").Replace(marked)
		var got []string
		sentences, _ := s.Split(post)
		for _, x := range sentences {
			got = append(got, post[x.Start:x.End])
		}
		want := strings.Split(marked, "|")
		for i := range want {
			want[i] = strings.TrimSpace(want[i])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", post, diff)
		}
	}
}

var sentenceCases = []string{
	// English prose
	"Dr. Brown met Mrs. Lee on Jan. 5, 2014 in St. Louis. |They talked until 6 p.m. |Then they left.",
	"The company, Acme Inc., lost $3.5 million in Q1. |Shares fell 2.4 pct.",
	"See Fig. 3 and No. 7 on p. 12. |No. |He did not.",
	"He said \"Stop. Wait for me.\" and ran. |She didn't.",
	"\"I won't go,\" he said. |\"You can't make me!\" |Then he left.",
	"“Really?” she asked. |“Yes.” |He nodded.",
	"It happened at 3.30 p.m. in Washington, D.C., on Monday.",
	"J. R. R. Tolkien wrote it. |C. S. Lewis liked it.",
	"He works for the U.N. in Geneva. |She works for Apple Inc. |They met in the U.K. |It was fun.",
	"What?! |No way... |I can't believe it.",
	"Well... maybe not. |But wait... |There's more!",
	"The U.S. Senate voted vs. the House, e.g. Sen. Smith et al. |The bill failed.",
	"This is it.[1] |The next one.[12] |And so on.",
	"(This is a whole sentence.) |This is another (with a note. Really.) that goes on.",
	"Visit example.com. |Or mail a.b@c.org. |Thanks.",
	"He was born c. 1800. |In 1850 he died.",
	"Version 2.0.1 is out. |Get it at https://example.com/a.b?c=d. |Enjoy!",
	"First line of a poem\n|Second line of a poem",
	"He asked \"Why?\" and left.",
	"Item one; item two: item three. |Done.",
	"I use Yahoo! at work. |So is Jeopardy! but who cares?",
	// lines
	"The first sentence is wrapped\nby hand. |The second is, too,\nbefore the end. |\n\nReuter",
	"> If he believed in it, he would pray five times a\n> day. |That is it.\n|I do not think\nso.",
	"Title\n|\nMr.\nSmith went home at 5 p.m.\n|Then he slept.",
	"Shopping:\n|- milk\n|- bread\n|1. eggs\n|2. ham",
	"Dear all,\n|I am here.\r\n|\r\nBye",
	// posts
	"omg i love this!!! |so good!! |lol",
	"i went home. |it was fun.",
	"Great day! :) |Love it",
	"Happy Monday! 😀😀 |Have fun",
	"Breaking: U.S. troops leave No. 5 base in St. Petersburg, Fla. #news http://t.co/abc",
	"I can't. |#sad story",
	"RT-worthy... |Read it",
	"@bob: yes. |@al: no.",
	"#love #peace. |Good night!",
	"好。。。|不好！！|真的吗?|我不信!",
	// Chinese, Japanese
	"他说：“你好。|我走了。”|然后他走了。",
	"说得好|//@张三: 同意！|//@李四:转发",
	"#今天,天气真好!# 出去玩吧！|走。",
	"価格は3.5円です。|「はい。そうです。」と言った。|「いいえ。」|彼は帰った。",
	"今日は良い天気\n|明日は雨",
	// German
	"Das kostet z. B. 3,50 Euro. |Am 3. Oktober ist frei. |Prof. Dr. Müller kommt bzw. Frau Dr. Maier.",
	"Er wohnt in der Goethestr. 5. |Dort ist es ruhig.",
	"Im 19. Jahrhundert war das usw. |Dann kam Ludwig XIV. nach Paris.",
	"„Kommst du?“, fragte er. |„Ja.“ |Sie ging.",
	// French
	"M. Dupont est arrivé. |« Quoi ? » dit-il. |Il est 10 h. |Mme. Curie est là.",
	"Qu'est-ce que c'est ? |C'est un test ! |Oui.",
	// Spanish, Portuguese, Italian
	"El Sr. Pérez vive en EE.UU. desde 1990. |¿Verdad? |¡Sí!",
	"O Sr. Silva mora na Av. Brasil. |Você sabia? |Sim.",
	"Il dott. Rossi abita qui. |L'art. 5 dice così. |Ecco.",
	// Dutch, Polish, Czech, Turkish
	"Dhr. Jansen woont o.a. in Delft. |Hij is bijv. nooit thuis.",
	"Prof. Nowak mieszka przy ul. Długiej 5. |To jest np. dobry pomysł.",
	"Pan Ing. Novák bydlí v ul. 5. května. |Je to tzv. dobrý člověk.",
	"Dr. Yılmaz 5. katta oturuyor. |Bugün 23. Nisan.",
	// Russian, Ukrainian, Greek
	"В 2010 г. Москва выросла. |Он живёт на ул. Ленина, д. 5. |И т. д. и т. п.",
	"А. С. Пушкин родился в 1799 г. |Он был поэтом.",
	"«Где ты?» — спросил он. |«Здесь!» |Она ушла.",
	"Це проф. Іваненко. |Він тут.",
	"Τι κάνεις; |Καλά. |Ο κ. Παπαδόπουλος ήρθε.",
	// Arabic, Persian, Urdu, Hindi, Hebrew, Thai, Armenian, Amharic, Burmese, Khmer
	"كيف حالك؟ |أنا بخير. |قال د. أحمد ذلك!",
	"حالت چطور است؟ |خوبم.",
	"یہ کیا ہے؟ |یہ کتاب ہے۔ |شکریہ۔",
	"यह क्या है? |यह किताब है। |धन्यवाद।",
	"מה שלומך? |אני בסדר. |תודה!",
	"สวัสดีครับ วันนี้อากาศดี",
	"Ի՞նչ է սա: |Սա գիրք է։ |Լավ:",
	"ይህ ምንድን ነው? |መጽሐፍ ነው። |እሺ፡፡ |ደህና",
	"ဘာလဲ။ |စာအုပ်။",
	"តើនេះជាអ្វី? |សៀវភៅ។ |បាទ។",
}
