package auth_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"mcpc/internal/demo"
	"mcpc/internal/tests/clitest"
)

// A server refuses requests without a token by an error of JSON-RPC, with status 200 and no challenge: a login tries
// its metadata, and names the error if it has none.
func TestLoginToServerThatAnswersAnError(t *testing.T) {
	hasMetadata := true
	mcp := demo.Handler(demo.Options{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		base := "http://" + r.Host
		answer := func(status int, body map[string]any) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(body)
		}
		switch {
		case strings.HasPrefix(r.URL.Path, "/.well-known/") && !hasMetadata:
			answer(http.StatusNotFound, nil)
		case r.URL.Path == "/.well-known/oauth-protected-resource/mcp":
			answer(http.StatusOK, map[string]any{"resource": base + "/mcp", "authorization_servers": []string{base}})
		case r.URL.Path == "/.well-known/oauth-authorization-server":
			answer(http.StatusOK, map[string]any{
				"issuer": base, "authorization_endpoint": base + "/authorize",
				"token_endpoint": base + "/token", "code_challenge_methods_supported": []string{"S256"},
			})
		case r.URL.Path == "/authorize":
			back := url.Values{"code": {"c"}, "state": {r.FormValue("state")}}
			http.Redirect(w, r, r.FormValue("redirect_uri")+"?"+back.Encode(), http.StatusFound)
		case r.URL.Path == "/token":
			answer(http.StatusOK, map[string]any{"access_token": "access-1", "token_type": "Bearer", "expires_in": 3600})
		case r.Header.Get("Authorization") == "Bearer access-1":
			mcp.ServeHTTP(w, r)
		default:
			var request struct {
				ID json.RawMessage `json:"id"`
			}
			_ = json.NewDecoder(r.Body).Decode(&request)
			answer(http.StatusOK, map[string]any{
				"jsonrpc": "2.0", "id": request.ID,
				"error": map[string]any{"code": -32001, "message": "missing token"},
			})
		}
	}))
	defer s.Close()
	env := append(clitest.Env(t.TempDir()), "BROWSER=visit")
	login := []string{"login", s.URL + "/mcp", "--client-id", "me", "--token-store", "file"}
	out := clitest.MCPC(t, env, login...)
	if out.Code != 0 || !strings.Contains(out.Stderr, `answered "missing token"; trying its metadata`) {
		t.Fatalf("login: exit code %d\n%s", out.Code, out.Stderr)
	}
	out = clitest.MCPC(t, env, "call", "echo", `{"message":"x"}`, "-s", s.URL+"/mcp")
	if out.Code != 0 {
		t.Errorf("call: exit code %d\n%s", out.Code, out.Stderr)
	}
	hasMetadata = false
	out = clitest.MCPC(t, append(clitest.Env(t.TempDir()), "BROWSER=visit"), login...)
	if out.Code != 4 || !strings.Contains(out.Stderr, `no resource metadata and requires no token, but answered "missing token"`) ||
		!strings.Contains(out.Stderr, "MCPC_TOKEN, or into a file for --token-file FILE; an API key goes into -H 'NAME: VALUE'") {
		t.Errorf("login without metadata: exit code %d\n%s", out.Code, out.Stderr)
	}
}

// A server that checks a fixed token sends the challenge of a server with OAuth and has no authorization server: a login
// and a check say so, and the token of its operator is accepted.
func TestLoginToServerWithFixedToken(t *testing.T) {
	for _, notThere := range []int{http.StatusNotFound, http.StatusUnauthorized} {
		mcp := demo.Handler(demo.Options{})
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path != "/mcp" && notThere == http.StatusNotFound:
				w.WriteHeader(http.StatusNotFound)
			case r.Header.Get("Authorization") != "Bearer t0ken-of-operator":
				w.Header().Set("WWW-Authenticate", `Bearer realm="x"`)
				w.WriteHeader(http.StatusUnauthorized)
			default:
				mcp.ServeHTTP(w, r)
			}
		}))
		defer s.Close()
		env := clitest.Env(t.TempDir())
		out := clitest.MCPC(t, env, "login", s.URL+"/mcp", "--token-store", "file")
		if out.Code != 4 || !strings.Contains(out.Stderr, "the server names no authorization server and is not one itself: "+s.URL+"/authorize returned HTTP 40") ||
			!strings.Contains(out.Stderr, "hint: a token from the server's operator goes into MCPC_TOKEN") {
			t.Errorf("login: exit code %d\n%s", out.Code, out.Stderr)
		}
		out = clitest.MCPC(t, env, "check", "-s", s.URL+"/mcp")
		if !strings.Contains(out.Stdout, "the server names no authorization server and is not one itself") ||
			strings.Contains(out.Stdout, "the authorization server is") {
			t.Errorf("check: exit code %d\n%s", out.Code, out.Stdout)
		}
		out = clitest.MCPC(t, env, "list", "-s", s.URL+"/mcp")
		if out.Code != 4 || !strings.Contains(out.Stderr, "(OAuth), or a token from the operator in MCPC_TOKEN") {
			t.Errorf("list: exit code %d\n%s", out.Code, out.Stderr)
		}
		out = clitest.MCPC(t, append(env, "MCPC_TOKEN=t0ken-of-operator"), "call", "echo", `{"message":"x"}`, "-s", s.URL+"/mcp")
		if out.Code != 0 {
			t.Errorf("call: exit code %d\n%s", out.Code, out.Stderr)
		}
	}
}
