package tui

import "testing"

// What is compared: the conversation that is shown or selected, that of the selected exchange, else
// the newest.
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
