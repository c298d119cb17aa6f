package tui

import (
	"strings"
	"testing"

	"mcpc/internal/live/view"
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

// The tab Compare compares with the last good call if the previous one failed, unless the user marked another one.
func TestComparisonOfAnExchange(t *testing.T) {
	for _, c := range []struct {
		marked string
		doc    view.Detail
		want   string
	}{
		{"", view.Detail{Before: "1.2"}, "1.2, the previous call"},
		{"", view.Detail{Before: "1.2", LastGood: "1.1"}, "1.1, the last good call"},
		{"1.9", view.Detail{Before: "1.2", LastGood: "1.1"}, "1.9, the marked exchange"},
		{"1.3", view.Detail{Before: "1.2", LastGood: "1.1"}, "1.1, the last good call"},
		{"1.9", view.Detail{Before: "1.2", Row: view.Row{Again: "1.0"}}, "1.0, the recorded original"},
	} {
		if key, name := comparisonOf("1.3", c.marked, &c.doc); key+", "+name != c.want {
			t.Errorf("%+v: %s, %s, want %s", c, key, name, c.want)
		}
	}
}
