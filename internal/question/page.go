package question

import (
	"encoding/json"
	"errors"
	"net"
	"net/url"
	"strings"

	"golang.org/x/net/publicsuffix"

	"mcpc/internal/jsonraw"
	"mcpc/internal/loopback"
)

// A Page is the page that an elicitation in URL mode asks the user to visit.
type Page struct {
	Message string
	// URL is the server's text, unchanged.
	URL string
	// Domain is the registrable domain of the host, or the host if it has no such domain, such as
	// an IP address.
	Domain string
	// Warnings are the Oddities of the URL.
	Warnings []string
}

// ParsePage parses the params of elicitation/create in URL mode. Its error says why the page must
// not be opened: it is not a web page (client/elicitation, "Safe URL Handling").
func ParsePage(params json.RawMessage) (Page, error) {
	members, _ := jsonraw.Object(params)
	p := Page{Message: members.Text("message"), URL: members.Text("url")}
	u, err := url.Parse(p.URL)
	if err != nil || strings.ContainsAny(p.URL, " \t\r\n\\") {
		return p, errors.New("the URL is invalid")
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return p, errors.New("only http and https URLs are opened")
	}
	if u.Hostname() == "" {
		return p, errors.New("the URL has no host")
	}
	host := u.Hostname()
	p.Domain, err = publicsuffix.EffectiveTLDPlusOne(strings.ToLower(host))
	if err != nil || net.ParseIP(host) != nil {
		p.Domain = host
	}
	p.Warnings = Oddities(p.URL)
	return p, nil
}

// Oddities returns warnings for a URL that can mislead the user about its host or is not encrypted,
// or nil if address is not a URL.
func Oddities(address string) []string {
	u, err := url.Parse(address)
	if err != nil {
		return nil
	}
	var warnings []string
	host := u.Hostname()
	ip := net.ParseIP(host) // nil if host is a name
	isLocal := loopback.IsHere(host)
	if u.User != nil {
		warnings = append(warnings, "the part before the @ is not the host: the host is "+host)
	}
	if strings.Contains("."+strings.ToLower(host), ".xn--") {
		warnings = append(warnings, "the host is in Punycode: the browser will show another name")
	}
	if strings.IndexFunc(host, func(r rune) bool { return r > 0x7E }) >= 0 {
		warnings = append(warnings, "the host has non-ASCII letters, which may look like others")
	}
	if ip != nil && !isLocal {
		warnings = append(warnings, "the host is an IP address")
	}
	if u.Scheme == "http" && !isLocal {
		warnings = append(warnings, "the connection is not encrypted (http)")
	}
	return warnings
}
