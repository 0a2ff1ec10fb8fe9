package failures

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"refrain/internal/devservers"
	"refrain/internal/e2e"
)

// secured is a broker with users, of whom only those with rights may do anything; its plain address is the operator's.
func secured(t *testing.T) (s *devservers.Server, sasl string) {
	s = devservers.StartKafka(t, "KAFKA_PROPERTIES="+strings.Join([]string{
		"authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer", "super.users=User:ANONYMOUS"}, "\n"))
	addr, err := os.ReadFile(filepath.Join(s.Dir(), "kafka-sasl.addr"))
	if err != nil {
		t.Fatal(err)
	}
	return s, strings.TrimSpace(string(addr))
}

func withLogin(broker *devservers.Server, sasl, password string) string {
	return fmt.Sprintf("kafka: {brokers: [%s], tls: {enabled: true, ca: %s}, sasl: {mechanism: plain, user: refrain, password: %s}}",
		sasl, filepath.Join(broker.Dir(), "ca.pem"), password)
}

func allow(o kafka.ACLOperationType, r kafka.ResourceType, name string) kafka.ACLEntry {
	return kafka.ACLEntry{ResourceType: r, ResourceName: name, ResourcePatternType: kafka.PatternTypePrefixed, Principal: "User:refrain",
		Host: "*", Operation: o, PermissionType: kafka.ACLPermissionTypeAllow}
}

// TestRightTakenAway: the right that is missing is named with the command that grants it, and once it is back all goes on.
func TestRightTakenAway(t *testing.T) {
	skipUnlessFull(t)
	broker, sasl := secured(t)
	s := &onKafka{newService(t, withLogin(broker, sasl, "only-for-tests")), operator(t, broker.Addr())}
	group := allow(kafka.ACLOperationTypeRead, kafka.ResourceTypeGroup, s.name)
	write := allow(kafka.ACLOperationTypeWrite, kafka.ResourceTypeTopic, s.name)
	read := allow(kafka.ACLOperationTypeRead, kafka.ResourceTypeTopic, s.name)
	all := []kafka.ACLEntry{group, write, read}
	for _, o := range []kafka.ACLOperationType{kafka.ACLOperationTypeDescribe, kafka.ACLOperationTypeDescribeConfigs,
		kafka.ACLOperationTypeAlterConfigs, kafka.ACLOperationTypeCreate} {
		all = append(all, allow(o, kafka.ResourceTypeTopic, s.name))
	}
	s.grant(all...)
	s.Start()
	for i, test := range []struct {
		right            kafka.ACLEntry
		condition, words string
	}{
		{write, "storage", "the right to Write is missing on topic " + s.topic("sentences")},
		{read, "storage", "the right to Read is missing on topic " + s.topic("sentences")},
		{group, "not_a_member", "the right to Read is missing on group " + s.topic("match")},
	} {
		s.post(s.part(i))
		s.revoke(test.right)
		if test.right.ResourceType == kafka.ResourceTypeTopic {
			s.wantNotReady(test.condition, test.words, "kafka-acls.sh --bootstrap-server "+sasl+" --add")
		} else {
			s.wantNotReady(test.condition, test.words, "kafka-acls.sh --bootstrap-server "+sasl+" --add --allow-principal User:NAME --operation Read --group")
		}
		if i == 0 {
			s.wantRefused()
		}
		s.grant(test.right)
		s.wantEvents(s.lines[:250*(i+1)])
	}
	if strings.Contains(s.Log.String(), "only-for-tests") {
		t.Error("the log has the password")
	}
}

func operator(t *testing.T, addr string) *kafka.Client {
	transport := &kafka.Transport{MetadataTTL: time.Second}
	t.Cleanup(transport.CloseIdleConnections)
	return &kafka.Client{Addr: kafka.TCP(addr), Transport: transport, Timeout: 20 * time.Second}
}

func (s *onKafka) grant(rights ...kafka.ACLEntry) {
	s.TB.Helper()
	res, err := s.client.CreateACLs(s.TB.Context(), &kafka.CreateACLsRequest{ACLs: rights})
	if err != nil {
		s.TB.Fatal(err)
	}
	for _, err := range res.Errors {
		if err != nil {
			s.TB.Fatal(err)
		}
	}
}

func (s *onKafka) revoke(r kafka.ACLEntry) {
	s.TB.Helper()
	_, err := s.client.DeleteACLs(s.TB.Context(), &kafka.DeleteACLsRequest{Filters: []kafka.DeleteACLsFilter{{
		ResourceTypeFilter: r.ResourceType, ResourceNameFilter: r.ResourceName, ResourcePatternTypeFilter: r.ResourcePatternType,
		PrincipalFilter: r.Principal, HostFilter: r.Host, Operation: r.Operation, PermissionType: r.PermissionType}}})
	if err != nil {
		s.TB.Fatal(err)
	}
}

// TestPasswordChanged: the broker comes back with another password, and then with the one that we have.
func TestPasswordChanged(t *testing.T) {
	skipUnlessFull(t)
	broker := devservers.StartKafka(t)
	addr, err := os.ReadFile(filepath.Join(broker.Dir(), "kafka-sasl.addr"))
	if err != nil {
		t.Fatal(err)
	}
	s := newService(t, withLogin(broker, strings.TrimSpace(string(addr)), "only-for-tests"))
	s.Start()
	s.post(s.part(0))
	broker.Stop()
	broker.SetEnv("KAFKA_PASSWORD=another-one")
	broker.Start()
	s.wantNotReady("storage", "the broker refuses this user or password (sasl.user, sasl.password)")
	s.wantRefused()
	broker.Stop()
	broker.SetEnv()
	broker.Start()
	s.AwaitReady(2 * time.Minute)
	s.post(s.part(1))
	s.wantEvents(s.lines[:500])
	if log := s.Log.String(); strings.Contains(log, "only-for-tests") || strings.Contains(log, "another-one") {
		t.Error("the log has a password")
	}
}

// TestStartRefused: what no time mends ends the process, which says what to do.
func TestStartRefused(t *testing.T) {
	addr, ca, user, password := devservers.KafkaSASL(t)
	otherCA := filepath.Join(t.TempDir(), "other.pem")
	mustSelfSign(t, otherCA)
	login := fmt.Sprintf("sasl: {mechanism: plain, user: %s, password: %s}", user, password)
	withTLS := func(tls, sasl string) string {
		return fmt.Sprintf("kafka: {brokers: [%s], tls: {enabled: true, %s}, %s}", addr, tls, sasl)
	}
	for name, test := range map[string]struct {
		topics string
		words  []string
	}{
		"wrong CA":   {withTLS("ca: "+otherCA, login), []string{"comes from an authority that is not trusted here: name it in tls.ca"}},
		"wrong name": {withTLS(fmt.Sprintf("ca: %s, server_name: broker.example", ca), login), []string{"set tls.server_name"}},
		"wrong password": {
			withTLS("ca: "+ca, fmt.Sprintf("sasl: {mechanism: plain, user: %s, password: secret-wrong}", user)),
			[]string{"the broker refuses this user or password"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t, test.topics)
			s.Launch()
			s.wantEnd(test.words...)
			if strings.Contains(s.Log.String(), "secret-wrong") {
				t.Error("the log has the password")
			}
		})
	}
}

// mustSelfSign writes the certificate of an authority that nobody is certified by.
func mustSelfSign(t *testing.T, path string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, &c, &c, &key.PublicKey, key)
	if err == nil {
		err = os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestStartWaits: what time may mend is waited for, and /readyz says what for.
func TestStartWaits(t *testing.T) {
	for name, test := range map[string]struct{ topics, words string }{
		"no broker":         {"kafka: {brokers: ['127.0.0.1:1']}", "no broker answers: is it running, and is the address right?"},
		"no such host":      {"kafka: {brokers: ['no-such-host.invalid:9092']}", "no such host"},
		"TLS where is none": {fmt.Sprintf("kafka: {brokers: [%s], tls: {enabled: true}}", devservers.Kafka(t)), "does not speak TLS (tls.enabled)"},
		"no server":         {"nats: {servers: ['nats://127.0.0.1:1']}", "no NATS server answers at nats://127.0.0.1:1"},
		"no such server":    {"nats: {servers: ['nats://no-such-host.invalid:4222']}", "no-such-host"},
		"one of two is up":  {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if test.topics == "" {
				s := newService(t, e2e.KafkaTopics("127.0.0.1:1", devservers.Kafka(t)))
				s.Start()
				s.post(s.part(0))
				s.wantEvents(s.lines[:250])
				return
			}
			s := newService(t, test.topics)
			s.Launch()
			s.Await(time.Minute, "readyz", func() bool { detail, _ := s.condition("starting"); return strings.Contains(detail, test.words) })
			if status, _ := s.Get("/livez"); status != 200 {
				t.Errorf("/livez %d", status)
			}
			s.wantRefused()
		})
	}
}

// TestTwoDeployments: one of another token waits, and says whose the topics are.
func TestTwoDeployments(t *testing.T) {
	for kind, topics := range map[string]string{
		"kafka": e2e.KafkaTopics(devservers.Kafka(t)),
		"nats":  e2e.NATSTopics(devservers.NATS(t)),
	} {
		t.Run(kind, func(t *testing.T) {
			s := newService(t, topics, "REFRAIN_CLUSTER_TOKEN=0123456789abcdef0123456789abcdef", "REFRAIN_WORKER=first")
			s.Start()
			s.post(s.part(0))
			other := s.withSettings("REFRAIN_CLUSTER_TOKEN=fedcba9876543210fedcba9876543210", "REFRAIN_WORKER=second")
			other.Launch()
			other.Await(2*time.Minute, "word of the other", func() bool {
				detail, _ := other.condition("starting")
				return strings.Contains(detail, "worker first at ") && strings.Contains(detail, "give this one another topics.name")
			})
			s.wantEvents(s.lines[:250])
			_ = s.Kill(9)
			other.AwaitReady(2 * time.Minute) // whoever is dead is nobody's deployment
		})
	}
}
