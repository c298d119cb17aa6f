package tty

import "testing"

func TestParse(t *testing.T) {
	for name, c := range map[string]struct {
		reply string
		want  Facts
	}{
		"kitty":       {"\x1b_Gi=31;OK\x1b\\\x1bP>|kitty(0.26.5)\x1b\\\x1b[6;20;9t\x1b[?62;c", Facts{Answered: true, Kitty: true, Name: "kitty(0.26.5)", CellWidth: 9, CellHeight: 20}},
		"xterm":       {"\x1bP>|XTerm(379)\x1b\\\x1b[6;13;6t\x1b[?63;1;2;4;6;9;15;16;22;28c", Facts{Answered: true, Sixel: true, Name: "XTerm(379)", CellWidth: 6, CellHeight: 13}},
		"no sixel":    {"\x1b[?64;1;2;6;9;15;18;21;22c", Facts{Answered: true}},
		"class 4":     {"\x1b[?4;6c", Facts{Answered: true}},
		"VT100":       {"\x1b[?1;2c", Facts{Answered: true}},
		"bare":        {"\x1b[?c", Facts{Answered: true}},
		"refused":     {"\x1b_Gi=31;EINVAL:no\x1b\\\x1b[?62c", Facts{Answered: true}},
		"not yet":     {"\x1b_Gi=31;OK\x1b\\\x1b[?62;4", Facts{Kitty: true}},
		"Ctrl-C":      {"\x03", Facts{Interrupted: true}},
		"typed":       {"ls -l\r", Facts{}},
		"hostile":     {"\x1bP>|a\x1b]0;x\x07\x1b\\\x1b[6;99999;1t\x1b[?62c", Facts{Answered: true}},
		"nothing":     {"", Facts{}},
		"other image": {"\x1b_Gi=32;OK\x1b\\\x1b[?62c", Facts{Answered: true}},
	} {
		if got := parseReply([]byte(c.reply)); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}
