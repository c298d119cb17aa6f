package auth

import (
	"net/url"
	"strings"
	"testing"

	"mcpc/internal/redact"
)

// errorCodes are error codes of the specifications, and of well-known servers.
var errorCodes = []string{
	"invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type",
	"invalid_scope", "invalid_target", "invalid_dpop_proof", "use_dpop_nonce", "authorization_pending", "slow_down",
	"expired_token", "access_denied", "unsupported_response_type", "server_error", "temporarily_unavailable",
	"interaction_required", "login_required", "account_selection_required", "consent_required",
	"invalid_request_uri", "invalid_request_object", "request_not_supported", "request_uri_not_supported",
	"registration_not_supported", "invalid_redirect_uri", "invalid_client_metadata", "invalid_software_statement",
	"unapproved_software_statement", "insufficient_user_authentication", "unmet_authentication_requirements",
	"bad_verification_code", "incorrect_client_credentials", "redirect_uri_mismatch", "unverified_user_email",
	"application_suspended", "device_flow_disabled", "bad_refresh_token", "incorrect_device_code",
	"unsupported_token_type", "invalid_resource", "org_internal", "admin_policy_enforced", "rate_limit_exceeded",
}

// An error code is no secret, however long it is, and wherever it comes from (RFC 6749, section 5.2).
func TestErrorCodesAreShown(t *testing.T) {
	w, secrets := newWorld(t), &redact.Secrets{}
	for _, code := range errorCodes {
		_, fromToken := readTokenResponse(w.url, []byte(`{"error":"`+code+`","error_description":"no"}`), 400)
		_, fromForm := readTokenResponse(w.url, []byte("error="+code), 200)
		a := &authorization{state: "s"}
		_, fromBrowser := w.walk().checkResponse(a, url.Values{"state": {"s"}, "error": {code}})
		w.registration = func(map[string]any) (int, string) { return 400, `{"error":"` + code + `"}` }
		_, fromRegistration := w.login(newStore(), nil)
		for _, err := range []error{fromToken, fromForm, fromBrowser, fromRegistration} {
			if err == nil || !strings.Contains(secrets.Text(err.Error()), code) {
				t.Errorf("%s is shown as %q", code, secrets.Text(err.Error()))
			}
		}
	}
}
