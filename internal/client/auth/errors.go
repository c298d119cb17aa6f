package auth

import (
	"cmp"
	"errors"

	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// A Rule names what went wrong, for those who branch on it.
type Rule string

// What may go wrong, in the order of the walk.
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

// An Error says why there is no token. Text is in lower case and may hold what a
// server wrote; Hint leads on and may be empty.
type Error struct {
	Rule Rule
	Text string
	Hint wire.Hint
	Err  error
	// Other is the resource of ResourceMismatch that was found for At, else both are "".
	Other, At string
}

func (e *Error) Error() string { return e.Text }

func (e *Error) Unwrap() error { return e.Err }

// Kind is the ending that the error makes of a command.
func (e *Error) Kind() wire.Kind {
	if _, late := errors.AsType[usage.Late](e.Err); late {
		return wire.Timeout
	}
	kinds := map[Rule]wire.Kind{URLBlocked: wire.Refused, Unreachable: wire.Transport, Unavailable: wire.Transport,
		StoreFailed: wire.LocalIO, KeyUnusable: wire.Usage}
	return cmp.Or(kinds[e.Rule], wire.Auth)
}

// IsTransient reports whether err says nothing of the request: the authorization server could not be reached,
// or could not handle it, and may do so later.
func IsTransient(err error) bool { return Is(err, Unreachable) || Is(err, Unavailable) }

// Is reports whether err is, or wraps, an [Error] of that rule.
func Is(err error, rule Rule) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Rule == rule
}
