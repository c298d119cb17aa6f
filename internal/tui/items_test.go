package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mcpc/internal/live/view"
)

// streams are the newest first, as a Reader gives them.
func streams(n int) listPart {
	var all []view.Stream
	for i := n; i > 0; i-- {
		all = append(all, view.Stream{Row: fmt.Sprint(i), What: fmt.Sprintf("stream-%02d", i)})
	}
	return partFromDocs(all, func(s *view.Stream) string { return s.Row })
}

func drawnOf(l *list, h int) string {
	var b strings.Builder
	for _, d := range l.draw(viewStreams, screenClock{now: time.Unix(0, 0)}, "", "", 100, h) {
		b.WriteString(d.Line.String() + "\n")
	}
	return b.String()
}

// New rows come above the others: all that fit are shown, and the selected row stays.
func TestNewRowsAboveAreShown(t *testing.T) {
	var l list
	for n := 1; n <= 20; n++ {
		l.replace(streams(n))
		got := drawnOf(&l, 12)
		if !strings.Contains(got, fmt.Sprintf("stream-%02d", n)) && n <= 9 {
			t.Fatalf("the newest of %d is not shown:\n%s", n, got)
		}
		if !strings.Contains(got, "stream-01") || l.selected().key != "1" {
			t.Fatalf("of %d the selected one is %s:\n%s", n, l.selected().key, got)
		}
	}
}

// If items are removed, or the screen grows, the list moves down as far as there is room.
func TestListFillsTheScreen(t *testing.T) {
	var l list
	l.replace(streams(20))
	l.selectIndex(19)
	drawnOf(&l, 12)
	if got := drawnOf(&l, 40); !strings.Contains(got, "stream-20") {
		t.Errorf("on a larger screen:\n%s", got)
	}
	drawnOf(&l, 12)
	l.replace(streams(5))
	if got := drawnOf(&l, 12); !strings.Contains(got, "stream-05") {
		t.Errorf("with fewer items:\n%s", got)
	}
}

// An exchange that is open for hours leaves the others their room in the Time view.
func TestTheTimeOfAnOpenExchange(t *testing.T) {
	at := func(s float64) time.Time { return time.Unix(0, int64(s*1e9)) }
	done := func(from, to float64) view.Bar {
		return view.Bar{From: at(from), To: at(to), Channel: "ok", State: "done"}
	}
	open := func(from, to float64) view.Bar {
		return view.Bar{From: at(from), To: at(to), Channel: "open", State: "open"}
	}
	for name, c := range map[string]struct {
		bars []view.Bar
		to   float64
	}{
		"all ended":               {[]view.Bar{done(0, 1), done(2, 10)}, 10},
		"one is open":             {[]view.Bar{done(0, 1), open(2, 7200), done(3, 10)}, 11},
		"one is open for a while": {[]view.Bar{done(0, 10), open(2, 10.5)}, 10.5},
		"one alone":               {[]view.Bar{open(0, 7200)}, 7200},
		"not ended in a file":     {[]view.Bar{done(0, 10), {From: at(1), To: at(7200), Channel: "open", State: "done"}}, 11},
	} {
		var l list
		l.replace(partFromDocs([]level{{bars: c.bars}}, func(*level) string { return "lane" }))
		if got := l.window(); !got.start.Equal(at(0)) || !got.end.Equal(at(c.to)) {
			t.Errorf("%s: to %v, want %v s", name, got.end.Sub(got.start), c.to)
		}
	}
}
