package target

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"mcpc/internal/wire"
)

// parseURL checks and normalises an http or https URL (RFC 3986, section 6.2): scheme and host in
// lower case, the port as a plain number or omitted if it is the default, "/" for an empty path,
// everything outside ASCII percent-encoded. It checks the parts itself, because net/url accepts
// more than a request may have, and because the errors of net/url quote the URL.
func parseURL(text string) (string, *Error) {
	if err := checkCharacters(text); err != nil {
		return "", err
	}
	scheme, rest, err := cutScheme(text)
	if err != nil {
		return "", err
	}
	authority := rest
	tail := ""
	if i := strings.IndexAny(rest, "/?#\\"); i >= 0 { // browsers read \ as /, so it ends the host too
		authority = rest[:i]
		tail = rest[i:]
	}
	host, port, err := parseAuthority(authority)
	if err != nil {
		return "", err
	}
	if port == defaultPorts[scheme] {
		port = ""
	}
	tail, err = parseTail(tail)
	if err != nil {
		return "", err
	}
	return scheme + "://" + host + port + tail, nil
}

var defaultPorts = map[string]string{"http": ":80", "https": ":443"}

// checkCharacters rejects invisible characters, which a terminal or a file may have added, and
// characters that would break a request line.
func checkCharacters(text string) *Error {
	if !utf8.ValidString(text) {
		return urlError("url", "the URL is not valid UTF-8", "type it again in ASCII")
	}
	for i, r := range text {
		if r == ' ' && strings.TrimSpace(text) != text {
			return urlError("url", "the URL has a leading or trailing space", "remove the space")
		}
		if r == ' ' {
			return urlError("url", fmt.Sprintf("the URL has a space at byte %d", i), "write a space as %20")
		}
		if !unicode.IsPrint(r) {
			return urlError("url", fmt.Sprintf("the URL has the invisible character %U at byte %d", r, i), "remove it")
		}
	}
	return nil
}

// cutScheme returns "http" or "https" and the text after "//". For any other text its error
// suggests what to type.
func cutScheme(text string) (scheme, rest string, err *Error) {
	scheme, rest, ok := strings.Cut(text, "://")
	lower := strings.ToLower(scheme)
	if ok && (lower == "http" || lower == "https") {
		return lower, rest, nil
	}
	if ok && scheme != "" && strings.Trim(lower, "abcdefghijklmnopqrstuvwxyz0123456789+-.") == "" {
		return "", "", urlError("scheme", fmt.Sprintf("the URL's scheme is %q, not http or https", lower),
			"use an http or https URL, or a stdio server: "+wire.Run("list -- COMMAND"))
	}
	for _, s := range []string{"http:", "https:"} {
		if len(text) >= len(s) && strings.EqualFold(text[:len(s)], s) {
			return "", "", urlError("scheme", fmt.Sprintf(`the URL has no "//" after %q`, s), wire.Hint("write "+s+"//HOST"))
		}
		bare := strings.TrimSuffix(s, ":")
		if len(text) > len(bare) && strings.EqualFold(text[:len(bare)+1], bare+"/") { // http/HOST or http//HOST
			return "", "", urlError(
				"scheme",
				fmt.Sprintf("the URL has no %q after %q", ":", bare),
				wire.Hint("write "+s+"//HOST"),
			)
		}
	}
	return "", "", missingSchemeError(text)
}

// scopedPackage matches an npm package with a scope, as users type it after npx.
var scopedPackage = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^@[a-z0-9][-a-z0-9._]*/[a-z0-9][-a-z0-9._]*(@[a-z0-9][-a-z0-9._]*)?$`)
})

// missingSchemeError explains a URL that starts with its host. The hint repeats the text only if it is a
// valid URL with a scheme in front and has no secret.
func missingSchemeError(text string) *Error {
	err := urlError("scheme", "the URL has no scheme", "start it with http:// or https://")
	if scopedPackage().MatchString(text) {
		return urlError("scheme", "the server is an npm package, not a URL",
			"start it with npx: "+wire.Run("list -- npx -y "+text))
	}
	bare := strings.TrimPrefix(text, "//")
	if strings.ContainsAny(bare, "?@") {
		return err
	}
	scheme := "https://"
	if u, parseErr := url.Parse("http://" + bare); parseErr == nil && isLocalHost(u.Hostname()) {
		scheme = "http://"
	}
	if !strings.Contains(bare, "/") {
		bare += "/mcp" // where most servers listen
	}
	if full, invalid := parseURL(scheme + bare); invalid == nil {
		err.hint = wire.Hint(full)
	}
	return err
}

// isLocalHost reports whether a host is rarely behind TLS: a name without a dot, or a loopback or
// private address.
func isLocalHost(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.IsLoopback() || a.IsPrivate() || a.IsUnspecified()
	}
	return !strings.Contains(host, ".") || strings.HasSuffix(host, ".localhost")
}

// parseAuthority checks user, host and port. It returns the port as ":n" or "".
func parseAuthority(authority string) (host, port string, err *Error) {
	if strings.Contains(authority, "@") {
		return "", "", urlError("userinfo", "the URL has a user name or password in it",
			"send credentials as a header: -H 'Authorization: ...'")
	}
	host = authority
	// A colon before the closing bracket belongs to an IPv6 address.
	if i := strings.LastIndexByte(authority, ':'); i > strings.IndexByte(authority, ']') {
		host = authority[:i]
		port = authority[i+1:]
	}
	if strings.HasPrefix(host, "[") {
		host, err = parseIPv6(host)
	} else {
		host, err = parseHost(host)
	}
	if err != nil {
		return "", "", err
	}
	port, err = parsePort(port)
	return host, port, err
}

// parsePort returns ":n", or "" without a port.
func parsePort(port string) (string, *Error) {
	if port == "" {
		return "", nil
	}
	const hint = "use a port from 1 to 65535"
	if strings.Trim(port, "0123456789") != "" {
		// The error does not quote the port: it may be the end of a password with a slash.
		return "", urlError("port", "the URL's port is not a number", hint)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return "", urlError("port", fmt.Sprintf("the URL's port %s is out of range", port), hint)
	}
	return ":" + strconv.FormatUint(n, 10), nil
}

// parseIPv6 checks an IPv6 address in brackets and returns its canonical form in brackets.
func parseIPv6(host string) (string, *Error) {
	inner, closed := strings.CutSuffix(host[1:], "]")
	if strings.Contains(inner, "%") {
		return "", urlError("host", "the URL's IPv6 address has a zone", "use an address without %, or a host name")
	}
	addr, err := netip.ParseAddr(inner)
	if err != nil || !addr.Is6() || !closed {
		return "", urlError("host", "the URL's brackets do not contain an IPv6 address", "write http://[::1]:3001/mcp")
	}
	return "[" + addr.String() + "]", nil
}

// parseHost checks a host name or an IPv4 address.
func parseHost(host string) (string, *Error) {
	const hint = "check the spelling of the host"
	const maxLen = 253 // of a domain name (RFC 1035)
	host = strings.ToLower(host)
	name := strings.TrimSuffix(host, ".")
	if host == "" {
		return "", urlError("host", "the URL has no host", "write http://HOST:PORT/PATH")
	}
	if strings.IndexFunc(host, func(r rune) bool { return r > unicode.MaxASCII }) >= 0 {
		// A conversion needs the tables of IDNA (RFC 5891), and a mistake would send the request to
		// another host.
		return "", urlError("host", "the URL's host is not ASCII", "write it in Punycode, starting with xn--")
	}
	if strings.Contains(host, ":") {
		return "", urlError(
			"host",
			"the URL's host has more than one colon",
			"put an IPv6 address in brackets: http://[::1]:3001/mcp",
		)
	}
	hasInvalidCharacter := strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789-._") != ""
	if hasInvalidCharacter || len(name) > maxLen || !hasValidLabels(name) {
		return "", urlError("host", "the URL's host is not a host name", hint)
	}
	if isAddressLabel(name[strings.LastIndexByte(name, '.')+1:]) {
		// Some resolvers read 127.1, 0x7f000001 and 2130706433 as addresses, others as names.
		if addr, err := netip.ParseAddr(host); err != nil || !addr.Is4() {
			return "", urlError(
				"host",
				"the URL's host is neither a name nor a whole IPv4 address",
				"write all four numbers, such as 127.0.0.1",
			)
		}
	}
	return host, nil
}

func hasValidLabels(name string) bool {
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' {
			return false
		}
	}
	return true
}

// isAddressLabel reports whether a host with this last label is an address for the URL standard
// ("ends in a number").
func isAddressLabel(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// parseTail checks path, query and fragment, and percent-encodes other characters than ASCII.
// Servers read a query by their own rules, so that a % in it may stand alone.
func parseTail(tail string) (string, *Error) {
	if strings.HasPrefix(tail, "\\") {
		return "", urlError("path", "the URL has a backslash", "write / instead")
	}
	if strings.Contains(tail, "#") {
		return "", urlError("fragment", "the URL has a fragment", "remove # and what follows: it is never sent")
	}
	path, query, hasQuery := strings.Cut(tail, "?")
	if !hasValidEscapes(path) {
		return "", urlError(
			"path",
			"the URL's path has a % that is not followed by two hexadecimal digits",
			"write a percent sign as %25",
		)
	}
	if path == "" {
		path = "/"
	}
	if hasQuery {
		path += "?" + query
	}
	return escape(path), nil
}

// hasValidEscapes reports whether two hexadecimal digits follow each %.
func hasValidEscapes(path string) bool {
	for {
		_, rest, found := strings.Cut(path, "%")
		if !found {
			return true
		}
		if len(rest) < 2 || strings.Trim(rest[:2], "0123456789abcdefABCDEF") != "" {
			return false
		}
		path = rest[2:]
	}
}

// escape percent-encodes characters that a path or query cannot have. It keeps existing escapes.
func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c >= utf8.RuneSelf || strings.IndexByte("\"<>\\^`{|}", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
