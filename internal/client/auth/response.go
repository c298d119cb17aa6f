package auth

import (
	"crypto/subtle"
	"net/url"
	"slices"
)

// An authorization is a pending authorization request: what the response is checked against
// (authorization, "Authorization Response Validation"). It is used once.
type authorization struct {
	state, verifier  string
	issuer, redirect string
	// issRequired is set if the server declares that its responses name the issuer.
	issRequired bool
	// namesResource is set if the request named the resource.
	namesResource bool
}

// matches reports whether a response has the state of the request.
func (a *authorization) matches(answer url.Values) bool {
	return a.state != "" && subtle.ConstantTimeCompare([]byte(answer.Get("state")), []byte(a.state)) == 1
}

// clientErrors maps the error codes for a client that the server does not know as registered.
var clientErrors = map[string]error{"invalid_client": errInvalidClient, "unauthorized_client": errInvalidClient}

// noStatus is the status of a response that came through the browser's redirect.
const noStatus = 0

// checkResponse checks an authorization response and returns its code. It follows the order of the
// specification: nothing of the response is used or shown before its issuer is checked (RFC 9207,
// section 2.4).
func (flow *Flow) checkResponse(a *authorization, answer url.Values) (string, error) {
	err := flow.check(`"state" matches the request (RFC 6749 section 10.12)`, a.matches(answer),
		&Error{Rule: ResponseInvalid, Text: "the browser's response does not belong to this login"})
	if err != nil {
		return "", err
	}
	mayLackIssuer := !answer.Has("iss") && !a.issRequired
	isIssuer := mayLackIssuer || slices.Equal(answer["iss"], []string{a.issuer}) // exactly one
	err = flow.check(`"iss" names the issuer, if it must be present (RFC 9207 section 2.4)`, isIssuer,
		&Error{
			Rule: ResponseIssuer, Text: "the browser's response is not from " + a.issuer,
			Hint: "possible mix-up attack; nothing was sent",
		})
	if err != nil {
		return "", err
	}
	if code := answer.Get("error"); code != "" {
		rule := ResponseInvalid
		if code == "access_denied" {
			rule = Denied
		}
		text := answer.Get("error_description")
		return "", &Error{
			Rule: rule, Text: "the authorization server denied the request" + errorDetails(code, text, noStatus),
			Err: clientErrors[code], Hint: hintFor(code, text, a.namesResource),
		}
	}
	code := answer.Get("code")
	flow.addSecrets(code)
	return code, flow.check("\"code\" is present (RFC 6749 section 4.1.2)", code != "", &Error{
		Rule: ResponseInvalid,
		Text: "the browser's response has no code",
	})
}
