package rules

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/lint/conv"
	"mcpc/internal/wire"
)

// authChecks are the checks of authorization. Refusals arrive before the revision of the server is
// known: recordRefusals records them, and the checks judge them at the end of the conversation.
var authChecks = []Check{
	{ID: "L194", Kind: conv.OnEnd, When: hasRefusals, Do: forEachRefusal(checkStatus401)},
	{ID: "L194", Kind: conv.OnError, When: hasStatus200, Do: func(e *conv.Event) {
		if e.Stream.Request.Field("Authorization") == "" && saysUnauthorized(e.Message.Error.Message) {
			e.FindMessage("HTTP 200", "HTTP 200 with: "+e.Message.Error.Message, "HTTP 401")
		}
	}},
	{ID: "L195", Kind: conv.OnEnd, When: hasRefusals, Do: forEachRefusal(func(e *conv.Event, r refusal) {
		if r.status == 401 && r.challengeParams["resource_metadata"] == "" {
			findRefusal(e, r, "WWW-Authenticate: "+r.challengeField, "resource_metadata")
		}
	})},
	{ID: "L196", Kind: conv.OnEnd, When: hasRefusals, Do: forEachRefusal(func(e *conv.Event, r refusal) {
		isRefusal := r.challengeField != "" && (r.status == 401 || r.status == 403)
		if isRefusal && r.challengeParams["error"] != "insufficient_scope" && r.challengeParams["scope"] == "" {
			findRefusal(e, r, "WWW-Authenticate: "+r.challengeField, "scope")
		}
	})},
	{ID: "L206", Kind: conv.OnEnd, When: hasRefusals, Do: forEachRefusal(checkStepUp)},
	{
		ID: "L205", Kind: conv.OnEnd, When: func(e *conv.Event) bool { return len(authTrafficOf(e).redirects) > 0 },
		Do: checkIssuer,
	},
	{
		ID:   "L209",
		Kind: conv.OnEnd,
		When: func(e *conv.Event) bool { return len(authTrafficOf(e).tokens) > 0 },
		Do: func(e *conv.Event) {
			for _, t := range authTrafficOf(e).tokens {
				if t.want == "" {
					continue
				}
				e.Hit(conv.Hit{Root: true, Subject: "token endpoint", Spot: t.spot, Got: t.got, Want: t.want})
			}
		},
	},
	{ID: "L210", Kind: conv.OnResult, Methods: []string{"server/discover"}, Do: func(e *conv.Event) {
		if e.Raw("capabilities", "logging") != nil {
			e.Find("/capabilities/logging", "logging", "stderr, or OpenTelemetry")
		}
	}},
	{
		ID:   "L210",
		Kind: conv.OnEnd,
		When: func(e *conv.Event) bool { return authTrafficOf(e).registered.Seq > 0 },
		Do: func(e *conv.Event) {
			e.Hit(conv.Hit{
				Root: true, Subject: "registration", Spot: authTrafficOf(e).registered,
				Got: "dynamic client registration", Want: "a client id metadata document",
			})
		},
	},
	{
		ID:      "L210",
		Kind:    conv.OnQuestion,
		Methods: []string{"roots/list", "sampling/createMessage"},
		When:    isEmbedded,
		Do: func(e *conv.Event) {
			e.Find("", e.Method, "tool parameters, resource URIs or a model of the server's own")
		},
	},
}

// A refusal is the head of a response that asks for authorization, or should ask for it.
type refusal struct {
	spot   conv.Spot
	status int
	// hadToken is set if the request had a token.
	hadToken bool
	// challengeField is the WWW-Authenticate field, location the Location field.
	challengeField, location string
	// challengeParams are the parameters of challengeField.
	challengeParams map[string]string
}

// A redirect is a response that sends the user back to the client with an authorization code.
type redirect struct {
	spot conv.Spot
	// issuer is the parameter iss of its URL, or "".
	issuer string
}

// A tokenResponse is a response of the token endpoint. want is "" if it breaks no rule.
type tokenResponse struct {
	spot      conv.Spot
	got, want string
}

// authTraffic is the traffic between the client and the authorization server.
type authTraffic struct {
	refusals []refusal
	// issuers are the issuers in the metadata of authorization servers.
	issuers []string
	// announcesIssuer is set if the metadata promises that redirects have the parameter iss.
	announcesIssuer bool
	redirects       []redirect
	tokens          []tokenResponse
	// registered is the request that registers a client; or the zero value.
	registered conv.Spot
}

// maxRefusals bounds each list of authTraffic.
const maxRefusals = 200

// authTrafficOf returns the traffic that the conversation of an event has recorded.
func authTrafficOf(e *conv.Event) *authTraffic {
	return conv.State[authTraffic](e.Conversation, "login")
}

func hasRefusals(e *conv.Event) bool { return len(authTrafficOf(e).refusals) > 0 }

// forEachRefusal returns a check that calls do for each refusal of the conversation.
func forEachRefusal(do func(*conv.Event, refusal)) func(*conv.Event) {
	return func(e *conv.Event) {
		for _, r := range authTrafficOf(e).refusals {
			do(e, r)
		}
	}
}

// findRefusal reports a violation by a refusal.
func findRefusal(e *conv.Event, r refusal, got, want string) {
	e.Hit(conv.Hit{Root: true, Subject: "HTTP " + strconv.Itoa(r.status), Spot: r.spot, Got: got, Want: want})
}

// recordRefusals records refusals, and redirects that have a code.
func recordRefusals(e *conv.Event) {
	head := e.Stream.Response
	traffic := authTrafficOf(e)
	location := head.Field("Location")
	u, err := url.Parse(location)
	hasCode := err == nil && u.Query().Get("code") != ""
	if hasCode && len(traffic.redirects) < maxRefusals {
		traffic.redirects = append(traffic.redirects, redirect{e.Spot(), u.Query().Get("iss")})
	}
	field := head.Field("WWW-Authenticate")
	// A redirect can lead to a page to log in, in place of 401.
	isRefusal := field != "" || slices.Contains([]int{401, 403, 302, 303, 307}, head.Status)
	if isRefusal && e.Stream.MCP && len(traffic.refusals) < maxRefusals {
		traffic.refusals = append(traffic.refusals, refusal{
			spot: e.Spot(), status: head.Status, challengeField: field, location: location,
			hadToken: e.Stream.Request.Field("Authorization") != "", challengeParams: parseChallenge(field),
		})
	}
}

// parseChallenge parses the parameters of a WWW-Authenticate field (RFC 9110, section 11.6.1). It
// merges the parameters of all schemes; their names are in lower case.
func parseChallenge(field string) map[string]string {
	params := map[string]string{}
	for len(field) > 0 {
		name, rest, ok := strings.Cut(field, "=")
		if !ok {
			break
		}
		name = name[strings.LastIndexAny(name, " ,")+1:] // after the scheme or the parameter before it
		var value string
		if rest, quoted := strings.CutPrefix(strings.TrimLeft(rest, " "), `"`); quoted {
			value, field, _ = strings.Cut(rest, `"`)
		} else {
			value, field, _ = strings.Cut(rest, ",")
		}
		params[strings.ToLower(strings.TrimSpace(name))] = strings.TrimSpace(value)
	}
	return params
}

// checkStatus401 reports a refusal with another status than 401. A success may name a scheme (RFC
// 9110, section 11.6.1), and 403 may refuse a token.
func checkStatus401(e *conv.Event, r refusal) {
	if r.status == 401 || r.status == 403 && r.hadToken {
		return
	}
	if r.status/100 == 3 && isLoginPage(r.location) {
		findRefusal(e, r, "HTTP "+strconv.Itoa(r.status)+" to "+r.location, "HTTP 401")
	} else if r.status >= 400 && r.challengeField != "" {
		findRefusal(e, r, "HTTP "+strconv.Itoa(r.status)+" with WWW-Authenticate", "HTTP 401")
	}
}

// saysUnauthorized reports whether an error message is about a missing token.
func saysUnauthorized(message string) bool {
	message = strings.ToLower(message)
	return slices.ContainsFunc([]string{"unauthorized", "unauthenticated", "authentication required", "missing token"},
		func(words string) bool { return strings.Contains(message, words) })
}

// isLoginPage reports whether the URL of a redirect looks like a page to log in.
func isLoginPage(location string) bool {
	u, err := url.Parse(location)
	if err != nil {
		return false
	}
	path := strings.ToLower(u.Path)
	return slices.ContainsFunc([]string{"login", "signin", "sign-in", "oauth", "authorize"},
		func(w string) bool { return strings.Contains(path, w) })
}

// checkStepUp reports a refusal for missing scopes that does not say which scopes are needed, or where
// to get them.
func checkStepUp(e *conv.Event, r refusal) {
	if r.status != 403 || r.challengeParams["error"] != "insufficient_scope" {
		return
	}
	for _, name := range []string{"scope", "resource_metadata"} {
		if r.challengeParams[name] == "" {
			findRefusal(e, r, "WWW-Authenticate: "+r.challengeField, name)
			return
		}
	}
}

// recordAuthServer records the traffic with the authorization server: registrations, metadata, and
// responses of the token endpoint.
func recordAuthServer(e *conv.Event) {
	traffic := authTrafficOf(e)
	isRequest := e.Frame.Dir == wire.Sent
	if isRequest && e.Raw("redirect_uris") != nil {
		traffic.registered = e.Spot()
	}
	if isRequest || !conv.IsObject(e.Value) || e.Stream.Response == nil {
		return
	}
	issuer := e.Text("issuer")
	if issuer != "" && e.Raw("authorization_endpoint") != nil && len(traffic.issuers) < maxRefusals {
		traffic.issuers = append(traffic.issuers, issuer)
		if string(e.Raw("authorization_response_iss_parameter_supported")) == "true" {
			traffic.announcesIssuer = true
		}
	}
	if r, ok := judgeTokenResponse(e); ok && len(traffic.tokens) < maxRefusals {
		traffic.tokens = append(traffic.tokens, r)
	}
}

// judgeTokenResponse judges the body of a response of the token endpoint. It returns false if the
// body is something else, or an error that breaks no rule.
func judgeTokenResponse(e *conv.Event) (tokenResponse, bool) {
	r := tokenResponse{spot: e.Spot()}
	if e.Raw("access_token") != nil {
		cache := e.Stream.Response.Field("Cache-Control")
		if !strings.Contains(strings.ToLower(cache), "no-store") {
			r.got = "Cache-Control: " + cache
			r.want = "Cache-Control: no-store"
		}
		return r, true
	}
	code := e.Raw("error")
	if e.Stream.Status() == 400 && code != nil && conv.TypeOf(code) != "string" {
		r.got = "error: " + e.Got("error")
		r.want = `"error" with a code of RFC 6749, section 5.2`
		return r, true
	}
	return tokenResponse{}, false
}

// checkIssuer compares the parameter iss of redirects with the metadata (RFC 9207).
func checkIssuer(e *conv.Event) {
	traffic := authTrafficOf(e)
	for _, r := range traffic.redirects {
		hit := conv.Hit{Root: true, Subject: "redirect", Spot: r.spot}
		if r.issuer == "" {
			if traffic.announcesIssuer {
				hit.Got = "no iss"
				hit.Want = "iss, which the metadata announces"
				e.Hit(hit)
			}
			continue
		}
		if len(traffic.issuers) > 0 && !slices.Contains(traffic.issuers, r.issuer) {
			hit.Got = "iss " + r.issuer
			hit.Want = strings.Join(traffic.issuers, " or ")
			e.Hit(hit)
		}
	}
}

// isEmbedded reports whether the request is part of an input_required result. Sent on its own, it
// breaks a graver rule.
func isEmbedded(e *conv.Event) bool { return e.Message.Kind == wire.Response }

// hasStatus200 reports whether the error came in a response with HTTP 200.
func hasStatus200(e *conv.Event) bool {
	return hasHTTPResponse(e) && e.Stream.Status() == 200 && e.Stream.Request != nil
}
