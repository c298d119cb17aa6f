package auth

import (
	"net/url"
	"slices"
	"strings"
	"testing"
)

// A login reports its phases in order, and each request with its bodies. A response of another issuer is
// reported without its parameters (RFC 9207, section 2.4).
func TestLoginReportsPhasesAndRequests(t *testing.T) {
	for _, issuer := range []string{"", "https://evil.example"} {
		w := newWorld(t)
		w.redirect = func(q url.Values) {
			if issuer != "" {
				q.Set("iss", issuer)
			}
		}
		var phases []Phase
		var requests []Step
		flow := w.walk()
		flow.OnPhase = func(p Phase) { phases = append(phases, p) }
		flow.OnStep = func(s Step) {
			if s.Method != "" {
				requests = append(requests, s)
			}
		}
		_, err := flow.Login(t.Context(), newStore(), w.request())
		want := []Phase{FindsResource, FindsServer, ChoosesClient, Authorizes, AwaitsRedirect, RequestsToken}
		if issuer != "" {
			wantRule(t, err, ResponseIssuer)
			want = want[:len(want)-1]
		} else if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(phases, want) {
			t.Errorf("phases %v, want %v", phases, want)
		}
		isRedirect := func(s Step) bool { return strings.Contains(s.URL, callbackPath) }
		redirect := requests[slices.IndexFunc(requests, isRedirect)]
		if hasCode := strings.Contains(redirect.URL, "code="); hasCode != (issuer == "") {
			t.Errorf("from %q: the redirect is reported as %s", issuer, redirect.URL)
		}
		if last := requests[len(requests)-1]; issuer == "" &&
			(last.Method != "POST" || last.Status != 200 || !strings.Contains(string(last.Sent), "code_verifier=") ||
				!strings.Contains(string(last.Received), "access_token")) {
			t.Errorf("the token request is reported as %+v", last)
		}
	}
}
