package auth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"mcpc/internal/usage"
)

// usualInterval is the time between two requests if the server names no interval (RFC 8628, section
// 3.2). It is added after slow_down (section 3.5).
const usualInterval = 5 * time.Second

// runDevice gets a token while the user opens a browser on another machine and enters a code there
// (RFC 8628).
func (l *login) runDevice(ctx context.Context) error {
	const noRedirect = "" // the browser does not return to mcpc
	p, err := l.clientWithSecret(ctx, noRedirect)
	if err != nil {
		return err
	}
	l.flow.begin(Authorizes)
	code, err := l.deviceCode(ctx, &p)
	if err != nil {
		return err
	}
	address, err := SafeURL(code.Verify)
	if err != nil {
		return err
	}
	limit := deviceTime
	cause := usage.Late("fifteen minutes without a response")
	if lifetime := code.Expires.duration(); lifetime > 0 && lifetime < limit {
		limit = lifetime
		cause = "it has expired"
	}
	interval := usualInterval
	if code.Interval > 0 {
		interval = code.Interval.duration()
	}
	if interval > deviceTime { // not even one request would be sent
		return &Error{Rule: TokenRefused, Text: fmt.Sprintf(
			"%s requires a longer polling interval than the %v that mcpc waits", hostOf(p.server.Device), deviceTime)}
	}
	l.req.ShowCode(ctx, address.String(), code.UserCode)
	l.flow.begin(RequestsToken)
	ctx, stop := context.WithTimeoutCause(ctx, limit, cause)
	defer stop()
	t, err := l.pollToken(ctx, &p, code.DeviceCode, interval)
	// The time was over, whatever error the last request had.
	if late, ok := errors.AsType[usage.Late](context.Cause(ctx)); ok && err != nil {
		return &Error{
			Rule: NoResponse,
			Text: "the code was not entered: " + late.Error(),
			Hint: hints["expired_token"],
			Err:  late,
		}
	}
	if err != nil {
		return err
	}
	return l.storeToken(ctx, p.client, t)
}

// deviceCode requests a code and the URL where the user enters it. It returns an error if the
// response lacks the device code, the user code or the URL.
func (l *login) deviceCode(ctx context.Context, p *clientAt) (*tokenResponse, error) {
	form := l.token.withResource(url.Values{"client_id": {p.client.ID}})
	if len(l.scopes) > 0 {
		form.Set("scope", strings.Join(l.scopes, " "))
	}
	code, err := l.flow.post(ctx, l.flow.Net.web, p.server.Device, p, form)
	if err != nil {
		return nil, err
	}
	if code.Verify == "" {
		code.Verify = code.VerifyToo
	}
	return code, l.flow.check("\"device_code\", \"user_code\" and \"verification_uri\" are present (RFC 8628 section 3.2)",
		code.DeviceCode != "" && code.UserCode != "" && code.Verify != "",
		&Error{Rule: TokenRefused, Text: hostOf(p.server.Device) + " sent an invalid device authorization response"})
}

// pollToken requests the token until the user has entered the code (RFC 8628, section 3.4), the server
// refuses it, or ctx ends. It waits for interval before each request, the first one too.
func (l *login) pollToken(
	ctx context.Context, p *clientAt, code string, interval time.Duration,
) (*tokenResponse, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(interval):
		}
		form := l.token.withResource(url.Values{"grant_type": {deviceType}, "device_code": {code}})
		t, err := l.flow.requestToken(ctx, p, form, l.key)
		if errors.Is(err, errSlowDown) || HasRule(err, Unreachable) { // RFC 8628, section 3.5
			interval += usualInterval
			continue
		}
		if !errors.Is(err, errPending) && !HasRule(err, Unavailable) { // both may pass
			return t, err
		}
	}
}
