package tui

import (
	"strings"
	"testing"

	"mcpc/internal/tui/cells"
)

func shown(a *area, w, h int) (rows []string) {
	for _, l := range a.Lines(w, h) {
		rows = append(rows, strings.TrimRight(l.String(), " "))
	}
	return rows
}

// A line that is wider than the area is drawn in rows, and the cursor moves by rows.
func TestAreaWraps(t *testing.T) {
	a := newArea("0123456789abcdefghijKLMNO\nend 日本語日本語")
	if got, want := strings.Join(shown(&a, 11, 9), "|"), "0123456789|abcdefghij|KLMNO|end 日本語|日本語"; got != want {
		t.Fatalf("the rows are %q, want %q", got, want)
	}
	for _, step := range []struct{ keys, want string }{
		{"right right down", "0123456789abXcdefghijKLMNO"},
		{"down down down", "end 日本語日本X語"},
		{"up up up up up up", "01X23456789abcdefghijKLMNO"},
		{"pgdown", "end 日本語日本X語"},
		{"pgup end", "0123456789abcdefghijKLMNOX"},
	} {
		for key := range strings.FieldsSeq(step.keys) {
			a.Key(key, "")
		}
		b := area{lines: append([]input{}, a.lines...), cursorLine: a.cursorLine}
		b.Type("X")
		if got := b.lines[b.cursorLine].Text(); got != step.want {
			t.Errorf("after %s the cursor is at the X of %q, want %q", step.keys, got, step.want)
		}
	}
}

// The cursor is always seen, in an area of any size.
func TestAreaShowsTheCursor(t *testing.T) {
	a := newArea(strings.Repeat(strings.Repeat("x", 45)+"\n", 20))
	for _, size := range [][2]int{{10, 4}, {30, 3}, {7, 1}, {80, 10}, {10, 0}} {
		for _, key := range []string{"pgdown", "end", "down", "pgdown", "up", "pgup", "home", "pgup", "pgdown"} {
			a.Key(key, "")
			rows := a.Lines(size[0], size[1])
			seen := size[1] == 0
			for _, l := range rows {
				if l.Width() != size[0] {
					t.Fatalf("a row of %d columns in an area of %d", l.Width(), size[0])
				}
				var b strings.Builder
				l.Write(&b, cells.Palette{}, false)
				seen = seen || strings.Contains(b.String(), "\x1b[7m")
			}
			if !seen || len(rows) > size[1] {
				t.Errorf("%v after %s: %d rows, the cursor is seen: %v", size, key, len(rows), seen)
			}
		}
	}
}

// The keys for words stop at names and values of JSON.
func TestAreaMovesByWords(t *testing.T) {
	a := newArea("{\n  \"name\": \"get_sum\",\n  \"arguments\": {\"left_part\": 12}\n}")
	a.find(`"arguments"`)
	for _, key := range []string{"ctrl+right", "alt+f", "ctrl+right"} {
		a.Key(key, "")
	}
	a.Key("ctrl+left", "")
	a.Key("x", "x")
	a.Key("home", "")
	a.Key("y", "y")
	if got, want := a.lines[2].Text(), `y  "arguments": {"left_part": x12}`; got != want {
		t.Errorf("the line is %q, want %q", got, want)
	}
}
