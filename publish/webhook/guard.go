package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

// private is what AllowPrivate allows, but for metadata.
var private = []netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("fc00::/7"), netip.MustParsePrefix("::1/128"),
}

// metadata is where clouds hand out their machines' credentials and settings, besides link-local addresses. Only Allow
// allows it.
var metadata = []netip.Prefix{
	netip.MustParsePrefix("fd00:ec2::/32"),          // AWS: ::254, and ::23 for the credentials of pods
	netip.MustParsePrefix("fd20:ce::254/128"),       // Google
	netip.MustParsePrefix("fd00:c1::a9fe:a9fe/128"), // Oracle
	netip.MustParsePrefix("fd00:42::42/128"),        // Scaleway
	netip.MustParsePrefix("100.100.100.200/32"),     // Alibaba
	netip.MustParsePrefix("168.63.129.16/32"),       // Azure; an address of the public Internet
}

// newTransport returns what sends requests. Its guard sees the address of every connection right before it is made,
// when no name can resolve to anything else any more. It uses no proxy: behind one the guard would see the proxy only.
func newTransport(cfg *Config, resolver *net.Resolver) *http.Transport {
	dialer := &net.Dialer{Timeout: cfg.Timeout, KeepAlive: 30 * time.Second, Resolver: resolver, Control: newGuard(cfg)}
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

// newGuard returns what refuses an address, as net.Dialer.Control does.
func newGuard(cfg *Config) func(network, address string, c syscall.RawConn) error {
	listed := guardian(cfg.Allow)
	if !cfg.AllowPrivate {
		return listed.Safe
	}
	wide := guardian(slices.Concat(cfg.Allow, private))
	return func(network, address string, c syscall.RawConn) error {
		if isMetadata(address) {
			return listed.Safe(network, address, c)
		}
		return wide.Safe(network, address, c)
	}
}

// isMetadata is also true for what is no address.
func isMetadata(address string) bool {
	a, err := netip.ParseAddrPort(address)
	return err != nil || slices.ContainsFunc(metadata, func(p netip.Prefix) bool { return p.Contains(a.Addr()) })
}

// guardian refuses what is not of the public Internet, and metadata, unless it is allowed.
func guardian(allowed []netip.Prefix) *ssrf.Guardian {
	v4, v6 := byFamily(allowed)
	denied, _ := byFamily(metadata) // those of IPv6 are in no public network
	return ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...),
		ssrf.WithDeniedV4Prefixes(denied...))
}

func byFamily(prefixes []netip.Prefix) (v4, v6 []netip.Prefix) {
	for _, p := range prefixes {
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
	return v4, v6
}

// refused reports whether the guard has refused the endpoint's address.
func refused(err error) bool {
	return errors.Is(err, ssrf.ErrProhibitedIP) || errors.Is(err, ssrf.ErrProhibitedNetwork) ||
		errors.Is(err, ssrf.ErrInvalidHostPort)
}

// explain makes an error of the transport one for people.
func explain(err error, timeout time.Duration) error {
	switch {
	case refused(err):
		return fmt.Errorf("the address is not of the public Internet, or a cloud's metadata service, and is refused; "+
			"list it under allow (allow_private does so for private networks and this machine): %w", err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer within %v", timeout)
	}
	return err
}
