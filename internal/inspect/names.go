package inspect

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"refrain/feed"
)

// names are what feeds call our fields, as folded has them, the likeliest first. Handles stand before the names that are
// shown, which two people may share.
var names = map[feed.Field][]string{
	feed.FieldID: words(`id idstr tweetid postid statusid commentid messageid notetweetid beitragsid nachrichtid kommentarid
		identifiant identificador uri guid url link permalink key nr nummer numero number no`),
	feed.FieldText: words(`text fulltext content body message tweettext posttext messagetext commenttext tweet post comment
		selftext caption textoriginal textdisplay nachricht beitrag inhalt kommentar texto mensaje mensagem contenido
		conteudo comentario texte contenu commentaire testo messaggio contenuto commento tekst bericht tresc
		description title beschreibung titel titulo titre titolo`),
	feed.FieldAuthor: words(`author screenname userscreenname user.screenname author.screenname handle userhandle user.handle
		author.handle username user.username author.username account.acct acct nickname accountname nutzername benutzername
		nutzer benutzer autor verfasser absender usuario utilisateur auteur autore utente gebruiker sender account from user
		user.name author.name authordisplayname displayname name pagename authorid userid senderid seite pagina`),
	feed.FieldCreatedAt: words(`createdat created createdutc published publishedat publishdate pubdate postedat postdate
		postcreated tweettime tweetdate createddate creationdate datetime timestamp date time datum zeitpunkt zeitstempel
		erstelltam erstellt veroffentlichtam fechayhora fecha fechadecreacion fechadepublicacion dataehora datahora dataora data
		dateheure datedecreation datedepublication creele publiele datumtijd zeit uhrzeit hora heure ora`),
	feed.FieldLang: words("lang language langs sprache idioma langue lingua taal"),
}

// innerNames are those that are believed within objects too, whatever they are called.
var innerNames = map[feed.Field][]string{
	feed.FieldID:   words("id idstr tweetid postid statusid commentid messageid uri guid"),
	feed.FieldText: words("fulltext text textoriginal content body message caption textdisplay"),
	feed.FieldAuthor: words(`screenname handle username acct author authorhandle authordisplayname displayname
		authorid userid senderid`),
	feed.FieldCreatedAt: words("createdat created createdutc publishedat published timestamp datetime date"),
	feed.FieldLang:      words("lang language langs"),
}

var (
	// people are objects that tell of somebody, and nothing of the post but its author.
	people = words("user author account sender owner profile channel from")
	// others are objects that tell of something else, or of another post.
	others = words(`quoted quotedstatus retweetedstatus reblog parent root reply replyto inreplyto embed entities media place
		geo application metadata`)
	clocks = words("time posttime zeit uhrzeit hora heure ora tijd")
)

func words(s string) []string { return strings.Fields(s) }

// folded is a name without case, accents, and all that is no letter, digit or dot.
func folded(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '.' || unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, norm.NFD.String(name))
}

var guessed = []feed.Field{feed.FieldID, feed.FieldText, feed.FieldAuthor, feed.FieldCreatedAt, feed.FieldLang}

// guess adds to the map names that look like ours.
func (r *Report) guess() {
	var pairs []string
	if r.Posts.Map != "" {
		pairs = append(pairs, r.Posts.Map)
	}
	for _, f := range guessed {
		if r.named(f) != "" {
			continue
		}
		switch found := r.find(f); found {
		case "":
			r.Missing = append(r.Missing, f)
		case f.String():
		default:
			pairs = append(pairs, f.String()+"="+found)
		}
	}
	r.Posts.Map = strings.Join(pairs, ",")
}

// named is what the map that was said calls a field; "": nothing.
func (r *Report) named(f feed.Field) string {
	said, err := feed.ParseFields(r.Posts.Map)
	if err != nil || said.Path(f) == f.String() {
		return ""
	}
	return said.Path(f)
}

// find is the right side of a pair of the map.
func (r *Report) find(f feed.Field) string {
	found := r.called(f)
	if found == "" && f == feed.FieldText {
		found = r.longest()
	}
	if found == "" {
		return ""
	}
	switch with := r.partner(f, found); {
	case with == "":
		return feed.QuotePath(found)
	case f == feed.FieldText:
		return feed.QuotePath(with) + "+" + feed.QuotePath(found)
	default:
		return feed.QuotePath(found) + "+" + feed.QuotePath(with)
	}
}

// partner is what belongs to a field: to a body its title, to a date its time of day.
func (r *Report) partner(f feed.Field, found string) string {
	prefix, last := found[:strings.LastIndexByte(found, '.')+1], folded(lastName(found))
	i := slices.IndexFunc(r.Fields, func(o Field) bool {
		rest, ok := strings.CutPrefix(o.Path, prefix)
		switch {
		case !ok || o.Path == found || o.Kind != "string":
			return false
		case f == feed.FieldText:
			return (last == "body" || last == "selftext") && folded(rest) == "title"
		}
		return f == feed.FieldCreatedAt && !strings.Contains(r.example(found), ":") && strings.Contains(o.Example, ":") &&
			strings.ContainsAny(r.example(found), "-./") && slices.Contains(clocks, folded(rest))
	})
	if i < 0 {
		return ""
	}
	return r.Fields[i].Path
}

func (r *Report) example(path string) string {
	i := slices.IndexFunc(r.Fields, func(f Field) bool { return f.Path == path })
	if i < 0 {
		return ""
	}
	return r.Fields[i].Example
}

func lastName(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// called is the path that is called like a field of ours: as a whole, or by its last name.
func (r *Report) called(f feed.Field) string {
	for _, name := range names[f] {
		for i := range r.Fields {
			if folded(r.Fields[i].Path) == name && r.Fields[i].canBe(f) {
				return r.Fields[i].Path
			}
		}
	}
	return r.inner(f)
}

// inner is the shallowest path within objects that is called like a field of ours.
func (r *Report) inner(f feed.Field) string {
	all := slices.DeleteFunc(slices.Clone(r.Fields), func(o Field) bool { return !o.canBe(f) || !about(o.Path, f) })
	slices.SortStableFunc(all, func(a, b Field) int { return cmp.Compare(strings.Count(a.Path, "."), strings.Count(b.Path, ".")) })
	if f == feed.FieldID {
		if i := slices.IndexFunc(all, func(o Field) bool { return isOwnID(o.Path) }); i >= 0 {
			return all[i].Path
		}
	}
	for _, name := range innerNames[f] {
		if i := slices.IndexFunc(all, func(o Field) bool { return folded(lastName(o.Path)) == name }); i >= 0 {
			return all[i].Path
		}
	}
	return ""
}

// isOwnID reports whether a field is called by the object it is in, as noteTweet.noteTweetId.
func isOwnID(path string) bool {
	steps := strings.Split(folded(path), ".")
	n := len(steps)
	return n > 1 && steps[n-1] == steps[n-2]+"id"
}

// about reports whether what is at a path within objects may tell of the post itself, or of its author.
func about(path string, f feed.Field) bool {
	steps := strings.Split(folded(path), ".")
	return len(steps) > 1 && !slices.ContainsFunc(steps[:len(steps)-1], func(step string) bool {
		return slices.Contains(others, step) || f != feed.FieldAuthor && slices.Contains(people, step)
	})
}

// canBe reports whether the values of a field can be those of ours.
func (o *Field) canBe(f feed.Field) bool {
	switch {
	case o.Kind == "array":
		return f == feed.FieldLang
	case o.Kind == "object" || o.Kind == "boolean":
		return false
	}
	return f != feed.FieldCreatedAt || strings.ContainsAny(o.Example, "0123456789")
}

// longest is the field of strings that has the longest ones, if they are text and no addresses.
func (r *Report) longest() string {
	var all []Field
	for _, f := range r.Fields {
		if f.Kind == "string" && f.length > 20*f.Count && (f.spaces > f.Count || !isASCII(f.Example)) {
			all = append(all, f)
		}
	}
	if all == nil {
		return ""
	}
	return slices.MaxFunc(all, func(a, b Field) int { return cmp.Compare(a.length, b.length) }).Path
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > unicode.MaxASCII }) < 0
}
