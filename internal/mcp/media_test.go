package mcp

import "testing"

func TestSniffMedia(t *testing.T) {
	for data, want := range map[string]string{
		"\x89PNG\r\n\x1a\nrest": "image/png", "\x89PNG": "", "\xff\xd8\xff\xe0": "image/jpeg", "GIF89a": "image/gif",
		"RIFF\x00\x00\x00\x00WEBPVP8 ": "image/webp", "RIFF\x00\x00\x00\x00WAVEfmt ": "audio/wav",
		"RIFF\x00\x00\x00\x00AVI ": "", "RIFF": "",
		"BM6": "image/bmp", "ID3\x03": "audio/mpeg", "\xff\xfb\x90": "audio/mpeg", "OggS": "audio/ogg", "fLaC": "audio/flac",
		"%PDF-1.7": "application/pdf", "PK\x03\x04": "application/zip", "\x1f\x8b\x08": "application/gzip",
		"text": "", "": "",
	} {
		if got := SniffMedia([]byte(data)); got != want {
			t.Errorf("%q: got %q, want %q", data, got, want)
		}
		if want != "" && !HasSignature(want) {
			t.Errorf("%s has no signature", want)
		}
	}
}

func TestCanonicalMedia(t *testing.T) {
	for mime, want := range map[string]string{
		"image/jpg": "image/jpeg", "audio/x-wav": "audio/wav", "image/png": "image/png", "x/y": "x/y", "": "",
	} {
		if got := CanonicalMedia(mime); got != want {
			t.Errorf("%q: got %q, want %q", mime, got, want)
		}
	}
}
