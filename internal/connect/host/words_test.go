package host_test

import (
	"strings"
	"testing"

	"mcpc/internal/connect/host"
)

// A command cannot push its end out of sight.
func TestConfirmedCommandCannotHideItsEnd(t *testing.T) {
	for word, want := range map[string]string{
		"plain": "plain", "a b": "'a b'", "a   b": "'a   b'", "a" + strings.Repeat(" ", 4096) + ";curl": "'a⟨4096 spaces⟩;curl'",
		"a" + strings.Repeat("\u2003", 9) + "b": "'a⟨9 spaces⟩b'", strings.Repeat("\u2800", 9): "'⟨9 spaces⟩'", "": "''",
		"a\r\nb": `"$(printf 'a\015\012b')"`, "\x1b[2J": `"$(printf '\033[2J')"`, "x\u202ey": `"$(printf 'x\342\200\256y')"`,
	} {
		if got := host.ShownWord(word); got != want {
			t.Errorf("%q is shown as %s, want %s", word, got, want)
		}
	}
}

func TestDotenvReadsAssignments(t *testing.T) {
	text := "# all of it\nA=1\n export B = 'two words' \r\nC=\"$A\"\nD=\nE=a=b # c\nno\n=x\nF='\n"
	want := "A=1|B=two words|C=$A|D=|E=a=b # c|F='|"
	got := ""
	for _, e := range host.Dotenv(text) {
		got += e.Name + "=" + e.Value + "|"
	}
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
