package server

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"refrain/ingest/bluesky"
	"refrain/ingest/mapping"
	"refrain/internal/natsconn"
	"refrain/lookup/redisstore"
	"refrain/text"
)

// auth wants tokens where the address is open to others than this machine.
func (v *validation) auth(c *Config) {
	v.want(len(c.Auth.Tokens) > 0 || isLoopback(c.HTTP), "http",
		fmt.Sprintf("%s is open to the network: name auth.tokens, or listen on 127.0.0.1", c.HTTP))
	for i, h := range c.Auth.Hosts {
		v.want(h != "" && !strings.ContainsAny(h, "/:* "), fmt.Sprintf("auth.hosts[%d]", i),
			fmt.Sprintf("%q: want a name without a port, as refrain.test", h))
	}
	for i, o := range c.Auth.Origins {
		u, err := url.Parse(o)
		v.want(err == nil && (u.Scheme == "https" || u.Scheme == "http") && o == u.Scheme+"://"+u.Host && strings.ToLower(o) == o,
			fmt.Sprintf("auth.origins[%d]", i), fmt.Sprintf("%q: want the origin of a page, as https://app.example.org, without a path", o))
	}
	owners := map[string]int{}
	for i, t := range c.Auth.Tokens {
		key := fmt.Sprintf("auth.tokens[%d]", i)
		v.want(t.Name != "", key+".name", "want a name")
		v.secret(key+".token", t.Token)
		value, err := t.Token.Read()
		v.want(err != nil || value == "" || len(value) >= minToken, key+".token",
			"is too short to be safe: want 16 bytes or more, as `openssl rand -hex 24` makes it")
		if first, twice := owners[value]; twice && value != "" {
			v.refuse(key+".token",
				fmt.Sprintf("is that of auth.tokens[%d]: give each a secret of its own, or nobody can tell who asks", first))
		}
		owners[value] = i
		v.want(len(t.Scopes) > 0, key+".scopes", "want some of read, write, admin")
		for _, s := range t.Scopes {
			v.oneOf(key+".scopes", s, "read", "write", "admin")
		}
	}
}

// minToken is the least length of a token in bytes: nobody guesses one of as many random characters.
const minToken = 16

// isLoopback reports whether only this machine reaches an address. What does not parse is reported when it is used.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil || host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// secret wants one that can be read now: a service that cannot log in should not start.
func (v *validation) secret(key string, s Secret) {
	value, err := s.Read()
	v.want(err == nil, key, fmt.Sprint(err))
	v.want(err != nil || value != "", key, "want a value, env:NAME or file:PATH")
}

func (v *validation) optionalSecret(key string, s Secret) {
	if s != "" {
		v.secret(key, s)
	}
}

func (v *validation) tls(key string, t *TLS) {
	v.want((t.Cert == "") == (t.Key == ""), key, "cert and key go together")
	v.want(t.Enabled || *t == (TLS{}), key+".enabled", "is false: the other settings of TLS would do nothing")
}

func (v *validation) cluster(key string, c *KafkaCluster) {
	v.want(len(c.Brokers) > 0, key+".brokers", "want addresses, as [127.0.0.1:9092]")
	for _, b := range c.Brokers {
		if i := strings.LastIndexByte(b, '@'); i >= 0 { // what is before it may be a password
			v.refuse(key+".brokers", fmt.Sprintf("\"***%s\": want HOST:PORT; who logs in is in sasl", b[i:]))
			continue
		}
		_, _, err := net.SplitHostPort(b)
		v.want(err == nil, key+".brokers", fmt.Sprintf("%q: want HOST:PORT", b))
	}
	v.tls(key+".tls", &c.TLS)
	v.want(slices.Contains([]string{"", "plain", "scram-sha-256", "scram-sha-512"}, strings.ToLower(c.SASL.Mechanism)),
		key+".sasl.mechanism", fmt.Sprintf("%q: want plain, scram-sha-256 or scram-sha-512; others, as OAUTHBEARER and GSSAPI, "+
			"are not spoken: log in with one of these, or with a certificate (tls.cert)", c.SASL.Mechanism))
	if c.SASL.Mechanism != "" {
		v.want(c.SASL.User != "", key+".sasl.user", "want a name")
		v.secret(key+".sasl.password", c.SASL.Password)
	}
}

func (v *validation) server(key string, s *NATSServer) {
	v.want(len(s.Servers) > 0, key+".servers", "want URLs, as [nats://127.0.0.1:4222]")
	for _, url := range s.Servers {
		err := natsconn.CheckServer(url)
		v.want(err == nil, key+".servers", fmt.Sprint(err))
	}
	v.optionalSecret(key+".password", s.Password)
	v.optionalSecret(key+".token", s.Token)
	v.tls(key+".tls", &s.TLS)
}

func (v *validation) fields(key string, cfg *mapping.Config) {
	if _, err := parseFields(key, cfg); err != nil {
		*v = append(*v, err)
	}
}

func (v *validation) kafkaSource(key string, k *KafkaSource) {
	v.cluster(key, &k.KafkaCluster)
	v.want(len(k.Topics) > 0, key+".topics", "want at least one topic")
	v.oneOf(key+".start", k.Start, "", "earliest", "latest")
	v.oneOf(key+".tombstones", k.Tombstones, "", "reject", "delete")
	v.fields(key, &k.Config)
}

func (v *validation) natsSource(key string, n *NATSSource) {
	v.server(key, &n.NATSServer)
	v.want(n.Stream != "", key+".stream", "want the name of a stream")
	v.oneOf(key+".start", n.Start, "", "earliest", "latest")
	v.fields(key, &n.Config)
}

// sources wants every topic of a group and every consumer once: it is the name of a clock.
func (v *validation) sources(in *Ingest) {
	seen := map[string]bool{}
	wantOnce := func(key, name string) {
		v.want(!seen[name], key, "is read twice under one name; "+name+": another group or consumer tells two clusters apart")
		seen[name] = true
	}
	for i := range in.Kafka {
		for _, topic := range in.Kafka[i].Topics {
			wantOnce(fmt.Sprintf("ingest.kafka[%d].topics", i), in.Kafka[i].group()+"/"+topic)
		}
	}
	for i := range in.NATS {
		wantOnce(fmt.Sprintf("ingest.nats[%d].stream", i), in.NATS[i].Stream+"/"+in.NATS[i].consumer())
	}
}

var sinkName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// publish also wants every name once: it is the key of a cursor.
func (v *validation) publish(p *Publish) {
	names := []string{"lookup", "http"} // the index and the API are sinks too
	name := func(key, n string) {
		v.want(sinkName.MatchString(n), key+".name", fmt.Sprintf("%q: want letters, digits, _ and -: it names the cursor", n))
		v.want(!slices.Contains(names, n), key+".name", fmt.Sprintf("%q is there twice", n))
		names = append(names, n)
	}
	for i := range p.Kafka {
		key := fmt.Sprintf("publish.kafka[%d]", i)
		name(key, p.Kafka[i].Name)
		v.cluster(key, &p.Kafka[i].KafkaCluster)
		v.want(p.Kafka[i].Topic != "", key+".topic", "want a topic")
		v.oneOf(key+".mode", p.Kafka[i].Mode, "", "structured", "binary")
	}
	for i := range p.NATS {
		key := fmt.Sprintf("publish.nats[%d]", i)
		name(key, p.NATS[i].Name)
		v.server(key, &p.NATS[i].NATSServer)
		v.want(p.NATS[i].Subject != "" && !strings.ContainsAny(p.NATS[i].Subject, "*> "), key+".subject",
			"want a subject without wildcards")
	}
	for i := range p.Webhooks {
		key := fmt.Sprintf("publish.webhooks[%d]", i)
		name(key, p.Webhooks[i].Name)
		before := len(*v)
		v.webhook(key, &p.Webhooks[i])
		if len(*v) == before {
			v.endpoint(key, &p.Webhooks[i])
		}
	}
}

// endpoint asks who will deliver, of settings that are right as far as the file goes.
func (v *validation) endpoint(key string, w *Webhook) {
	cfg, err := webhookConfig(w)
	if err == nil {
		err = cfg.Check()
	}
	v.want(err == nil, key, strings.ReplaceAll(fmt.Sprint(err), "\n", "; "))
}

func (v *validation) webhook(key string, w *Webhook) {
	u, err := url.Parse(w.URL)
	v.want(err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "", key+".url", "want an http or https URL")
	v.want(len(w.Secrets) > 0, key+".secrets", "want at least one: whsec_ and base64, as `openssl rand -base64 24` makes it")
	for i, s := range w.Secrets {
		v.secret(fmt.Sprintf("%s.secrets[%d]", key, i), s)
	}
	for name, s := range w.Headers {
		v.secret(key+".headers."+name, s)
	}
	if w.Threshold != "" {
		_, err := text.ParseThreshold(w.Threshold)
		v.want(err == nil, key+".threshold", fmt.Sprint(err))
	}
	v.want(w.Batch >= 0 && w.Batch <= 100, key+".batch", "want 0 to 100")
	v.oneOf(key+".batch_format", w.BatchFormat, "", "event", "array")
	v.want(min(w.MinOccurrences, w.Concurrency, w.Pending) >= 0, key, "min_occurrences, concurrency and pending are 0 or more")
	v.want(min(w.BatchWait, w.Timeout) >= 0, key, "batch_wait and timeout are 0 or more")
	for _, a := range w.Allow {
		_, err := netip.ParsePrefix(a)
		v.want(err == nil, key+".allow", fmt.Sprintf("%q: want a network, as 10.1.0.0/16", a))
	}
}

// redis looks at an address that could be read.
func (v *validation) redis(key string, s Secret) {
	address, err := s.Read()
	if err != nil || address == "" {
		return
	}
	err = redisstore.CheckURL(address)
	v.want(err == nil, key, fmt.Sprint(err))
}

func (v *validation) bluesky(b *Bluesky) {
	if b.Enabled && b.URL != "" {
		err := bluesky.CheckURL(b.URL)
		v.want(err == nil, "ingest.bluesky", fmt.Sprint(err))
	}
}

func (v *validation) lookup(l *Lookup) {
	v.oneOf("lookup.store", l.Store, "embedded", "redis", "none")
	v.want(l.Retention >= 0 && l.Retention <= maxDuration, "lookup.retention", "want 0 (the span) to 100 years")
	if l.Store == "redis" {
		v.secret("lookup.redis.url", l.Redis.URL)
		v.redis("lookup.redis", l.Redis.URL)
	}
}
