package demo

import (
	"crypto/rand"
	"net/http"
	"strings"
	"time"
)

// The assertions of a platform about its workload and of an enterprise about the login of its user.
// Real assertions are signed and expire soon.
const (
	demoAssertion = "demo-assertion"
	demoIDToken   = "demo-id-token"
	demoSSO       = "demo-sso"
)

const (
	jwtBearerGrant = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	exchangeGrant  = "urn:ietf:params:oauth:grant-type:token-exchange"
	idJAGType      = "urn:ietf:params:oauth:token-type:id-jag"
)

// exchangeIDToken handles the token endpoint of the enterprise. It exchanges a user's id token for an
// assertion that can be used once, at one authorization server and for one resource (RFC 8693).
func (s *authServer) exchangeIDToken(w http.ResponseWriter, req *http.Request) {
	form := req.PostFormValue
	if form("grant_type") != exchangeGrant || form("requested_token_type") != idJAGType {
		answerError(w, "unsupported_grant_type")
		return
	}
	if form("client_id") != demoSSO {
		answerError(w, "invalid_client")
		return
	}
	if form("subject_token") != demoIDToken || form("audience") != baseURL(req) {
		answerError(w, "invalid_grant")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	assertion := "demo-id-jag-" + rand.Text()
	s.assertions[assertion] = grant{
		client:   demoClient,
		resource: form("resource"),
		scopes:   strings.Fields(form("scope")),
		expires:  s.now().Add(time.Minute),
	}
	w.Header().Set("Cache-Control", "no-store")
	answerJSON(w, http.StatusOK,
		map[string]any{"access_token": assertion, "issued_token_type": idJAGType, "token_type": "N_A", "expires_in": 60})
}

// grantForAssertionLocked issues a token for an assertion: the platform's, or one made by exchange for this
// client (RFC 7523). s.mu is locked.
func (s *authServer) grantForAssertionLocked(w http.ResponseWriter, req *http.Request) {
	form := req.PostFormValue
	id, secret, hasAuth := req.BasicAuth()
	g, isExchanged := takeOnce(s.assertions, form("assertion"))
	if isExchanged {
		// An assertion of the enterprise is for a client that authenticates itself.
		isAuthenticated := hasAuth && id == demoClient && secret == demoSecret
		if !isAuthenticated {
			answerError(w, "invalid_client")
		} else if g.expires.Before(s.now()) {
			answerError(w, "invalid_grant")
		} else {
			s.issueTokenLocked(w, g, withoutRefresh)
		}
		return
	}
	if form("client_id") != demoClient {
		answerError(w, "invalid_client")
		return
	}
	if form("assertion") != demoAssertion {
		answerError(w, "invalid_grant")
		return
	}
	s.issueTokenLocked(w, demoGrant(form), withoutRefresh)
}
