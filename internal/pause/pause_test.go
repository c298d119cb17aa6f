package pause

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestFor(t *testing.T) {
	if err := For(t.Context(), time.Microsecond); err != nil {
		t.Error(err)
	}
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	for _, d := range []time.Duration{0, time.Hour} {
		if err := For(ctx, d); !errors.Is(err, why) {
			t.Errorf("%s: got %v", d, err)
		}
	}
}
