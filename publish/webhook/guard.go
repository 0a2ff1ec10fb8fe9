package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	"code.dny.dev/ssrf"
)

// private is what AllowPrivate allows.
var private = []netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("127.0.0.0/8"),
	netip.MustParsePrefix("fc00::/7"), netip.MustParsePrefix("::1/128"),
}

// newTransport returns what sends requests. Its guard sees the address of every connection right before it is made,
// when no name can resolve to anything else any more. It uses no proxy: behind one the guard would see the proxy only.
func newTransport(cfg *Config, resolver *net.Resolver) *http.Transport {
	dialer := &net.Dialer{Timeout: cfg.Timeout, KeepAlive: 30 * time.Second, Resolver: resolver, Control: newGuard(cfg).Safe}
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    cfg.Concurrency,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    cfg.Timeout,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true, // the answer is not read
	}
}

func newGuard(cfg *Config) *ssrf.Guardian {
	allowed := cfg.Allow
	if cfg.AllowPrivate {
		allowed = append(append([]netip.Prefix{}, allowed...), private...)
	}
	var v4, v6 []netip.Prefix
	for _, p := range allowed {
		const mapped = 96 // bits before the IPv4 address in ::ffff:10.0.0.0/104
		if p.Addr().Is4In6() && p.Bits() >= mapped {
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-mapped)
		}
		if p.Addr().Is4() {
			v4 = append(v4, p)
		} else {
			v6 = append(v6, p)
		}
	}
	return ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...))
}

// refused reports whether the guard has refused the endpoint's address.
func refused(err error) bool {
	return errors.Is(err, ssrf.ErrProhibitedIP) || errors.Is(err, ssrf.ErrProhibitedNetwork) || errors.Is(err, ssrf.ErrInvalidHostPort)
}

// explain makes an error of the transport one for people.
func explain(err error, timeout time.Duration) error {
	switch {
	case refused(err):
		return fmt.Errorf("the address is not of the public Internet and is refused; list it under allow (allow_private does so for private networks and this machine): %w", err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer within %v", timeout)
	}
	return err
}
