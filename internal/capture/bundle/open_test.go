package bundle

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpc/internal/capture/rows"
	"mcpc/internal/wire"
)

const oneCall = `{"mcpc-traffic":1,"mcpc":"0.1.0","by":"command"}
{"seq":1,"time":"2026-01-01T00:00:00Z","dir":"sent","kind":"body","raw":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\"}}"}
{"seq":2,"time":"2026-01-01T00:00:01Z","dir":"received","kind":"body","raw":"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"}
`

// archived returns a zip archive after some bytes, made of names and texts in turn.
func archived(t testing.TB, before string, members ...string) []byte {
	t.Helper()
	b := bytes.NewBufferString(before)
	w := zip.NewWriter(b)
	w.SetOffset(int64(len(before)))
	for i := 0; i < len(members); i += 2 {
		m, err := w.Create(members[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Write([]byte(members[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// withDirectory writes a number into the entry of a member in the directory of an archive.
func withDirectory(raw []byte, member, at int, value uint32) []byte {
	entry := 0
	for range member + 1 {
		entry += bytes.Index(raw[entry+1:], []byte("PK\x01\x02")) + 1
	}
	binary.LittleEndian.PutUint32(raw[entry+at:], value)
	return raw
}

// uncounted returns an archive with many members, whose header has their number modulo 65536.
func uncounted(members int) []byte {
	raw := []byte("PK\x03\x04")
	entry := make([]byte, 46)
	copy(entry, "PK\x01\x02")
	raw = append(raw, bytes.Repeat(entry, members)...)
	end := make([]byte, 22)
	copy(end, "PK\x05\x06")
	binary.LittleEndian.PutUint16(end[10:], uint16(members))
	binary.LittleEndian.PutUint32(end[12:], uint32(46*members))
	binary.LittleEndian.PutUint32(end[16:], 4)
	return append(raw, end...)
}

func manifestOf(version int, text string) string {
	sum := sha256.Sum256([]byte(text))
	return fmt.Sprintf(`{"mcpc-bundle":%d,"members":{"capture.jsonl":{"sha256":%q,"size":%d}}}`, version, hex.EncodeToString(sum[:]), len(text))
}

func TestHostileArchives(t *testing.T) {
	good := archived(t, pagePrefix+"-->", ManifestName, manifestOf(1, oneCall), CaptureName, oneCall)
	flipped := bytes.Clone(good)
	flipped[bytes.Index(flipped, []byte(CaptureName))+len(CaptureName)+20] ^= 0x55
	bomb := strings.Repeat("0", minRatioBytes+1)
	many := make([]string, 0, 2*maxMembers+2)
	for i := range maxMembers + 1 {
		many = append(many, fmt.Sprint(i), "")
	}
	for name, c := range map[string]struct {
		raw  []byte
		want string // of the error, or ""
	}{
		"a bundle":            {good, ""},
		"an archive alone":    {archived(t, "", CaptureName, oneCall, ManifestName, manifestOf(1, oneCall)), ""},
		"cut":                 {good[:len(good)-30], "incomplete"},
		"cut to the page":     {good[:40], "incomplete"},
		"cut in the page":     {good[:20], "not a bundle"},
		"empty":               {nil, "not a bundle"},
		"a text":              {[]byte("hello\n"), "not a bundle"},
		"a text that ends so": {[]byte("hello PK\x05\x06 and eighteen bytes more"), "not a bundle"},
		"another archive":     {archived(t, "", "x", "y"), "no MANIFEST.json"},
		"another page":        {archived(t, "<html>", "x", "y"), "no MANIFEST.json"},
		"no capture":          {archived(t, "", ManifestName, manifestOf(1, "")), "no capture.jsonl"},
		"two captures":        {archived(t, "", ManifestName, manifestOf(1, oneCall), CaptureName, oneCall, CaptureName, oneCall), "two members"},
		"changed":             {archived(t, "", ManifestName, manifestOf(1, "x"), CaptureName, oneCall), "was changed"},
		"no sum":              {archived(t, "", ManifestName, `{"mcpc-bundle":1}`, CaptureName, oneCall), "was changed"},
		"newer":               {archived(t, "", ManifestName, manifestOf(2, oneCall), CaptureName, oneCall), "version 2"},
		"newer and other":     {archived(t, "", ManifestName, `{"mcpc-bundle":9,"members":7}`), "version 9"},
		"no version":          {archived(t, "", ManifestName, `{}`, CaptureName, oneCall), "no \"mcpc-bundle\""},
		"no JSON":             {archived(t, "", ManifestName, `x`, CaptureName, oneCall), "damaged: MANIFEST.json"},
		"flipped bits":        {flipped, "damaged: capture.jsonl"},
		"bomb":                {archived(t, "", ManifestName, manifestOf(1, bomb), CaptureName, bomb), "grows to more than 200 times"},
		"many members":        {archived(t, "", many...), "more than 64 members"},
		"a wrong size":        {withDirectory(archived(t, "", ManifestName, manifestOf(1, bomb), CaptureName, bomb), 1, 20, 0x7fffffff), "grows to more than 200 times"},
		"a wrong number":      {uncounted(1<<16 + 1), "the directory at its end is too large"},
		"paths":               {archived(t, "", ManifestName, manifestOf(1, oneCall), "../../"+CaptureName, "x", "/tmp/"+CaptureName, "x", "./"+CaptureName, oneCall), "no capture.jsonl"},
		"no capture format":   {archived(t, "", ManifestName, manifestOf(1, "x"), CaptureName, "x"), "not a capture"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "bug.mcpcz")
			if err := os.WriteFile(path, c.raw, 0o600); err != nil {
				t.Fatal(err)
			}
			opened, err := Open(path)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Fatalf("error %v, want %q", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			readsAgain(t, opened, path)
		})
	}
}

// readsAgain reads the one exchange of a capture, also after Close.
func readsAgain(t *testing.T, c *rows.Capture, path string) {
	t.Helper()
	for range 2 {
		if len(c.Rows()) != 1 || c.Path != path {
			t.Fatalf("%d rows of %s", len(c.Rows()), c.Path)
		}
		x, err := c.Rows()[0].Exchange()
		if err != nil || !strings.Contains(string(x.Request.Raw), "echo") || len(x.Response.Raw) == 0 {
			t.Fatalf("%v %v", x, err)
		}
		if changed, err := c.Refresh(); err != nil || len(changed) > 0 {
			t.Fatalf("%d rows changed: %v", len(changed), err)
		}
		frames := 0
		if err := c.FrameReader().Each(func(rows.FramePlace, wire.Frame) error { frames++; return nil }); err != nil || frames != 2 {
			t.Fatalf("%d frames: %v", frames, err)
		}
		c.Close()
	}
}

func TestNothingIsLeftInTheTemporaryDirectory(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	path := filepath.Join(t.TempDir(), "bug.mcpcz")
	raw := archived(t, "", ManifestName, manifestOf(1, oneCall), CaptureName, oneCall)
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v %v", left, err)
	}
}

func TestMissingFile(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// FuzzOpen: whatever a file contains, it is a capture or an error.
func FuzzOpen(f *testing.F) {
	f.Add(archived(f, pagePrefix+"-->", ManifestName, manifestOf(1, oneCall), CaptureName, oneCall))
	f.Add(archived(f, "", CaptureName, oneCall))
	f.Add([]byte("PK\x05\x06"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		path := filepath.Join(t.TempDir(), "bug.mcpcz")
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		if c, err := Open(path); err == nil {
			c.Close()
		} else if c != nil {
			t.Error("a capture and an error")
		}
	})
}
