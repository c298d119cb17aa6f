package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"mcpc/internal/usage"
)

// usualInterval lies between two requests where the server names no time (RFC 8628,
// section 3.2), and is added where it says slow_down (section 3.5).
const usualInterval = 5 * time.Second

// elsewhere gets a token while the user opens a browser on another machine and types a code
// there (RFC 8628).
func (l *login) elsewhere(ctx context.Context) error {
	p, err := l.client(ctx, "")
	if err != nil {
		return err
	}
	code, err := l.deviceCode(ctx, &p)
	if err != nil {
		return err
	}
	address, err := SafeURL(code.Verify)
	if err != nil {
		return err
	}
	limit := deviceTime
	over := usage.Late("fifteen minutes without a response")
	if lasts := code.Expires.duration(); lasts > 0 && lasts < limit {
		limit = lasts
		over = "it has expired"
	}
	interval := cmp.Or(code.Interval.duration(), usualInterval)
	if interval > deviceTime {
		return &Error{
			Rule: TokenRefused,
			Text: fmt.Sprintf(
				"%s requires a longer polling interval than the %v that mcpc waits",
				hostOf(p.server.Device),
				deviceTime,
			),
		}
	}
	l.req.ShowCode(ctx, address.String(), code.UserCode)
	ctx, stop := context.WithTimeoutCause(ctx, limit, over)
	defer stop()
	t, err := l.untilTyped(ctx, &p, code.DeviceCode, interval)
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
	return l.keep(ctx, p.client, t)
}

// deviceCode asks for a code, and for where it is to be typed.
func (l *login) deviceCode(ctx context.Context, p *clientAt) (*answer, error) {
	form := l.token.named(url.Values{"client_id": {p.client.ID}})
	if len(l.scopes) > 0 {
		form.Set("scope", strings.Join(l.scopes, " "))
	}
	code, err := l.w.request(ctx, l.w.Net.web, p.server.Device, p, form)
	if err != nil {
		return nil, err
	}
	if code.Verify == "" {
		code.Verify = code.VerifyToo
	}
	return code, l.w.holds("\"device_code\", \"user_code\" and \"verification_uri\" are present (RFC 8628 section 3.2)",
		code.DeviceCode != "" && code.UserCode != "" && code.Verify != "",
		&Error{Rule: TokenRefused, Text: hostOf(p.server.Device) + " sent an invalid device authorization response"})
}

// untilTyped asks for the token again and again (RFC 8628, section 3.4).
func (l *login) untilTyped(ctx context.Context, p *clientAt, code string, interval time.Duration) (*answer, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(interval):
		}
		form := l.token.named(url.Values{"grant_type": {deviceType}, "device_code": {code}})
		t, err := l.w.redeem(ctx, p, form, l.key)
		switch {
		case errors.Is(err, errSlowDown):
			interval += usualInterval
		case Is(err, Unreachable): // RFC 8628, section 3.5
			interval += usualInterval
		case Is(err, Unavailable):
		case !errors.Is(err, errPending):
			return t, err
		}
	}
}
