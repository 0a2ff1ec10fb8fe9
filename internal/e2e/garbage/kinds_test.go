package garbage

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"strings"
)

// answering answers the first that the client says, or speaks first where the server does.
func answering(clientFirst bool, name, answer string) kind {
	return kind{name, func(c net.Conn) {
		if clientFirst {
			_, _ = c.Read(make([]byte, 4096))
		}
		_, _ = io.WriteString(c, answer)
	}}
}

// endless goes on until the client has had enough.
func endless(clientFirst bool, name, begin, piece string) kind {
	return kind{name, func(c net.Conn) {
		if clientFirst {
			_, _ = c.Read(make([]byte, 4096))
		}
		_, err := io.WriteString(c, begin)
		for block := strings.Repeat(piece, 1+(64<<10)/len(piece)); err == nil; {
			_, err = io.WriteString(c, block)
		}
	}}
}

const (
	httpAnswer = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\n\r\n<html>what?</html>"
	sshBanner  = "SSH-2.0-OpenSSH_9.6\r\n"
	smtpBanner = "220 mail.example.org ESMTP\r\n"
	tlsAlert   = "\x15\x03\x01\x00\x02\x02\x46"
)

func redisKinds() []kind {
	const first = true
	return []kind{
		answering(first, "bulk of 9·10¹⁸", "$9223372036854775000\r\n"),
		answering(first, "bulk of 2 GB", "$2147483647\r\nx"),
		answering(first, "negative bulk", "$-5\r\n"),
		answering(first, "array of 9·10¹⁸", "*9223372036854775000\r\n"),
		answering(first, "array of 10⁹", "*1000000000\r\n+a\r\n"),
		answering(first, "map of 2·10⁹", "%2147483647\r\n"),
		answering(first, "push of 10⁹", ">1000000000\r\n"),
		answering(first, "set of 10⁹", "~1000000000\r\n"),
		endless(first, "arrays in arrays", "", "*1\r\n"),
		endless(first, "arrays in arrays, wide", "", "*1000000\r\n"),
		endless(first, "attributes", "", "|0\r\n"),
		endless(first, "line without an end", "+", "x"),
		endless(first, "error without an end", "-ERR ", "x"),
		endless(first, "number without an end", ":", "9"),
		endless(first, "zeros", "", "\x00"),
		answering(first, "HTTP", httpAnswer),
		answering(first, "SSH", sshBanner),
		answering(first, "TLS", tlsAlert),
		answering(first, "length that is no number", "$abc\r\n"),
		answering(first, "line feed alone", "+OK\n"),
		answering(first, "blob error of 9·10¹⁸", "!9223372036854775000\r\n"),
	}
}

const natsInfo = `INFO {"server_id":"A","version":"2.15.2","proto":1,"headers":true,"max_payload":1048576,"jetstream":true}` + "\r\n"

// natsAfter greets like a server, answers CONNECT and PING, and goes on with garbage.
func natsAfter(k kind) kind {
	return kind{"greeting, then " + k.name, func(c net.Conn) {
		_, _ = io.WriteString(c, natsInfo)
		var received []byte
		for b := make([]byte, 4096); !bytes.Contains(received, []byte("PING\r\n")); {
			n, err := c.Read(b)
			if err != nil {
				return
			}
			received = append(received, b[:n]...)
		}
		_, _ = io.WriteString(c, "PONG\r\n")
		k.speak(c)
	}}
}

func natsKinds() []kind {
	const first = false
	kinds := []kind{
		answering(first, "HTTP", httpAnswer),
		answering(first, "SSH", sshBanner),
		answering(first, "SMTP", smtpBanner),
		answering(first, "TLS", tlsAlert),
		answering(first, "INFO without JSON", "INFO {\"server_id\":\r\n"),
		endless(first, "INFO without an end", "INFO {", "x"),
		endless(first, "line without an end", "", "x"),
		endless(first, "zeros", "", "\x00"),
	}
	for _, k := range []kind{
		answering(first, "message of 9·10¹⁸", "MSG foo 1 9000000000000000000\r\nx"),
		answering(first, "message of 2 GB", "MSG foo 1 2147483647\r\nx"),
		answering(first, "negative message", "MSG foo 1 -5\r\nx"),
		answering(first, "message without size", "MSG foo 1\r\n"),
		answering(first, "headers of 9·10¹⁸", "HMSG foo 1 9000000000000000000 9000000000000000001\r\nx"),
		answering(first, "headers longer than all", "HMSG foo 1 50 10\r\n0123456789\r\n"),
		answering(first, "negative headers", "HMSG foo 1 -1 10\r\n0123456789\r\n"),
		endless(first, "subject without an end", "MSG ", "x"),
		endless(first, "error without an end", "-ERR '", "x"),
		endless(first, "message longer than it says", "MSG foo 1 3\r\nabc", "x"),
		answering(first, "unknown operation", "MSX foo\r\n"),
		answering(first, "HTTP", httpAnswer),
		endless(first, "zeros", "", "\x00"),
	} {
		kinds = append(kinds, natsAfter(k))
	}
	return kinds
}

// kafkaAnswer answers the first request with a frame: a size as it claims, the number of the request, a body.
func kafkaAnswer(name string, size int32, body ...any) kind {
	return kind{name, func(c net.Conn) { answerKafka(c, size, body...) }}
}

func answerKafka(c net.Conn, size int32, body ...any) {
	head := make([]byte, 4096)
	n, err := io.ReadAtLeast(c, head, 12)
	if err != nil {
		return
	}
	var out bytes.Buffer
	for _, v := range append([]any{size, binary.BigEndian.Uint32(head[8:n])}, body...) {
		_ = binary.Write(&out, binary.BigEndian, v) // a buffer takes everything
	}
	_, _ = c.Write(out.Bytes())
}

// kafkaAfter answers what a client asks first, which requests there are, and the next one with garbage.
func kafkaAfter(name string, size int32, body ...any) kind {
	return kind{"versions, then " + name, func(c net.Conn) {
		const metadata, apiVersions = 3, 18
		answerKafka(c, 4+2+4+2*6, int16(0), int32(2), [3]int16{metadata, 1, 1}, [3]int16{apiVersions, 0, 0})
		answerKafka(c, size, body...)
	}}
}

func kafkaKinds() []kind {
	const first = true
	const huge = int32(1<<31 - 1)
	return []kind{
		kafkaAnswer("frame of -5", -5),
		kafkaAnswer("frame of 0", 0),
		kafkaAnswer("frame of 3", 3),
		kafkaAnswer("frame of 2 GB", huge),
		kafkaAnswer("smallest number", -1<<31),
		kafkaAnswer("2·10⁹ versions", 10, int16(0), huge),
		kafkaAnswer("fewer bytes than versions", 10, int16(0), int32(1000)),
		kafkaAnswer("empty answer", 4),
		kafkaAnswer("half an answer", 5, int8(0)),
		answering(first, "HTTP", httpAnswer),
		answering(first, "SSH", sshBanner),
		answering(first, "TLS", tlsAlert),
		endless(first, "zeros", "", "\x00"),
		endless(first, "ones", "", "\xff"),
		endless(first, "text", "", "hello "),
		endless(first, "frame of 2 GB, delivered", "\x7f\xff\xff\xff", "\x00"),
		kafkaAfter("2·10⁹ brokers", 8, huge),
		kafkaAfter("2·10⁹ topics", 16, int32(0), int32(0), huge),
		kafkaAfter("2·10⁹ partitions", 4+4+4+4+2+2+1+1+4, int32(0), int32(0), int32(1), int16(0), int16(1), int8('t'), int8(0), huge),
		kafkaAfter("name longer than all", 14, int32(1), int32(1), int16(32000)),
		kafkaAfter("frame of -5", -5),
	}
}
