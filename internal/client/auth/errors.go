package auth

import (
	"errors"

	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// A Rule identifies what went wrong, for programs.
type Rule string

// The rules, in the order of a login.
const (
	NotAsked           Rule = "no_authorization"
	ResourceMissing    Rule = "resource_metadata_missing"
	ResourceInvalid    Rule = "resource_metadata_invalid"
	ResourceMismatch   Rule = "resource_mismatch"
	ServerUnreachable  Rule = "authorization_server_metadata_missing"
	ServerInvalid      Rule = "authorization_server_metadata_invalid"
	IssuerMismatch     Rule = "issuer_mismatch"
	NoServer           Rule = "no_authorization_server"
	NotOffered         Rule = "issuer_not_offered"
	NoPKCE             Rule = "no_pkce"
	NoProof            Rule = "no_dpop"
	NoRegistration     Rule = "no_registration"
	RegistrationFailed Rule = "registration_rejected"
	ResponseInvalid    Rule = "authorization_response_invalid"
	ResponseIssuer     Rule = "authorization_response_issuer"
	Denied             Rule = "denied"
	NoResponse         Rule = "no_authorization_response"
	TokenRefused       Rule = "token_refused"
	Unavailable        Rule = "temporarily_unavailable"
	TokenType          Rule = "token_type"
	URLBlocked         Rule = "url_blocked"
	Unreachable        Rule = "unreachable"
	KeyUnusable        Rule = "key_unusable"
	StoreFailed        Rule = "store_failed"
)

// An Error says why there is no token. Text is in lower case and may contain text from a server.
// Hint may be empty.
type Error struct {
	Rule Rule
	Text string
	Hint wire.Hint
	Err  error
	// Other and At are the resource of the metadata and the endpoint for ResourceMismatch, else "".
	Other, At string
}

// Error returns the text.
func (e *Error) Error() string { return e.Text }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Kind returns the kind of outcome for a command.
func (e *Error) Kind() wire.Kind {
	if _, late := errors.AsType[usage.Late](e.Err); late { // a timeout, whatever the rule
		return wire.Timeout
	}
	switch e.Rule {
	case URLBlocked:
		return wire.Refused
	case Unreachable, Unavailable:
		return wire.Transport
	case StoreFailed:
		return wire.LocalIO
	case KeyUnusable:
		return wire.Usage
	}
	return wire.Auth
}

// IsTransient reports whether the authorization server could not be reached or could not handle the
// request, so that a later attempt may succeed.
func IsTransient(err error) bool { return HasRule(err, Unreachable) || HasRule(err, Unavailable) }

// HasRule reports whether err is, or wraps, an [Error] with that rule.
func HasRule(err error, rule Rule) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Rule == rule
}
