package server

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// What a process can do. Where several share the topics each has some of these, and all of them together have all.
const (
	roleSplit   = "split"   // takes posts in, from clients and sources, and writes their sentences
	roleMatch   = "match"   // looks sentences up in the windows that it owns, and writes events
	rolePublish = "publish" // hands events to sinks and webhooks
	roleLookup  = "lookup"  // keeps the index of reuse
	roleAPI     = "api"     // answers questions
)

// Roles are all that there are, in the order of the route.
var Roles = []string{roleSplit, roleMatch, rolePublish, roleLookup, roleAPI}

// Cluster is how the processes that share the topics talk to each other.
type Cluster struct {
	Address string `yaml:"address"` // how the others reach this process, http://HOST:PORT; "": by the address of http
	Token   Secret `yaml:"token"`   // that the processes show each other
	// HandoverGrace is how long the partitions of a worker that has gone wait for it to return.
	HandoverGrace time.Duration `yaml:"handover_grace"`
	// Session is after when a process that is not heard of counts as gone.
	Session time.Duration `yaml:"session"`
}

// has reports whether this process has a role.
func (c *Config) has(role string) bool { return slices.Contains(c.Roles, role) }

// onBroker reports whether the topics are somewhere else than in this process, so that others may share them.
func (c *Config) onBroker() bool { return c.onKafka() || c.onNATS() }

func (c *Config) onKafka() bool { return len(c.Topics.Kafka.Brokers) > 0 }

func (c *Config) onNATS() bool { return len(c.Topics.NATS.Servers) > 0 }

// worker is the stable name of this process.
func (c *Config) worker() string {
	if c.Worker != "" {
		return c.Worker
	}
	host, err := os.Hostname()
	if err != nil {
		return "refrain"
	}
	return notInName.ReplaceAllString(host, "-")
}

// address is where the others reach this process: where nothing is said and it listens everywhere, by the machine's name.
func (c *Config) address(listening string) string {
	if c.Cluster.Address != "" {
		return strings.TrimSuffix(c.Cluster.Address, "/")
	}
	host, port, err := net.SplitHostPort(listening)
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		if name, err := os.Hostname(); err == nil {
			listening = net.JoinHostPort(name, port)
		}
	}
	return "http://" + listening
}

// roleTexts say what each role does and needs, for the log.
var roleTexts = map[string]string{
	roleSplit:   "takes posts in: needs the topics",
	roleMatch:   "owns partitions of the window: needs the topics, and memory for its share",
	rolePublish: "hands events to sinks and webhooks: needs the topics, and those it hands them to",
	roleLookup:  "keeps the index of reuse: needs the topics, and Redis where others ask the index",
	roleAPI:     "answers questions: needs the topics, the processes with the role match at their addresses, and Redis for the index",
}

// logStart says what this process is among those that share the topics, before it waits for anything.
func (s *Server) logStart() {
	if !s.cfg.onBroker() {
		return
	}
	at := "kafka " + strings.Join(s.cfg.Topics.Kafka.Brokers, ",")
	if s.cfg.onNATS() {
		at = "nats " + strings.Join(s.cfg.Topics.NATS.Servers, ",")
	}
	s.log.Info("starting", "worker", s.cfg.worker(), "roles", strings.Join(s.cfg.Roles, ","), "topics", s.cfg.Topics.Name+"-*", "on", at,
		"address", s.cfg.address(s.Addr()))
	for _, r := range s.cfg.Roles {
		s.log.Info("role", "role", r, "does", roleTexts[r])
	}
	s.log.Info("quotas are counted by each process for itself: those of all together are as many times as much as there are processes with " +
		"the role split")
}

var (
	topicsName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}$`)
	workerName = regexp.MustCompile(`^[A-Za-z0-9_.-]{0,100}$`)
	notInName  = regexp.MustCompile(`[^A-Za-z0-9_.-]`)
)

// roles checks who does what, and whether what belongs together is.
func (v *validation) roles(c *Config) {
	v.want(len(c.Roles) > 0, "roles", "want some of "+strings.Join(Roles, ", "))
	for i, r := range c.Roles {
		v.oneOf("roles", r, Roles...)
		v.want(!slices.Contains(c.Roles[:i], r), "roles", fmt.Sprintf("%q is there twice", r))
	}
	all := !slices.ContainsFunc(Roles, func(r string) bool { return !c.has(r) })
	v.want(all || c.onBroker(), "roles", "without a broker no other process can have the rest: name one for the topics (topics.kafka or "+
		"topics.nats), or give this process all of "+strings.Join(Roles, ", "))
	v.want(c.has(roleLookup) == c.has(roleAPI) || c.Lookup.Store != "embedded", "lookup.store",
		"embedded is for one process with the roles lookup and api: with one of them alone set redis, or none")
	v.want(workerName.MatchString(c.Worker), "worker", fmt.Sprintf("%q: want at most 100 letters, digits, -, _ and .", c.Worker))
}

// broker checks where the topics are.
func (v *validation) broker(c *Config) {
	t := &c.Topics
	v.want(topicsName.MatchString(t.Name), "topics.name", fmt.Sprintf("%q: want at most 100 letters, digits, - and _", t.Name))
	v.want(t.Replicas >= 0 && t.Replicas <= 100, "topics.replicas", "want 0 (by the broker) to 100")
	v.want(!c.onKafka() || !c.onNATS(), "topics", "want one of kafka and nats, not both")
	if c.onKafka() {
		v.cluster("topics.kafka", &t.Kafka)
	}
	if c.onNATS() {
		v.server("topics.nats", &t.NATS)
	}
	v.want(c.onBroker() || t.Replicas == 0, "topics.replicas", "is for topics on a broker: set topics.kafka or topics.nats")
	v.clusterOf(c)
}

// What brokers take: Kafka's own limits are 6 s and 30 min, unless it is told otherwise.
const (
	minSession = time.Second
	maxSession = 30 * time.Minute
)

func (v *validation) clusterOf(c *Config) {
	x := &c.Cluster
	v.want(x.HandoverGrace >= 0 && x.HandoverGrace <= maxDuration, "cluster.handover_grace", "want 0 to 100 years")
	v.want(x.Session >= minSession && x.Session <= maxSession, "cluster.session", "want 1s to 30m")
	if x.Address != "" {
		u, err := url.Parse(x.Address)
		v.want(err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && strings.Trim(u.Path, "/") == "",
			"cluster.address", fmt.Sprintf("%q: want http://HOST:PORT", x.Address))
	}
	if x.Token != "" {
		v.secret("cluster.token", x.Token)
		value, err := x.Token.Read()
		v.want(err != nil || len(value) >= minToken, "cluster.token",
			"is too short to be safe: want 16 bytes or more, as `openssl rand -hex 24` makes it")
	}
	v.want(!c.onBroker() || x.Token != "" || isLoopback(c.HTTP), "cluster.token",
		fmt.Sprintf("want one, since %s is open to the network and other processes may ask this one: the same for all of them, as "+
			"`openssl rand -hex 24` makes it", c.HTTP))
}
