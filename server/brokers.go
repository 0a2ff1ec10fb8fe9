package server

import (
	"fmt"
	"strings"

	"refrain/internal/kafkaconn"
	"refrain/internal/natsconn"
)

func kafkaConn(c *KafkaCluster) (kafkaconn.Config, error) {
	conn := kafkaconn.Config{Brokers: c.Brokers}
	if c.TLS.Enabled {
		conn.TLS = &kafkaconn.TLS{CA: c.TLS.CA, Cert: c.TLS.Cert, Key: c.TLS.Key, ServerName: c.TLS.ServerName}
	}
	if c.SASL.Mechanism != "" {
		password, err := c.SASL.Password.Read()
		if err != nil {
			return conn, fmt.Errorf("sasl.password: %w", err)
		}
		conn.SASL = &kafkaconn.SASL{Mechanism: strings.ToLower(c.SASL.Mechanism), User: c.SASL.User, Password: password}
	}
	return conn, nil
}

func natsConn(n *NATSServer) (conn natsconn.Config, err error) {
	conn = natsconn.Config{Servers: n.Servers, User: n.User, Credentials: n.Credentials, TLS: natsconn.TLS(n.TLS)}
	if conn.Password, err = n.Password.Read(); err != nil {
		return conn, fmt.Errorf("password: %w", err)
	}
	if conn.Token, err = n.Token.Read(); err != nil {
		return conn, fmt.Errorf("token: %w", err)
	}
	return conn, nil
}
