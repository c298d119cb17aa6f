package render

import (
	"bytes"
	"encoding/base64"
	"math/rand/v2"
	"strings"
	"testing"

	"mcpc/internal/jsonraw"
	"mcpc/internal/spool"
)

// checkLong compares decodeLong with decodeBase64, which decodeLong replaces.
func checkLong(t *testing.T, text string) (taken bool) {
	t.Helper()
	quoted := jsonraw.Quote(text)
	whole, _ := jsonraw.Text(quoted) // a message contains only UTF-8
	want, bad := decodeBase64(whole)
	data, err := decodeLong(quoted)
	if err == nil && (bad != nil || !bytes.Equal(data, want)) {
		t.Fatalf("%.100q reads %.100q, want %.100q, %v", text, data, want, bad)
	}
	return err == nil
}

func FuzzDecodeLong(f *testing.F) {
	for _, text := range []string{"", "QQ==", "QQ", "QUJD", "Q-_D", "QU\nJD", "QQ=\n=", "Q-=\n=", "QQ=", "QQ===", "QQ==QQ==", "QQ=Q", "Q", "====", "Q Q", "Q\x00QQ", "Q!", "é"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { checkLong(t, text) })
}

// Long texts are decoded wherever a piece ends, and refused where decodeBase64 refuses them.
func TestLongBase64(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 4))
	data := make([]byte, 5*spool.Piece/2)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	for i := range 6 {
		from := i % 5
		for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
			text := e.EncodeToString(data[from : len(data)-r.IntN(2000)])
			if !checkLong(t, text) {
				t.Fatal("a text in base64 is refused")
			}
			at := r.IntN(len(text) - 10)
			if !checkLong(t, text[:at]+"\r\n"+text[at:]) {
				t.Fatal("a line end is refused")
			}
			for _, wrong := range []string{"=", "!", "\x00", " ", "é"} {
				if checkLong(t, text[:at]+wrong+text[at:]) {
					t.Fatalf("%q at %d is taken", wrong, at)
				}
			}
		}
	}
}

// The bytes of a long block in a file are in a file, and are decoded once.
func TestLongBlobIsDecodedOnce(t *testing.T) {
	text := jsonraw.Quote(strings.Repeat("QUJD", 2*spool.Memory/3))
	result := []byte(`{"contents":[{"uri":"a:b","blob":` + string(text) + `}]}`)
	b := spool.Dir(t.TempDir()).New(int64(len(result)))
	if _, err := b.Write(result); err != nil {
		t.Fatal(err)
	}
	raw, err := b.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	var first []byte
	for range 2 {
		blocks := resultBlocks("resources/read", raw)
		data, err := blocks[0].decode()
		if err != nil || string(data) != strings.Repeat("ABC", 2*spool.Memory/3) {
			t.Fatalf("%d bytes, %v", len(data), err)
		}
		if spool.Annotate(data, "here"); (spool.Annotation(data) != nil) != b.InFile() {
			t.Errorf("not kept where the text is, which is in a file: %t", b.InFile())
		}
		if first != nil && b.InFile() && &first[0] != &data[0] {
			t.Error("decoded twice")
		}
		first = data
	}
}
