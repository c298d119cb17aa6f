package render

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/ansi/sixel"

	"mcpc/internal/render/term"
	"mcpc/internal/tests/rendertest"
)

// flag is a picture of two colours, red over blue, with a transparent column.
func flagPicture(width, height int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := 1; x < width; x++ {
			img.SetNRGBA(x, y, color.NRGBA{R: 255, A: 255})
			if y >= height/2 {
				img.SetNRGBA(x, y, color.NRGBA{B: 255, A: 255})
			}
		}
	}
	return img
}

func encoded(t *testing.T, encode func(io.Writer, image.Image) error, img image.Image) string {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

func asGIF(w io.Writer, img image.Image) error { return gif.Encode(w, img, nil) }

func asJPEG(w io.Writer, img image.Image) error { return jpeg.Encode(w, img, nil) }

// tinyWebP is one pixel, lossless.
const tinyWebP = "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=="

func drawn(t *testing.T, c term.Canvas, width int, blocks ...string) string {
	t.Helper()
	var b bytes.Buffer
	st := term.Style{Terminal: true, Color: true, Width: width, Canvas: c}
	if err := Result(&b, st, "tools/call", []byte(tool(blocks...))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestHalfBlocks(t *testing.T) {
	var all bytes.Buffer
	for _, width := range []int{6, 40} {
		for _, c := range []term.Canvas{{Method: term.HalfBlocks}, {Method: term.HalfBlocks, TrueColor: true}, {Method: term.HalfBlocks, Rows: 6}} {
			fmt.Fprintf(&all, "=== %d columns %+v\n", width, c)
			all.WriteString(drawn(t, c, width, imageBlock("image/png", encoded(t, png.Encode, flagPicture(12, 7)))))
		}
	}
	rendertest.Golden(t, "picture_blocks.txt", all.Bytes())
	for _, line := range strings.Split(drawn(t, term.Canvas{Method: term.HalfBlocks}, 30, imageBlock("image/png", encoded(t, png.Encode, flagPicture(4000, 100)))), "\n")[1:] {
		if w := ansi.StringWidth(line); w >= 30 {
			t.Errorf("a line of a picture has %d columns", w)
		}
	}
}

// Each protocol of pixels gets the picture, decoded and encoded here, on as many cells as its size
// requires, and never more than the screen has.
func TestProtocols(t *testing.T) {
	for _, c := range []struct {
		width, height, columns int
		cells                  string
	}{
		{160, 96, 80, "20x6"},
		{2000, 1000, 80, "64x16"},
		{100, 9000, 80, "1x16"},
		{20, 20, 80, "10x5"},
		{1, 1, 80, "12x6"},
		{5000, 1, 40, "39x1"},
		{640, 480, 2, "1x1"},
	} {
		block := imageBlock("image/jpeg", encoded(t, asJPEG, flagPicture(c.width, c.height)))
		want := strings.Split(c.cells, "x")
		out := drawn(t, term.Canvas{Method: term.Kitty, Rows: 24}, c.columns, block)
		if m := regexp.MustCompile(`\x1b_G([^;]*);`).FindStringSubmatch(out); m == nil || !strings.Contains(m[1], "q=2") || !strings.Contains(m[1], "a=T") {
			t.Errorf("kitty, %d by %d: got %q", c.width, c.height, m)
		}
		out = drawn(t, term.Canvas{Method: term.ITerm, Rows: 24}, c.columns, block)
		m := regexp.MustCompile(`\x1b\]1337;File=size=(\d+);width=(\d+);height=(\d+);inline=1:([A-Za-z0-9+/=]+)\x07\n$`).FindStringSubmatch(out)
		if m == nil || m[2] != want[0] || m[3] != want[1] {
			t.Fatalf("iterm2, %d by %d: got %.80q, want %s cells", c.width, c.height, m, c.cells)
		}
		data, _ := base64.StdEncoding.DecodeString(m[4])
		img, err := png.Decode(bytes.NewReader(data))
		if err != nil || fmt.Sprint(len(data)) != m[1] {
			t.Fatalf("iterm2: %v", err)
		}
		out = drawn(t, term.Canvas{Method: term.Sixel, Rows: 24}, c.columns, block)
		payload := regexp.MustCompile(`(?s)\x1bP0;1q(.*)\x1b\\\n$`).FindStringSubmatch(out)
		if payload == nil {
			t.Fatalf("sixel: got %.80q", out)
		}
		back, err := (&sixel.Decoder{}).Decode(strings.NewReader(payload[1]))
		if err != nil || back.Bounds().Dx() != img.Bounds().Dx() || back.Bounds().Dy() != img.Bounds().Dy() {
			t.Errorf("sixel: %v, %v, want %v", err, back.Bounds(), img.Bounds())
		}
	}
}

func TestEachKindOfImageIsDrawn(t *testing.T) {
	for mime, data := range map[string]string{
		"image/png": encoded(t, png.Encode, flagPicture(9, 9)), "image/jpeg": encoded(t, asJPEG, flagPicture(9, 9)),
		"image/gif": encoded(t, asGIF, flagPicture(9, 9)), "image/webp": tinyWebP,
	} {
		// The bytes determine the type, whatever type is declared.
		for _, declared := range []string{mime, "", "application/octet-stream"} {
			if out := drawn(t, term.Canvas{Method: term.HalfBlocks}, 80, imageBlock(declared, data)); strings.Contains(out, "not drawn") || !strings.HasSuffix(out, "\x1b[0m\n") || strings.Count(out, "\n") < 2 {
				t.Errorf("%s as %q: %q", mime, declared, out)
			}
			if !HasPictures("tools/call", []byte(tool(imageBlock(declared, data)))) {
				t.Errorf("%s as %q is no picture", mime, declared)
			}
		}
	}
	if HasPictures("tools/call", []byte(tool(imageBlock("image/png", "UklGRgAAAABXQVZF"), `{"type":"text","text":"iVBORw0KGgo="}`))) {
		t.Error("a sound and a text are pictures")
	}
}

// Of a picture that moves the first one is drawn.
func TestAnimated(t *testing.T) {
	palette := color.Palette{color.Transparent, color.NRGBA{R: 255, A: 255}, color.NRGBA{B: 255, A: 255}}
	var frames gif.GIF
	for i := range 3 {
		frame := image.NewPaletted(image.Rect(0, 0, 4, 4), palette)
		for j := range frame.Pix {
			frame.Pix[j] = uint8(1 + min(i, 1))
		}
		frames.Image, frames.Delay = append(frames.Image, frame), append(frames.Delay, 1)
	}
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, &frames); err != nil {
		t.Fatal(err)
	}
	out := drawn(t, term.Canvas{Method: term.HalfBlocks}, 80, imageBlock("image/gif", base64.StdEncoding.EncodeToString(b.Bytes())))
	if !strings.Contains(out, "48;5;196") || strings.Contains(out, "48;5;21m") {
		t.Errorf("%q", out)
	}
}

// A chunk with a wrong checksum that is no part of the picture, as in the image of
// server-everything, does not keep the picture from being drawn; a wrong part of the picture does.
func TestPNGWithWrongChecksums(t *testing.T) {
	var b bytes.Buffer
	if err := png.Encode(&b, flagPicture(8, 8)); err != nil {
		t.Fatal(err)
	}
	data := b.Bytes()
	const behindHeader = 8 + 12 + 13
	profile := []byte("\x00\x00\x00\x04iCCPabcdWRNG")
	with := slices.Concat(data[:behindHeader], profile, data[behindHeader:])
	shown := func(data []byte) string {
		return drawn(t, term.Canvas{Method: term.HalfBlocks, TrueColor: true}, 80, imageBlock("image/png", base64.StdEncoding.EncodeToString(data)))
	}
	if out := shown(with); out != strings.ReplaceAll(shown(data), fmt.Sprint(len(data)), fmt.Sprint(len(with))) || !strings.Contains(out, "38;2;255;0;0;48;2;255;0;0m▀") {
		t.Errorf("a wrong profile: %q", out)
	}
	broken := slices.Clone(data)
	broken[len(broken)-20] ^= 1
	if out := shown(broken); !strings.Contains(out, "not drawn: damaged: ") {
		t.Errorf("wrong pixels: %q", out)
	}
}

// An image that cannot be drawn is replaced by the reason, still with how to save it.
func TestUndrawableImagesSayWhy(t *testing.T) {
	whole := encoded(t, png.Encode, flagPicture(50, 50))
	hollow := base64.StdEncoding.EncodeToString([]byte("GIF89a\x00\x00\x00\x00\x00\x00\x00"))
	for name, c := range map[string]struct{ data, says string }{
		"20 000 by 20 000 pixels": {pngHeader(20000, 20000), "not drawn: more than 20 million pixels"},
		"no pixels at all":        {pngHeader(40, 30), "not drawn: damaged"},
		"half a picture":          {whole[:len(whole)/2/4*4], "not drawn: damaged"},
		"half a header":           {whole[:24], "not drawn: damaged header"},
		"zero by zero":            {hollow, "not drawn: it has no pixels"},
		"nothing":                 {"", "[image/png, empty]"},
		"bad base64":              {"iVBO!!!!", "invalid base64 at character 4 of 8"},
		"a text":                  {base64.StdEncoding.EncodeToString([]byte("<html>")), "but the bytes are something else"},
		"a script":                {base64.StdEncoding.EncodeToString([]byte("<svg onload='x'/>")), "but the bytes are something else"},
	} {
		for _, by := range []int{term.HalfBlocks, term.Kitty, term.ITerm, term.Sixel} {
			out := drawn(t, term.Canvas{Method: by}, 80, imageBlock("image/png", c.data))
			if !strings.Contains(out, c.says) || c.data != "" && !strings.Contains(out, "save it: ") || strings.ContainsAny(out, "▀▄") || strings.Count(out, "\n") > 2 {
				t.Errorf("%s: %q", name, out)
			}
		}
	}
	blocks := make([]string, 12)
	for i := range blocks {
		blocks[i] = imageBlock("image/gif", encoded(t, asGIF, flagPicture(2, 2)))
	}
	if out := drawn(t, term.Canvas{Method: term.Kitty}, 80, blocks...); strings.Count(out, "\x1b_G") != maxPictures || strings.Count(out, "only 8 are") != 4 {
		t.Errorf("of 12 pictures %d were drawn", strings.Count(out, "\x1b_G"))
	}
	for _, st := range []term.Style{{Canvas: term.Canvas{Method: term.Kitty}}, {Terminal: true, Color: true}} {
		var b bytes.Buffer
		if err := Result(&b, st, "tools/call", []byte(tool(imageBlock("image/png", whole)))); err != nil || strings.Contains(b.String(), "\x1b_G") {
			t.Errorf("%+v: %v %q", st, err, b.String())
		}
	}
}

// The output for a picture begins and ends like a picture, whatever the bytes were: a server cannot
// insert an escape.
func FuzzPicture(f *testing.F) {
	var gifData, jpegData, pngData bytes.Buffer
	_ = asGIF(&gifData, flagPicture(5, 5))
	_ = asJPEG(&jpegData, flagPicture(5, 5))
	_ = png.Encode(&pngData, flagPicture(5, 5))
	webpData, _ := base64.StdEncoding.DecodeString(tinyWebP)
	for _, data := range [][]byte{gifData.Bytes(), jpegData.Bytes(), pngData.Bytes(), webpData, []byte("\x1b]52;c;YQ==\x07")} {
		f.Add(data)
	}
	known := regexp.MustCompile(`\x1b_G[a-zA-Z0-9=,]*;[A-Za-z0-9+/=]*\x1b\\|\x1b\]1337;File=[a-zA-Z0-9=;]*:[A-Za-z0-9+/=]*\x07|\x1bP0;1q[ -~]*\x1b\\|\x1b\[[0-9;]*m`)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, by := range []int{term.HalfBlocks, term.Kitty, term.ITerm, term.Sixel} {
			out := drawn(t, term.Canvas{Method: by}, 40, imageBlock("image/png", base64.StdEncoding.EncodeToString(data)))
			if rest := known.ReplaceAllString(out, ""); strings.ContainsAny(rest, "\x1b\x07\u009b") {
				t.Fatalf("%x: %q", data, rest)
			}
		}
	})
}

func TestDuration(t *testing.T) {
	wav := func(format string, size uint32, n int) []byte {
		return []byte("RIFF\x00\x00\x00\x00WAVE" + format + "data" + string([]byte{byte(size), byte(size >> 8), byte(size >> 16), byte(size >> 24)}) + strings.Repeat("x", n))
	}
	// 8000 bytes a second.
	format := "fmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00"
	flac := append([]byte("fLaC\x00\x00\x00\x22"), make([]byte, 34)...)
	copy(flac[18:], "\x0a\xc4\x42\xf0\x00\x01\x58\x88") // 44 100 Hz, 88 200 samples
	for name, c := range map[string]struct {
		mime, want string
		data       []byte
	}{
		"wav":                  {"audio/wav", "1.5 s", wav(format, 12000, 12000)},
		"a chunk before":       {"audio/wav", "1.5 s", wav("LIST\x03\x00\x00\x00abc\x00"+format, 12000, 12000)},
		"a stream":             {"audio/wav", "0.5 s", wav(format, 0xffffffff, 4000)},
		"no format":            {"audio/wav", "", wav("", 12000, 12000)},
		"no bytes a second":    {"audio/wav", "", wav("fmt \x10\x00\x00\x00"+strings.Repeat("\x00", 16), 12000, 12000)},
		"a chunk beyond":       {"audio/wav", "", wav("LIST\xff\xff\xff\xff", 1, 1)},
		"cut":                  {"audio/wav", "", []byte("RIFF\x00\x00")},
		"flac":                 {"audio/flac", "2.0 s", flac},
		"flac without a block": {"audio/flac", "", []byte("fLaC")},
		"mp3":                  {"audio/mpeg", "", []byte("ID3")},
	} {
		if got := duration(c.mime, c.data); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
