package rules

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/lint/conv"
	"mcpc/internal/wire"
)

// The heads of refusals come before it is known which revision the server speaks: they
// are noted, and judged at the end.
var auth = []Check{
	{ID: "L194", Kind: conv.OnEnd, When: hasRefusals, Do: forEachRefusal(checkStatus401)},
	{ID: "L194", Kind: conv.OnError, When: hasStatus200, Do: func(e *conv.Event) {
		text := strings.ToLower(e.Message.Error.Message)
		if e.Stream.Request.Field("Authorization") == "" &&
			slices.ContainsFunc([]string{"unauthorized", "unauthenticated", "authentication required", "missing token"},
				func(w string) bool { return strings.Contains(text, w) }) {
			e.FindMessage("HTTP 200", "HTTP 200 with: "+e.Message.Error.Message, "HTTP 401")
		}
	}},
	{ID: "L195", Kind: conv.OnEnd, When: hasRefusals, Do: forEachRefusal(func(e *conv.Event, r refusal) {
		if r.status == 401 && r.challenge["resource_metadata"] == "" {
			findRefusal(e, r, "WWW-Authenticate: "+r.field, "resource_metadata")
		}
	})},
	{ID: "L196", Kind: conv.OnEnd, When: hasRefusals, Do: forEachRefusal(func(e *conv.Event, r refusal) {
		if r.field != "" && isOneOf(strconv.Itoa(r.status), "401", "403") && r.challenge["error"] != "insufficient_scope" &&
			r.challenge["scope"] == "" {
			findRefusal(e, r, "WWW-Authenticate: "+r.field, "scope")
		}
	})},
	{ID: "L206", Kind: conv.OnEnd, When: hasRefusals, Do: forEachRefusal(checkStepUp)},
	{ID: "L205", Kind: conv.OnEnd, When: func(e *conv.Event) bool { return len(authTrafficOf(e).redirects) > 0 }, Do: checkIssuer},
	{
		ID:   "L209",
		Kind: conv.OnEnd,
		When: func(e *conv.Event) bool { return len(authTrafficOf(e).tokens) > 0 },
		Do: func(e *conv.Event) {
			for _, t := range authTrafficOf(e).tokens {
				if t.want == "" {
					continue
				}
				e.Hit(conv.Hit{Root: true, Subject: "token endpoint", Spot: t.spot, Got: t.text, Want: t.want})
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

// A refusal is the head of a response that asks for authorization, or should.
type refusal struct {
	spot         conv.Spot
	status       int
	token        bool
	field, where string
	challenge    map[string]string
}

// A login is the traffic between the client and the authorization server.
type authTraffic struct {
	refusals  []refusal
	issuers   []string
	advertise bool
	redirects []refusal
	tokens    []struct {
		spot       conv.Spot
		text, want string
	}
	registered conv.Spot
}

const maxRefusals = 200

func authTrafficOf(e *conv.Event) *authTraffic {
	return conv.State[authTraffic](e.Conversation, "login")
}

func hasRefusals(e *conv.Event) bool { return len(authTrafficOf(e).refusals) > 0 }

func forEachRefusal(do func(*conv.Event, refusal)) func(*conv.Event) {
	return func(e *conv.Event) {
		for _, r := range authTrafficOf(e).refusals {
			do(e, r)
		}
	}
}

func findRefusal(e *conv.Event, r refusal, got, want string) {
	e.Hit(conv.Hit{Root: true, Subject: "HTTP " + strconv.Itoa(r.status), Spot: r.spot, Got: got, Want: want})
}

// notesHeads collects refusals and redirects with a code.
func noteRefusals(e *conv.Event) {
	h := e.Stream.Response
	l := authTrafficOf(e)
	where := h.Field("Location")
	if u, err := url.Parse(where); err == nil && u.Query().Get("code") != "" && len(l.redirects) < maxRefusals {
		l.redirects = append(l.redirects, refusal{spot: e.Spot(), where: u.Query().Get("iss")})
	}
	if field := h.Field("WWW-Authenticate"); e.Stream.MCP && len(l.refusals) < maxRefusals &&
		(field != "" || isOneOf(strconv.Itoa(h.Status), "401", "403", "302", "303", "307")) {
		l.refusals = append(l.refusals, refusal{spot: e.Spot(), status: h.Status, field: field, where: where,
			token: e.Stream.Request.Field("Authorization") != "", challenge: parseChallenge(field)})
	}
}

// challenge reads the parameters of WWW-Authenticate (RFC 9110, section 11.6.1), of all
// schemes together.
func parseChallenge(field string) map[string]string {
	params := map[string]string{}
	for len(field) > 0 {
		name, rest, ok := strings.Cut(field, "=")
		if !ok {
			break
		}
		name = name[strings.LastIndexAny(name, " ,")+1:]
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

func checkStatus401(e *conv.Event, r refusal) {
	switch {
	case r.status == 401:
	case r.status/100 == 3 && isLoginPage(r.where):
		findRefusal(e, r, "HTTP "+strconv.Itoa(r.status)+" to "+r.where, "HTTP 401")
	case r.field != "" && r.status >= 400 && (r.status != 403 || !r.token):
		// A success may also name a scheme (RFC 9110, 11.6.1).
		findRefusal(e, r, "HTTP "+strconv.Itoa(r.status)+" with WWW-Authenticate", "HTTP 401")
	}
}

func isLoginPage(where string) bool {
	u, err := url.Parse(where)
	if err != nil {
		return false
	}
	path := strings.ToLower(u.Path)
	return slices.ContainsFunc([]string{"login", "signin", "sign-in", "oauth", "authorize"},
		func(w string) bool { return strings.Contains(path, w) })
}

func checkStepUp(e *conv.Event, r refusal) {
	if r.status != 403 || r.challenge["error"] != "insufficient_scope" {
		return
	}
	for _, name := range []string{"scope", "resource_metadata"} {
		if r.challenge[name] == "" {
			findRefusal(e, r, "WWW-Authenticate: "+r.field, name)
			return
		}
	}
}

// notesBodies collects what the authorization server said: its metadata, and how it
// answers for tokens.
func noteAuthServer(e *conv.Event) {
	l := authTrafficOf(e)
	if e.Frame.Dir == 0 && e.Raw("redirect_uris") != nil {
		l.registered = e.Spot()
	}
	if e.Frame.Dir == 0 || !conv.IsObject(e.Value) || e.Stream.Response == nil {
		return
	}
	if name := e.Text("issuer"); name != "" && e.Raw("authorization_endpoint") != nil && len(l.issuers) < maxRefusals {
		l.issuers = append(l.issuers, name)
		l.advertise = l.advertise || string(e.Raw("authorization_response_iss_parameter_supported")) == "true"
	}
	note := func(text, want string) {
		if len(l.tokens) < maxRefusals {
			l.tokens = append(l.tokens, struct {
				spot       conv.Spot
				text, want string
			}{e.Spot(), text, want})
		}
	}
	cache := e.Stream.Response.Field("Cache-Control")
	switch {
	case e.Raw("access_token") != nil && strings.Contains(strings.ToLower(cache), "no-store"):
		note("", "")
	case e.Raw("access_token") != nil:
		note("Cache-Control: "+cache, "Cache-Control: no-store")
	case e.Stream.Status() == 400 && e.Raw("error") != nil && conv.TypeOf(e.Raw("error")) != "string":
		note("error: "+e.Got("error"), `"error" with a code of RFC 6749, section 5.2`)
	}
}

// issuer compares the redirects of the login with the metadata (RFC 9207).
func checkIssuer(e *conv.Event) {
	l := authTrafficOf(e)
	for _, r := range l.redirects {
		if r.where == "" && l.advertise {
			e.Hit(
				conv.Hit{Root: true, Subject: "redirect", Spot: r.spot, Got: "no iss", Want: "iss, which the metadata announces"},
			)
		} else if r.where != "" && len(l.issuers) > 0 && !slices.Contains(l.issuers, r.where) {
			e.Hit(conv.Hit{
				Root: true, Subject: "redirect", Spot: r.spot,
				Got: "iss " + r.where, Want: strings.Join(l.issuers, " or "),
			})
		}
	}
}

// embedded: as a request of its own it would break a graver rule.
func isEmbedded(e *conv.Event) bool { return e.Message.Kind == wire.Response }

// unauthorized: the refusal is a JSON-RPC error in a response that says all is well.
func hasStatus200(e *conv.Event) bool {
	return onStream(e) && e.Stream.Status() == 200 && e.Stream.Request != nil
}
