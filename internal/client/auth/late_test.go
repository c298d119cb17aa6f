package auth

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// If no redirect arrives, the error has the waiting time, once.
func TestCallbackTimeoutIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := (&callback{}).wait(t.Context(), &authorization{}, Request{})
		wantRule(t, err, NoResponse)
		failed, ok := errors.AsType[*Error](err)
		if !ok || failed.Kind() != wire.Timeout || failed.Text != "no response from the browser within 5 minutes" || failed.Hint != "" {
			t.Errorf("got %v", err)
		}
	})
}

// After a login that timed out or was interrupted the server may not know the client: the next login registers again,
// and a logout forgets the client.
func TestTimedOutLoginDoubtsTheClient(t *testing.T) {
	w, store := newWorld(t), newStore()
	if _, err := w.login(store, func(*Request) {}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	req := w.request()
	req.Visit = func(context.Context, string) { stop(usage.Late("the user's time")) }
	_, err := w.walk().Login(ctx, store, req)
	wantRule(t, err, NoResponse)
	if _, err := w.login(store, nil); err != nil || w.asks("/register") != 2 {
		t.Errorf("the next login: %v after %d registrations", err, w.asks("/register"))
	}
	ctx, interrupt := context.WithCancel(t.Context())
	req.Visit = func(context.Context, string) { interrupt() }
	_, err = w.walk().Login(ctx, store, req)
	wantRule(t, err, NoResponse)
	book, err := store.Load()
	if f := book.Forget(req.Endpoint, ""); err != nil || len(f.Tokens) != 1 || len(f.Clients) != 1 {
		t.Errorf("got %+v, %v", f, err)
	}
}

// A code that is not entered is awaited until it, or the user's limit, expires.
func TestDeviceCodeExpires(t *testing.T) {
	for name, c := range map[string]struct {
		expires string
		limit   time.Duration
		want    string
	}{
		"the code's own time":  {"1", time.Minute, "it has expired"},
		"the time of the user": {"60", 5 * time.Second, "the user's time"}, // when the code is ready
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.documents[serverAt] = strings.Replace(usualServer, "{", `{"device_authorization_endpoint":"BASE/device",`, 1)
			w.documents["/device"] = `{"device_code":"d","user_code":"ABCD","verification_uri":"BASE/verify","interval":90,"expires_in":` + c.expires + `}`
			ctx, stop := context.WithTimeoutCause(t.Context(), c.limit, usage.Late("the user's time"))
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
