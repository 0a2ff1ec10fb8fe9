package garbage

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"strings"
)

// answering says one thing.
func answering(name, answer string) kind {
	return kind{name, func(c net.Conn) { _, _ = io.WriteString(c, answer) }}
}

// endless goes on until the client hangs up.
func endless(name, begin, piece string) kind {
	return kind{name, func(c net.Conn) {
		_, err := io.WriteString(c, begin)
		for block := strings.Repeat(piece, 1+(64<<10)/len(piece)); err == nil; {
			_, err = io.WriteString(c, block)
		}
	}}
}

// afterRequest waits until the client has said something, as servers do that do not speak first.
func afterRequest(k kind) kind {
	return kind{k.name, func(c net.Conn) {
		_, _ = c.Read(make([]byte, 4096))
		k.speak(c)
	}}
}

func each(change func(kind) kind, kinds ...kind) []kind {
	for i := range kinds {
		kinds[i] = change(kinds[i])
	}
	return kinds
}

const (
	httpAnswer = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\n\r\n<html>what?</html>"
	sshBanner  = "SSH-2.0-OpenSSH_9.6\r\n"
	smtpBanner = "220 mail.example.org ESMTP\r\n"
	tlsAlert   = "\x15\x03\x01\x00\x02\x02\x46"
)

func redisKinds() []kind {
	return each(afterRequest,
		answering("bulk of 9·10¹⁸", "$9223372036854775000\r\n"),
		answering("bulk of 2 GB", "$2147483647\r\nx"),
		answering("negative bulk", "$-5\r\n"),
		answering("array of 9·10¹⁸", "*9223372036854775000\r\n"),
		answering("array of 10⁹", "*1000000000\r\n+a\r\n"),
		answering("map of 2·10⁹", "%2147483647\r\n"),
		answering("push of 10⁹", ">1000000000\r\n"),
		answering("set of 10⁹", "~1000000000\r\n"),
		endless("arrays in arrays", "", "*1\r\n"),
		endless("arrays in arrays, wide", "", "*1000000\r\n"),
		endless("attributes", "", "|0\r\n"),
		endless("line without an end", "+", "x"),
		endless("error without an end", "-ERR ", "x"),
		endless("number without an end", ":", "9"),
		endless("zeros", "", "\x00"),
		answering("HTTP", httpAnswer),
		answering("SSH", sshBanner),
		answering("TLS", tlsAlert),
		answering("length that is no number", "$abc\r\n"),
		answering("line feed alone", "+OK\n"),
		answering("blob error of 9·10¹⁸", "!9223372036854775000\r\n"),
	)
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
	kinds := []kind{
		answering("HTTP", httpAnswer),
		answering("SSH", sshBanner),
		answering("SMTP", smtpBanner),
		answering("TLS", tlsAlert),
		answering("INFO without JSON", "INFO {\"server_id\":\r\n"),
		endless("INFO without an end", "INFO {", "x"),
		endless("line without an end", "", "x"),
		endless("zeros", "", "\x00"),
	}
	return append(kinds, each(natsAfter,
		answering("message of 9·10¹⁸", "MSG foo 1 9000000000000000000\r\nx"),
		answering("message of 2 GB", "MSG foo 1 2147483647\r\nx"),
		answering("negative message", "MSG foo 1 -5\r\nx"),
		answering("message without size", "MSG foo 1\r\n"),
		answering("headers of 9·10¹⁸", "HMSG foo 1 9000000000000000000 9000000000000000001\r\nx"),
		answering("headers longer than all", "HMSG foo 1 50 10\r\n0123456789\r\n"),
		answering("negative headers", "HMSG foo 1 -1 10\r\n0123456789\r\n"),
		endless("subject without an end", "MSG ", "x"),
		endless("error without an end", "-ERR '", "x"),
		endless("message longer than it says", "MSG foo 1 3\r\nabc", "x"),
		answering("unknown operation", "MSX foo\r\n"),
		answering("HTTP", httpAnswer),
		endless("zeros", "", "\x00"),
	)...)
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
	const huge = int32(1<<31 - 1)
	kinds := []kind{
		kafkaAnswer("frame of -5", -5),
		kafkaAnswer("frame of 0", 0),
		kafkaAnswer("frame of 3", 3),
		kafkaAnswer("frame of 2 GB", huge),
		kafkaAnswer("smallest number", -1<<31),
		kafkaAnswer("2·10⁹ versions", 10, int16(0), huge),
		kafkaAnswer("fewer bytes than versions", 10, int16(0), int32(1000)),
		kafkaAnswer("empty answer", 4),
		kafkaAnswer("half an answer", 5, int8(0)),
		kafkaAfter("2·10⁹ brokers", 8, huge),
		kafkaAfter("2·10⁹ topics", 16, int32(0), int32(0), huge),
		kafkaAfter("2·10⁹ partitions", 4+4+4+4+2+2+1+1+4, int32(0), int32(0), int32(1), int16(0), int16(1), int8('t'),
			int8(0), huge),
		kafkaAfter("name longer than all", 14, int32(1), int32(1), int16(32000)),
		kafkaAfter("frame of -5", -5),
	}
	return append(kinds, each(afterRequest,
		answering("HTTP", httpAnswer),
		answering("SSH", sshBanner),
		answering("TLS", tlsAlert),
		endless("zeros", "", "\x00"),
		endless("ones", "", "\xff"),
		endless("text", "", "hello "),
		endless("frame of 2 GB, delivered", "\x7f\xff\xff\xff", "\x00"),
	)...)
}
