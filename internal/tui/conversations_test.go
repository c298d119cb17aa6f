package tui

import (
	"slices"
	"strings"
	"testing"
	"time"

	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"
)

// Conversations of the same two sides differ by their times, from the width that has room for
// them; with more room each column has a name.
func TestConversationsOfSameNamesShowTimes(t *testing.T) {
	began := time.Date(2026, 11, 23, 10, 2, 1, 0, time.UTC)
	talk := func(i, rows, failed int) view.Conversation {
		return view.Conversation{ID: string(rune('a' + i)), Client: "mcpc 1.0", Server: "mcpc-demo 1.0", Revision: "2025-06-18", Rows: rows, Failed: failed, Began: began.Add(time.Duration(i) * time.Minute)}
	}
	var all conversationList
	all.replace([]view.Conversation{talk(0, 39, 8), talk(1, 5, 0)})
	for _, c := range []struct {
		w    int
		want string
	}{
		{28, "conversations  !failed total|  all                  !8 44|  mcpc → mcp… 10:03:01     5|  mcpc → mcp… 10:02:01 !8 39"},
		{34, "conversations        !failed total|  all                        !8 44|  mcpc → mcpc-demo  10:03:01     5|  mcpc → mcpc-demo  10:02:01 !8 39"},
		{60, "conversations               began  revision    failed  total|  all                                              !8     44|" +
			"  mcpc → mcpc-demo       10:03:01  2025-06-18              5|  mcpc → mcpc-demo       10:02:01  2025-06-18      !8     39"},
	} {
		var got []string
		for _, d := range all.draw(screenClock{now: began}, false, "", nil, c.w, 12)[:4] {
			got = append(got, strings.TrimRight(d.Line.String(), " "))
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("in %d columns:\n%s\nwant\n%s", c.w, strings.Join(got, "\n"), strings.ReplaceAll(c.want, "|", "\n"))
		}
	}
	for sel := range all.last() + 1 {
		for _, h := range []int{3, 6, 10, 14, 30} {
			all.sel = sel
			drawn := all.draw(screenClock{now: began}, true, "", nil, 28, h)
			if !slices.ContainsFunc(drawn[:min(h, len(drawn))], func(d cells.Drawn) bool { return d.Selected }) {
				t.Errorf("entry %d is not seen in %d lines", sel, h)
			}
		}
	}
	all.replace([]view.Conversation{talk(0, 39, 8)})
	if got := all.draw(screenClock{now: began}, false, "", nil, 28, 12)[2].Line.String(); !strings.Contains(got, "mcpc → mcpc-demo") {
		t.Errorf("the only one is cut: %q", got)
	}
}

// Servers of the same name are distinguished by their targets.
func TestServersOfTheSameNameAreToldApart(t *testing.T) {
	talk := func(server, target string) view.Conversation {
		return view.Conversation{Client: "c 1.0", Server: server, Target: target}
	}
	for _, c := range []struct {
		name string
		all  []view.Conversation
		want []string
	}{
		{
			"two targets",
			[]view.Conversation{talk("s 1.0", "http://a/mcp"), talk("s 1.0", "http://b/mcp"), talk("t 1.0", "http://b/mcp")},
			[]string{"c → s (http://a/mcp)", "c → s (http://b/mcp)", "c → t"},
		},
		{"one target", []view.Conversation{talk("s 1.0", "http://a/mcp"), talk("s 1.1", "http://a/mcp")}, []string{"c → s", "c → s"}},
		{"no names", []view.Conversation{talk("", "node"), talk("", "deno")}, []string{"c → node", "c → deno"}},
	} {
		if got := titles(c.all); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// While the newest is followed, the conversation that was chosen at the start is replaced by a
// conversation that begins; a conversation that the user chose is not.
func TestANewConversationIsFollowed(t *testing.T) {
	one := []view.Conversation{{ID: "1.1", First: true}}
	two := []view.Conversation{{ID: "1.1"}, {ID: "2.1", First: true}}
	for _, c := range []struct {
		follow, chosen bool
		want           string
	}{{true, false, "2.1"}, {false, false, "1.1"}, {true, true, "1.1"}} {
		var all conversationList
		all.replace(one)
		all.chooseForUser(true, c.follow)
		if c.chosen {
			all.chooseSelected()
		}
		all.replace(two)
		changed := all.chooseForUser(true, c.follow)
		if got := all.shownID(true); got != c.want || changed != (got == "2.1") || all.chooseForUser(true, c.follow) {
			t.Errorf("%+v: %q is shown, changed: %t", c, got, changed)
		}
	}
}
