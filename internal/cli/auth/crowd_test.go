package auth_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"sync"
	"testing"

	"mcpc/internal/demo"
	"mcpc/internal/tests/clitest"
)

// Many processes at once, with a token that is about to end and a refresh token that
// is good once: each is used once, a process that waits takes the new token, and none is
// logged out. How many wait for each other depends on the machine: no request gets more
// than one token.
//
// authorization 60
func TestRenewRefreshesOncePerToken(t *testing.T) {
	dir := t.TempDir()
	var mu sync.Mutex
	issued, reused, requests, good := 0, 0, 0, map[string]bool{}
	mcp := demo.Handler(demo.Options{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		base := "http://" + r.Host
		answer := func(status int, body map[string]any) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(body)
		}
		mu.Lock()
		defer mu.Unlock()
		switch r.URL.Path {
		case "/.well-known/oauth-protected-resource/mcp":
			answer(200, map[string]any{"resource": base + "/mcp", "authorization_servers": []string{base}})
		case "/.well-known/oauth-authorization-server":
			answer(200, map[string]any{
				"issuer": base, "authorization_endpoint": base + "/authorize", "token_endpoint": base + "/token",
				"code_challenge_methods_supported": []string{"S256"},
			})
		case "/authorize":
			http.Redirect(w, r, r.FormValue("redirect_uri")+"?"+url.Values{"code": {"c"}, "state": {r.FormValue("state")}}.Encode(), http.StatusFound)
		case "/token":
			refresh := r.PostFormValue("refresh_token")
			if refresh != "" && !good[refresh] {
				reused++
				answer(400, map[string]any{"error": "invalid_grant"})
				return
			}
			delete(good, refresh)
			issued++
			next := fmt.Sprint("refresh-", issued)
			good[next] = true
			answer(200, map[string]any{"access_token": fmt.Sprint("access-", issued), "refresh_token": next, "token_type": "Bearer", "expires_in": 1})
		default:
			if r.Header.Get("Authorization") == "" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			requests++
			mcp.ServeHTTP(w, r)
		}
	}))
	defer s.Close()
	run := func(args ...string) {
		cmd := exec.Command("mcpc", append(args, "-s", s.URL+"/mcp", "--no-record")...)
		cmd.Env = append(clitest.Env(dir), "BROWSER=visit")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
	run("login", "--client-id", "me", "--token-store", "file")
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() { run("call", "echo", `{"message":"x"}`) })
	}
	all.Wait()
	if mu.Lock(); reused != 0 || issued < 2 || issued > 1+requests {
		t.Errorf("%d tokens were issued for %d requests, and a refresh token came a second time %d times", issued, requests, reused)
	}
	mu.Unlock()
}
