package auth

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpc/internal/usage"
)

// RFC 6749, section 3.1: an endpoint has no fragment, and no parameter is in the request
// twice: servers take the first one, which is not the client's.
func TestEndpointsThatBringTheRequestsParameters(t *testing.T) {
	for _, end := range []string{
		"#", "#at", "?tenant=1#at", "?client_id=evil", "?redirect_uri=https%3A%2F%2Fevil.example", "?state=x", "?tenant=1&stat%65=x",
		"?response_type=token", "?code_challenge=x", "?code_challenge_method=plain",
		"?response_mode=form_post", "?request=x", "?request_uri=https%3A%2F%2Fevil.example",
	} {
		w := newWorld(t)
		w.documents[serverAt] = strings.Replace(usualServer, "BASE/authorize", "BASE/authorize"+end, 1)
		_, err := w.login(newStore(), nil)
		wantRule(t, err, ServerInvalid)
		if w.asked != nil || w.asks("/register") != 0 {
			t.Errorf("%s: the browser was sent there, or mcpc registered", end)
		}
	}
	for _, name := range []string{"token", "register", "device"} {
		w := newWorld(t)
		w.documents[serverAt] = strings.Replace(strings.Replace(usualServer, "{", `{"device_authorization_endpoint":"BASE/device",`, 1), "BASE/"+name, "BASE/"+name+"#at", 1)
		_, err := w.login(newStore(), func(r *Request) { r.Grant = DeviceCode })
		wantRule(t, err, ServerInvalid)
	}
}

// The client's resource and scope replace the values in an endpoint's URL; if the client has no
// values, the URL's remain.
func TestClientResourceReplacesThatOfEndpoint(t *testing.T) {
	yes := true
	for _, c := range []struct {
		end             string
		omit            *bool
		scopes          string
		resource, scope string
	}{
		{"?resource=https%3A%2F%2Fother.example", nil, `["a"]`, "BASE/mcp", "a"},
		{"?tenant=1&resource=BASE/mcp", nil, `["a"]`, "BASE/mcp", "a"},
		{"?resource=x&resource=y&scope=all", nil, `["a"]`, "BASE/mcp", "a"},
		{"?resource=x&scope=openid", &yes, `[]`, "x", "openid"},
	} {
		w := newWorld(t)
		w.documents[serverAt] = strings.Replace(usualServer, "BASE/authorize", "BASE/authorize"+c.end, 1)
		w.documents[resourceAt+"/mcp"] = strings.Replace(usualResource, `["a","b"]`, c.scopes, 1)
		_, err := w.login(newStore(), func(r *Request) { r.OmitResource = c.omit })
		wantRule(t, err, "")
		resource := strings.Replace(c.resource, "BASE", w.url, 1)
		if !slices.Equal(w.asked["resource"], []string{resource}) || !slices.Equal(w.asked["scope"], []string{c.scope}) {
			t.Errorf("%s: asked %v", c.end, w.asked)
		}
		if strings.Contains(c.end, "tenant") && w.asked.Get("tenant") != "1" {
			t.Errorf("%s: asked %v", c.end, w.asked)
		}
	}
}

// A server may send any number as a time, or no number.
func TestTimesThatMakeNoSense(t *testing.T) {
	for expires, want := range map[string]time.Duration{
		"3600": time.Hour, `"3600"`: time.Hour, "36e2": time.Hour, "3600.5": time.Hour, "0": 0, "-5": 0, "-5e18": 0,
		`"soon"`: 0, "null": 0, "[]": 0, "1e18": maxSeconds * time.Second, "1e400": maxSeconds * time.Second, "1000000000000000000": maxSeconds * time.Second,
		"2147483648": (1 << 31) * time.Second,
	} {
		w, store := newWorld(t), newStore()
		w.token = func(url.Values, http.Header) (int, string) {
			return 200, `{"access_token":"x","token_type":"Bearer","expires_in":` + expires + `}`
		}
		w.registration = func(map[string]any) (int, string) {
			return 201, `{"client_id":"x","client_secret":"y","client_secret_expires_at":` + expires + `}`
		}
		walk := w.walk()
		walk.Now = func() time.Time { return now }
		token, err := walk.Login(t.Context(), store, w.request())
		if err != nil {
			t.Errorf("%s: %v", expires, err)
			continue
		}
		if odd := map[string]string{"0": "0", "-5": "-5", "-5e18": "-5e18", `"soon"`: "not a number", "[]": "not a number"}[expires]; token.OddExpiry != odd {
			t.Errorf("%s: noted as %q, want %q", expires, token.OddExpiry, odd)
		}
		if got := token.Expires; want == 0 && !got.IsZero() || want != 0 && !got.Equal(now.Add(want)) {
			t.Errorf("%s: ends at %v, want %v from now", expires, got, want)
		}
		if got := book(t, store).Clients[0].SecretExpires; want == 0 && !got.IsZero() || want != 0 && !got.Equal(time.Unix(0, 0).Add(want)) {
			t.Errorf("%s: the client's secret ends at %v", expires, got)
		}
	}
}

// A token is sent in a header field: a value that could end the field is not a token, and no token
// is stored that cannot be sent.
func TestInvalidTokensAreRefused(t *testing.T) {
	for _, c := range []struct {
		access, refresh string
		ok              bool
	}{
		{"a-._~+/b==", "r", true},
		{"12|abc:{x}", "", true},
		{`a\r\nX-Evil: 1`, "r", false},
		{`a\n`, "r", false},
		{"a b", "r", false},
		{`a\u0000`, "r", false},
		{"ä", "r", false},
		{`a\u007f`, "r", false},
		{"a", `r\r\nX-Evil: 1`, false},
		{"a", "r\u200b", false},
	} {
		w, store := newWorld(t), newStore()
		w.token = func(url.Values, http.Header) (int, string) {
			return 200, `{"access_token":"` + c.access + `","token_type":"Bearer","refresh_token":"` + c.refresh + `"}`
		}
		_, err := w.login(store, nil)
		kept := len(book(t, store).Tokens)
		if c.ok && (err != nil || kept != 1) || !c.ok && kept != 0 {
			t.Errorf("%q, %q: got %v, and %d tokens are kept", c.access, c.refresh, err, kept)
		}
		if !c.ok {
			wantRule(t, err, TokenRefused)
		}
	}
	w := newWorld(t)
	w.token = func(url.Values, http.Header) (int, string) {
		return 200, "access_token=a&token_type=bearer&expires_in=60&scope=a+b"
	}
	token, err := w.login(newStore(), nil)
	if err != nil || token.Access != "plain:a" || token.Expires.IsZero() || !slices.Equal(token.Scopes, []string{"a", "b"}) {
		t.Errorf("an answer that is a form: got %+v, %v", token, err)
	}
}

// Whatever times a server sends, a login with a code ends with an error or a token.
func TestDeviceTimesThatMakeNoSense(t *testing.T) {
	answer := `{"device_code":"d","user_code":"ABCD","verification_uri":"BASE/verify","expires_in":EXPIRES,"interval":INTERVAL}`
	for _, c := range []struct {
		expires, interval string
		want              Rule
	}{
		{"60", "0.001", NoResponse}, // usual: seconds are whole
		{"60", "-5", NoResponse},
		{"60", "1e18", TokenRefused},
		{"60", "1000000000000000000", TokenRefused},
		{"60", "10000000000", TokenRefused},
		{"60", "9223372036854775807", TokenRefused},
		{"60", "901", TokenRefused},
		{"60", `"x"`, NoResponse},
		{"-5", "1", ""},
		{"0", "1", ""},
		{"1e18", "1", ""},
		{"1000000000000000000", "1", ""},
		{`"60"`, `"1"`, ""},
	} {
		t.Run(c.expires+" "+c.interval, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.documents[serverAt] = strings.Replace(usualServer, "{", `{"device_authorization_endpoint":"BASE/device",`, 1)
			w.documents["/device"] = strings.NewReplacer("EXPIRES", c.expires, "INTERVAL", c.interval).Replace(answer)
			ctx, stop := context.WithCancelCause(t.Context())
			defer stop(nil)
			req := w.request()
			req.Grant = DeviceCode
			req.ShowCode = func(context.Context, string, string) {
				if c.want != "" { // five seconds; the test does not wait for them
					stop(usage.Late("it is late"))
				}
			}
			_, err := w.walk().Login(ctx, newStore(), req)
			wantRule(t, err, c.want)
			if n := w.asks("/token"); c.want == "" && n != 1 || c.want != "" && n != 0 {
				t.Errorf("%d requests for a token", n)
			}
		})
	}
}

// RFC 8628, section 3.2: the required members are present.
func TestInvalidDeviceCodesAreRefused(t *testing.T) {
	for _, answer := range []string{
		`{}`, `[]`, `"x"`, `{"device_code":"d","user_code":"A"}`, `{"device_code":"d","verification_uri":"BASE/verify"}`,
		`{"user_code":"A","verification_uri":"BASE/verify"}`,
	} {
		w := newWorld(t)
		w.documents[serverAt] = strings.Replace(usualServer, "{", `{"device_authorization_endpoint":"BASE/device",`, 1)
		w.documents["/device"] = answer
		_, err := w.login(newStore(), func(r *Request) { r.Grant = DeviceCode })
		wantRule(t, err, TokenRefused)
	}
}
