package auth

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"mcpc/internal/wire"
)

// A code that nobody types is waited for until its end, or the user's.
func TestNobodyTypes(t *testing.T) {
	for name, c := range map[string]struct {
		expires string
		limit   time.Duration
		want    string
	}{
		"the code's own time":  {"1", time.Minute, "it has expired"},
		"the time of the user": {"60", 5 * time.Second, "the user's time"}, // in which the code is there
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.documents[serverAt] = strings.Replace(usualServer, "{", `{"device_authorization_endpoint":"BASE/device",`, 1)
			w.documents["/device"] = `{"device_code":"d","user_code":"ABCD","verification_uri":"BASE/verify","interval":90,"expires_in":` + c.expires + `}`
			ctx, stop := context.WithTimeoutCause(t.Context(), c.limit, Late("the user's time"))
			defer stop()
			req := w.request()
			req.Grant, req.ShowCode = DeviceCode, func(context.Context, string, string) {}
			_, err := w.walk().Login(ctx, newStore(), req)
			wantRule(t, err, NoResponse)
			if failed, ok := errors.AsType[*Error](err); !ok || failed.Kind() != wire.Timeout || !strings.HasSuffix(failed.Text, c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}
