package auth

import (
	"crypto/subtle"
	"net/url"
)

// A pending authorization is what must be known of a request when its answer
// comes (authorization, "Authorization Response Validation"). It is used once.
type authorization struct {
	state, verifier  string
	issuer, redirect string
	// issRequired is set where the server promised to name itself.
	issRequired bool
	// resource is set where the request named the resource.
	resource bool
}

// isOurs reports whether a response belongs to the request.
func (a *authorization) isOurs(answer url.Values) bool {
	return a.state != "" && subtle.ConstantTimeCompare([]byte(answer.Get("state")), []byte(a.state)) == 1
}

// lost are the codes of a client that is not, or no longer, registered as it says.
var lost = map[string]error{"invalid_client": errInvalidClient, "unauthorized_client": errInvalidClient}

// code checks the answer, in the order that the specification gives: nothing of it
// is used or shown before the issuer holds (RFC 9207, section 2.4).
func (w *Flow) code(a *authorization, answer url.Values) (string, error) {
	if err := w.holds("\"state\" matches the request (RFC 6749 section 10.12)", a.isOurs(answer), &Error{Rule: ResponseInvalid,
		Text: "the browser's response does not belong to this login"}); err != nil {
		return "", err
	}
	iss := answer.Get("iss")
	named := answer.Has("iss")
	ok := named && iss == a.issuer && len(answer["iss"]) == 1 || !named && !a.issRequired
	if err := w.holds("\"iss\" names the issuer, where it must be there (RFC 9207 section 2.4)", ok, &Error{Rule: ResponseIssuer,
		Text: "the browser's response is not from " + a.issuer,
		Hint: "possible mix-up attack; nothing was sent"}); err != nil {
		return "", err
	}
	if code := answer.Get("error"); code != "" {
		rule := ResponseInvalid
		if code == "access_denied" {
			rule = Denied
		}
		said := answer.Get("error_description")
		return "", &Error{Rule: rule, Text: "the authorization server denied the request" + saying(code, said, 0),
			Err: lost[code], Hint: hintFor(code, said, a.resource)}
	}
	code := answer.Get("code")
	w.learn(code)
	return code, w.holds("\"code\" is present (RFC 6749 section 4.1.2)", code != "", &Error{Rule: ResponseInvalid,
		Text: "the browser's response has no code"})
}
