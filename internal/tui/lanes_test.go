package tui

import (
	"reflect"
	"testing"
	"time"

	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"
)

// Only an exchange that failed is drawn as failed in the Time view.
func TestBarsThatFailedAreRed(t *testing.T) {
	for channel, failed := range map[string]bool{
		"ok": false, "open": false, "cancelled": false, "probe": false, "input_required": false, "tool_error": true,
	} {
		b := view.Bar{From: time.Unix(0, 0), To: time.Unix(1, 0), Channel: channel, State: "done", Failed: failed}
		line := drawBar(&b, 10, false)
		if got := reflect.DeepEqual(line, line.WithRole(cells.Bad)); got != failed {
			t.Errorf("%s is red: %t", channel, got)
		}
	}
}

// The Time view selects the exchange that was selected in Talk or Table.
func TestTimeKeepsSelectedExchange(t *testing.T) {
	play(t, 120, 30, nil, nil, func(p *player) {
		p.keys("g", "j", "j")
		want := p.m.list().selected().key
		p.keys("3")
		if got := p.m.list().selectedBarKey(); got != want {
			t.Errorf("from Talk: %q is selected, want %q", got, want)
		}
		p.keys("2", "g", "3")
		first := p.m.lists[viewTable].items[0].key
		if got := p.m.list().selectedBarKey(); got != first {
			t.Errorf("from Table: %q is selected, want %q", got, first)
		}
	})
}
