package redact

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"mcpc/internal/spool"
)

// inFile returns a text in a mapped file, if files can be mapped.
func inFile(t *testing.T, text []byte) (raw []byte, is bool) {
	t.Helper()
	b := spool.Dir(t.TempDir()).New(int64(len(text)))
	if _, err := b.Write(text); err != nil {
		t.Fatal(err)
	}
	raw, err := b.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return raw, b.InFile()
}

// isInFile reports that a text is of a file.
func isInFile(text []byte) bool {
	spool.Annotate(text, "here")
	return spool.Annotation(text) != nil
}

// A large text in a file reads without its secrets as the same text in memory does, and
// is in a file, too.
func TestLargeTextsAreEditedInFiles(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 3))
	secrets := []string{
		"known, as {it} is", "password: abcdef1", `"token":"s\"t"`, "Bearer abcdefghijkl0123456789",
		"ghp_abcdefghij0123456789", "http://u:p@host/?a=b", `\"api_key\":\"` + strings.Repeat("k1", 3000) + `\"`,
	}
	for trial := range 12 {
		var text bytes.Buffer
		for text.Len() < spool.Memory+spool.Memory/4 {
			text.WriteString(strings.Repeat("so it goes, ", 1+r.IntN(100_000)))
			if trial > 0 {
				text.WriteString(" " + secrets[r.IntN(min(trial, len(secrets)))] + " ")
			}
		}
		raw, mapped := inFile(t, text.Bytes())
		inMemory, here := &Secrets{}, &Secrets{}
		inMemory.Learn("known, as {it} is")
		here.Learn("known, as {it} is")
		want, count := inMemory.Bytes(text.Bytes())
		safe, n := here.Bytes(raw)
		if n != count || !bytes.Equal(safe, want) || (n == 0) != (trial == 0) {
			t.Errorf("trial %d: %d secrets, want %d, or another text", trial, n, count)
		}
		if is := isInFile(safe); is != mapped {
			t.Errorf("trial %d: the text is in a file: %t, want %t", trial, is, mapped)
		}
		if !bytes.Equal(raw, text.Bytes()) {
			t.Errorf("trial %d: the text was written to", trial)
		}
		if n > 0 {
			spool.Free(safe)
		}
	}
}

// A text that cannot be written is hidden as a whole.
func TestEditsThatFailAreWithheld(t *testing.T) {
	e := edit{raw: []byte("a password: abcdef1 and more")}
	e.replace(12, 19, "hidden")
	e.failed = errors.New("the disk is full")
	if safe, n := e.result(); n != 1 || string(safe) != Redacted(string(e.raw)) {
		t.Errorf("%q, %d", safe, n)
	}
}
