package mapping

import (
	"fmt"
	"slices"
	"strings"

	"refrain/feed"
	"refrain/ingest/file"
)

// Preset says how the posts of one platform's export are read. It is data: what a user could say by himself.
type Preset struct {
	Name, For string // the file it is for
	Map       string
	Records   string        // where the posts are, of files
	Only      []string      // which records are posts: see feed.WithOnly
	Reposted  string        // where the whole text of a repost is that is cut: see feed.WithReposted
	Absent    []string      // what stands for a text that is gone
	IDPrefix  string        // before ids that are made of several fields
	HTML      bool          // texts are markup, or have entities
	Include   *file.Include // what records refer to, beside them
	Signs     []string      // fields that all such files have, and hardly any other; a bar between two says either
	Source    string        // of the format: who publishes it
}

// notices are what a stream of Twitter has beside tweets.
var notices = []string{
	"!delete", "!limit", "!scrub_geo", "!status_withheld", "!user_withheld", "!warning", "!disconnect", "!friends",
	"!friends_str", "!event", "!control", "!direct_message",
}

// Presets are all there are, by platform.
var Presets = []Preset{
	{
		Name: "twitter-v1", For: "tweets of the API 1.1, of statuses/filter or Gnip, a tweet a line",
		Map: "id=id_str|id,author=user.screen_name|user.id_str,created_at=created_at|timestamp_ms,lang=lang|user.lang," +
			"text=full_text|extended_tweet.full_text|text",
		Reposted: "retweeted_status.full_text|retweeted_status.extended_tweet.full_text|retweeted_status.text",
		Only:     notices, HTML: true, Signs: []string{"id_str", "user.id_str"}, Source: "developer.x.com, Tweet object (standard v1.1)",
	},
	{
		Name: "twitter-v2", For: "answers of the API v2, one after the other, as twarc2 writes them; authors by their expansion",
		Map:      "author=author.username|author_id,text=note_tweet.text|text",
		Reposted: "retweeted.note_tweet.text|retweeted.text",
		Records:  "data", HTML: true, Signs: []string{"edit_history_tweet_ids", "text"}, Source: "developer.x.com, API v2 data dictionary",
		Include: &file.Include{Beside: "includes", References: []file.Reference{
			{List: "users", Key: "id", From: "author_id", As: "author"},
			{List: "tweets", Key: "id", From: "referenced_tweets", Type: "retweeted", As: "retweeted"},
		}},
	},
	{
		Name: "twitter-archive", For: "data/tweets.js of an account's archive; the author is the account, which it does not name",
		Map: "id=tweet.id_str|id_str,author=tweet.user.screen_name|user.screen_name,created_at=tweet.created_at|created_at," +
			"lang=tweet.lang|lang,text=tweet.full_text|full_text|tweet.text|text",
		HTML: true, Signs: []string{"tweet.id_str|id_str", "tweet.id_str|display_text_range"}, Source: "the README.txt of an archive",
	},
	{
		Name: "reddit", For: "submissions and comments, a thing a line, as RS_2023-01.zst and RC_2023-01.zst of Pushshift",
		Map:    "id=name|id,created_at=created_utc|created,text=title+selftext|body",
		Absent: []string{"[deleted]", "[removed]"}, HTML: true, Signs: []string{"created_utc", "author"}, Source: "reddit.com/dev/api, and the fields of Pushshift's files",
	},
	{
		Name: "mastodon-outbox", For: "outbox.json of an account's archive; boosts are left out",
		Map: "id=object.id|id,author=object.attributedTo|actor,created_at=object.published|published," +
			"text=object.summary+object.content|content",
		Records: "orderedItems", Only: []string{"type=Create"}, HTML: true, Signs: []string{"object.content", "actor"}, Source: "W3C ActivityPub; docs.joinmastodon.org",
	},
	{
		Name: "mastodon", For: "statuses of the API, an array or a status a line",
		Map: "id=uri|id,author=account.acct|account.id,lang=language|lang," +
			"text=reblog.spoiler_text+reblog.content|spoiler_text+content",
		HTML: true, Signs: []string{"account.acct", "content"}, Source: "docs.joinmastodon.org, Status",
	},
	{
		Name: "telegram", For: "result.json of one chat, as Telegram Desktop writes it; what the service says is left out",
		Map:     "author=from|from_id,created_at=date_unixtime|date,text=text|text_entities",
		Records: "messages", Only: []string{"type=message"}, Signs: []string{"from_id", "date"}, Source: "core.telegram.org/import-export, Telegram Desktop",
	},
	{
		Name: "telegram-all", For: "result.json of all chats, also of those that were left; ids are those of chat and message",
		Map:     "id=chat_id+id|from_id+id,author=from|from_id,created_at=date_unixtime|date,text=text|text_entities",
		Records: "chats.list.messages|left_chats.list.messages", Include: &file.Include{Outer: "id", OuterAs: "chat_id"},
		Only: []string{"type=message"}, Signs: []string{"from_id", "date"}, Source: "core.telegram.org/import-export, Telegram Desktop",
	},
	{
		Name: "bluesky-jetstream", For: "messages of Jetstream, one a line; all but posts written or changed is left out",
		Map: "id=did+commit.collection+commit.rkey,author=did,created_at=commit.record.createdAt|time_us,lang=commit.record.langs|lang," +
			"text=commit.record.text|text",
		IDPrefix: "at://", // as the source that follows Jetstream has them
		Only:     []string{"kind=commit", "commit.operation=create|update", "commit.collection=app.bsky.feed.post"},
		Signs:    []string{"did", "time_us"}, Source: "github.com/bluesky-social/jetstream, README",
	},
	{
		Name: "rss", For: "RSS 2.0 and 1.0, and Atom: title and body of each item",
		Map: "id=guid|id|link|link.href|rdf:about,author=dc:creator|author.name|author,created_at=pubDate|published|updated|dc:date," +
			"lang=dc:language|xml:lang,text=title+body",
		HTML: true, Source: "rssboard.org/rss-specification, RFC 4287",
	},
}

// fields are those that the map names. What a platform calls source is something else than ours: the client of a tweet, the
// feed that an entry was taken from.
func (p *Preset) fields() (*feed.Fields, error) {
	if p.Name == "" {
		return nil, nil
	}
	fields, err := feed.ParseFields("source=")
	if err != nil {
		return nil, err
	}
	fields, err = fields.WithAbsent(p.Absent).WithIDPrefix(p.IDPrefix).WithMap(p.Map)
	if err != nil || p.Reposted == "" {
		return fields, err
	}
	return fields.WithReposted(p.Reposted)
}

// FindPreset is the preset of that name; the error of another name lists all.
func FindPreset(name string) (*Preset, error) {
	i := slices.IndexFunc(Presets, func(p Preset) bool { return p.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("%q: want %s", name, strings.Join(PresetNames(), ", "))
	}
	return &Presets[i], nil
}

// PresetNames are those of all presets.
func PresetNames() []string {
	names := make([]string, len(Presets))
	for i := range Presets {
		names[i] = Presets[i].Name
	}
	return names
}
