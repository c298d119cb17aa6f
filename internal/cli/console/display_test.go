package console

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"mcpc/internal/render/term"
)

// A pager is for terminals that are shorter than the text.
func TestPagers(t *testing.T) {
	for _, c := range []struct {
		env    map[string]string
		height int
		no     bool
		want   string
	}{
		{nil, 24, false, "less"},
		{nil, 24, true, ""},
		{nil, 0, false, ""},
		{map[string]string{"PAGER": "more -s"}, 24, false, "more -s"},
		{map[string]string{"PAGER": "more", "MCPC_PAGER": "most"}, 24, false, "most"},
		{map[string]string{"PAGER": "cat"}, 24, false, ""},
		{map[string]string{"CI": "1"}, 24, false, ""},
		{map[string]string{"TERM": "dumb"}, 24, false, ""},
	} {
		console, _ := at("", c.env)
		console.NoPager = c.no
		console.OutStyle.Height = c.height
		if got := strings.Join(console.Pager(), " "); got != c.want {
			t.Errorf("%v, height %d, --no-pager %v: got %q", c.env, c.height, c.no, got)
		}
	}
}

// How pictures are drawn, without asking a terminal.
func TestPicturesWithoutAQuestion(t *testing.T) {
	for _, c := range []struct {
		words string
		env   map[string]string
		want  term.Canvas
	}{
		{"--no-images", nil, term.Canvas{}},
		{"--images none", nil, term.Canvas{}},
		{"--images blocks", nil, term.Canvas{Method: term.HalfBlocks, Rows: 24}},
		{
			"--images blocks",
			map[string]string{"COLORTERM": "truecolor"},
			term.Canvas{Method: term.HalfBlocks, Rows: 24, TrueColor: true},
		},
		{
			"--images blocks",
			map[string]string{"TERM": "xterm-direct"},
			term.Canvas{Method: term.HalfBlocks, Rows: 24, TrueColor: true},
		},
		{"--images sixel", map[string]string{"TERM": "linux"}, term.Canvas{Method: term.Sixel, Rows: 24}},
		{"--images kitty", map[string]string{"TERM": "linux"}, term.Canvas{Method: term.Kitty, Rows: 24}},
		{"", map[string]string{"TERM": "linux"}, term.Canvas{Rows: 24}},
		{
			"",
			map[string]string{"TERM": "linux", "COLORTERM": "24bit"},
			term.Canvas{Method: term.HalfBlocks, Rows: 24, TrueColor: true},
		},
		{
			"",
			map[string]string{"TERM": "linux", "COLORTERM": "24bit", "SSH_TTY": "/dev/pts/1"},
			term.Canvas{Rows: 24, TrueColor: true},
		},
		{
			"",
			map[string]string{"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"},
			term.Canvas{Method: term.HalfBlocks, Rows: 24},
		},
	} {
		console, _ := at("", c.env)
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		console.AddDisplayFlags(flags)
		if err := flags.Parse(strings.Fields(c.words)); err != nil {
			t.Fatal(err)
		}
		console.OutStyle.ASCII = false
		if got := console.Canvas(t.Context()); got != c.want {
			t.Errorf("%s %v: got %+v", c.words, c.env, got)
		}
	}
	if !hasInlineImages("WezTerm 2024") || hasInlineImages("xterm") {
		t.Error("the terminals that draw images inline")
	}
}
