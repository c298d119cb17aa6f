package diff

import (
	"testing"
	"time"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/diff/accept"
	"mcpc/internal/diff/report"
)

// An acceptance is stale only if all that could be compared was.
func TestStaleAcceptances(t *testing.T) {
	t.Parallel()
	f := &cmdutil.Factory{}
	f.Env.Now = func() time.Time { return time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC) }
	a := accepted{entries: []accept.Entry{{Fingerprint: "c123456789abcdef", Reason: "x", Until: "2026-12-31"}}}
	for _, c := range []struct {
		name  string
		o     judgeOptions
		stale int
	}{
		{"everything", judgeOptions{}, 1},
		{"--only", judgeOptions{only: []string{"tools"}}, 0},
		{"as a model sees it", judgeOptions{asModel: true}, 0},
	} {
		r := report.Report{}
		if err := c.o.apply(f, &r, a); err != nil || len(r.Stale) != c.stale {
			t.Errorf("%s: %d are stale, %v", c.name, len(r.Stale), err)
		}
	}
}
