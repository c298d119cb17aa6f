package tui

import (
	"strings"
	"testing"
)

// The result names the older conversation and its keys.
func TestComparisonNamesItsSides(t *testing.T) {
	play(t, 120, 40, nil, newActor(), func(p *player) {
		p.keys("shift+tab", "g", "j", "j", "D", "enter")
		got := p.screen()
		a, b := strings.Index(got, "A, older  09:52:01  Claude Desktop → files  12 exchanges"), strings.Index(got, "B, newer  10:02:01  Claude Desktop → github  83 exchanges")
		if a < 0 || b < a || !strings.Contains(got, "Esc close  ↑↓ scroll") || strings.Contains(got, "Enter choose") {
			t.Error(got)
		}
	})
}

// What is compared: the conversation that is shown or selected, the conversation of the selected
// exchange, else the newest.
func TestComparedConversation(t *testing.T) {
	for _, c := range []struct {
		keys []string
		want string
	}{
		{nil, "compare Claude Desktop → github (10:02:01)"},
		{[]string{"shift+tab", "g", "j", "j"}, "compare Claude Desktop → files"},
		{[]string{"C"}, "compare Claude Desktop → github (10:02:01)"}, // of the selected exchange
		{[]string{"C", "4"}, "compare cursor → github"},
	} {
		play(t, 120, 40, nil, newActor(), func(p *player) {
			p.keys(c.keys...).keys("D")
			p.shows(c.want)
		})
	}
}
