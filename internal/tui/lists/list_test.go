package lists

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mcpc/internal/live/view"
	"mcpc/internal/tui/sheet"
)

// streams are the newest first, as a Reader gives them.
func streams(n int) Part {
	var all []view.Stream
	for i := n; i > 0; i-- {
		all = append(all, view.Stream{Row: fmt.Sprint(i), What: fmt.Sprintf("stream-%02d", i)})
	}
	return partOf(all, func(s *view.Stream) string { return s.Row })
}

func drawnOf(l *List, h int) string {
	var b strings.Builder
	for _, d := range l.Draw(Streams, sheet.Clock{Now: time.Unix(0, 0)}, "", "", 100, h) {
		b.WriteString(d.Line.String() + "\n")
	}
	return b.String()
}

// New rows come above the others: those that fit are all shown, and the selected one stays.
func TestRowsThatComeAboveAreShown(t *testing.T) {
	var l List
	for n := 1; n <= 20; n++ {
		l.Take(streams(n))
		got := drawnOf(&l, 12)
		if !strings.Contains(got, fmt.Sprintf("stream-%02d", n)) && n <= 9 {
			t.Fatalf("the newest of %d is not shown:\n%s", n, got)
		}
		if !strings.Contains(got, "stream-01") || l.Selected().Key != "1" {
			t.Fatalf("of %d the selected one is %s:\n%s", n, l.Selected().Key, got)
		}
	}
}

// Where items go, or the screen grows, the list moves down as far as there is room.
func TestNoLineIsFreeWhileItemsAreAbove(t *testing.T) {
	var l List
	l.Take(streams(20))
	l.Move(19)
	drawnOf(&l, 12)
	if got := drawnOf(&l, 40); !strings.Contains(got, "stream-20") {
		t.Errorf("on a larger screen:\n%s", got)
	}
	drawnOf(&l, 12)
	l.Take(streams(5))
	if got := drawnOf(&l, 12); !strings.Contains(got, "stream-05") {
		t.Errorf("with fewer items:\n%s", got)
	}
}
