package bundle

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// contentOf returns the content of a bundle with a capture.
func contentOf(t *testing.T, lines, data string) Content {
	t.Helper()
	f, err := Temporary()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.WriteString(lines); err != nil {
		t.Fatal(err)
	}
	return Content{Manifest: Manifest{Mcpc: "1", Exchanges: 1}, Capture: f, Modified: time.Unix(1700000000, 7), Tools: []byte("[]\n"), Report: []byte("# x\n"), Data: []byte(data)}
}

func written(t *testing.T, c Content) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, c); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestABundleIsAPageAndAnArchive(t *testing.T) {
	hostile := `{"exchanges":[],"report":"</script><!--<script>PK\u0005\u0006"}`
	raw := written(t, contentOf(t, oneCall, hostile))
	if !bytes.Equal(raw, written(t, contentOf(t, oneCall, hostile))) {
		t.Error("the same content gave other bytes")
	}
	path := filepath.Join(t.TempDir(), "bug.mcpcz")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	readsAgain(t, c, path)
	z, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range z.File {
		if want := time.Unix(1700000000, 0); !f.Modified.Equal(want) {
			t.Errorf("%s is of %v, want %v", f.Name, f.Modified, want)
		}
	}
	first, err := z.File[0].DataOffset()
	if err != nil || !strings.HasPrefix(string(raw[first-int64(30+len(ManifestName)+len(z.File[0].Extra)):]), zipPrefix) {
		t.Errorf("the offsets are not those in the file: %d, %v", first, err)
	}
	page, _, found := strings.Cut(string(raw), pageEnd)
	if !found || strings.Contains(page, zipPrefix) {
		t.Fatal("the page does not end before the archive")
	}
	data := regexp.MustCompile(`(?s)<script type="application/json" id="mcpc-data">(.*?)</script>`).FindStringSubmatch(page)
	var same, want any
	if data == nil || strings.Contains(data[1], "<") || json.Unmarshal([]byte(data[1]), &same) != nil || json.Unmarshal([]byte(hostile), &want) != nil {
		t.Fatalf("the data is %q", data)
	}
	if a, b := same.(map[string]any)["report"], want.(map[string]any)["report"]; a != b {
		t.Errorf("%q, want %q", a, b)
	}
}

// TestPageHasContentSecurityPolicy: one script and one style, whose hashes are in the policy, and no
// way to make elements of text.
func TestPageHasContentSecurityPolicy(t *testing.T) {
	page := string(bytes.Join(buildPage(Content{Data: []byte("{}"), Script: "1", Style: "p{}"}), nil))
	policy := regexp.MustCompile(`Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(page)
	if policy == nil || !strings.HasPrefix(policy[1], "default-src 'none'; ") {
		t.Fatalf("policy %q", policy)
	}
	for name, text := range map[string]string{"script": "1", "style": "p{}"} {
		if n := strings.Count(page, "<"+name+">"); n != 1 {
			t.Errorf("%d of %s", n, name)
		}
		sum := sha256.Sum256([]byte(text))
		if !strings.Contains(policy[1], name+"-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") {
			t.Errorf("the policy has no hash of the %s", name)
		}
	}
	for _, bad := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "style=", "onclick", "http:", "https:", "fetch(", "localStorage"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
}

func TestEachMember(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bug.mcpcz")
	c := contentOf(t, oneCall, `{"a":"secret in the page"}`)
	c.Notes = []byte("note")
	if err := os.WriteFile(path, written(t, c), 0o600); err != nil {
		t.Fatal(err)
	}
	var names []string
	found := 0
	err := EachMember(path, func(name string, r io.Reader) error {
		names = append(names, name)
		text, err := io.ReadAll(r)
		if strings.Contains(string(text), "secret in the page") {
			found++
		}
		if strings.Contains(string(text), "addEventListener") {
			t.Errorf("%s has the script", name)
		}
		return err
	})
	want := []string{PageName, ManifestName, CaptureName, ToolsName, ReportName, NotesName, PageName}
	if err != nil || found != 2 || !slices.Equal(names, want) {
		t.Errorf("%v, %d, %q", err, found, names)
	}
}

// TestWriteRefusesWhatOpenWouldRefuse: content that Open would refuse is not written.
func TestWriteRefusesWhatOpenWouldRefuse(t *testing.T) {
	c := contentOf(t, oneCall+strings.Repeat("\n", minRatioBytes), "{}")
	err := Write(io.Discard, c)
	if _, ok := errors.AsType[*Error](err); !ok {
		t.Errorf("error %v", err)
	}
}

func TestTemporaryFilesGoWhenTheyAreClosed(t *testing.T) {
	f, err := Temporary()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	name := f.Name()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", name, err)
	}
}
