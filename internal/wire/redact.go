package wire

import (
	"crypto/sha256"
	"fmt"
	"net/url"
	"strings"
)

// Redacted stands in for a secret: its length and the start of its hash, so
// that two secrets can be told apart or seen to be one.
func Redacted(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return fmt.Sprintf("••••(len %d, sha256:%x)", len(secret), sum[:2])
}

// secretFields are the header fields whose values are credentials or act as
// such, by lower-case name.
var secretFields = map[string]bool{
	"authorization": true, "proxy-authorization": true, "cookie": true, "set-cookie": true,
	"mcp-session-id": true, "x-api-key": true, "api-key": true, "x-auth-token": true,
}

// RedactField hides the value of a field that carries a secret. The scheme of
// an Authorization field stays readable.
func RedactField(f Field) Field {
	name := strings.ToLower(f.Name)
	if !secretFields[name] && !strings.HasSuffix(name, "-api-key") && !strings.HasSuffix(name, "-token") {
		return f
	}
	scheme, rest, ok := strings.Cut(f.Value, " ")
	if strings.HasSuffix(name, "authorization") && ok {
		return Field{f.Name, scheme + " " + Redacted(rest)}
	}
	return Field{f.Name, Redacted(f.Value)}
}

// secretParams are the query parameters that carry secrets, by lower-case name.
var secretParams = map[string]bool{
	"token": true, "access_token": true, "refresh_token": true, "id_token": true, "key": true,
	"api_key": true, "apikey": true, "code": true, "client_secret": true, "secret": true,
	"password": true, "sig": true, "signature": true, "session": true, "sessionid": true, "session_id": true,
}

// RedactURL hides the user information and the secret query parameters of a
// URL; what is no URL comes back as it is.
func RedactURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || (u.User == nil && u.RawQuery == "") {
		return raw
	}
	if u.User != nil {
		u.User = url.User("redacted")
	}
	pairs := strings.Split(u.RawQuery, "&")
	for i, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		if secretParams[strings.ToLower(name)] {
			pairs[i] = name + "=" + url.QueryEscape(Redacted(value))
		}
	}
	u.RawQuery = strings.Join(pairs, "&")
	return u.String()
}
