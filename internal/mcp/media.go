package mcp

import "bytes"

// signatures are the bytes at the offsets 0 and 8 of the types that tools send.
var signatures = []struct{ mime, at0, at8 string }{
	{"image/png", "\x89PNG\r\n\x1a\n", ""},
	{"image/jpeg", "\xff\xd8\xff", ""},
	{"image/gif", "GIF8", ""},
	{"image/webp", "RIFF", "WEBP"},
	{"audio/wav", "RIFF", "WAVE"},
	{"image/bmp", "BM", ""},
	{"audio/mpeg", "ID3", ""},
	{"audio/mpeg", "\xff\xfb", ""},
	{"audio/ogg", "OggS", ""},
	{"audio/flac", "fLaC", ""},
	{"application/pdf", "%PDF-", ""},
	{"application/zip", "PK\x03\x04", ""},
	{"application/gzip", "\x1f\x8b", ""},
}

// SniffMedia returns the media type of data by its first bytes; "" if it is unknown.
func SniffMedia(data []byte) string {
	for _, s := range signatures {
		if bytes.HasPrefix(data, []byte(s.at0)) && (s.at8 == "" || len(data) >= 12 && string(data[8:12]) == s.at8) {
			return s.mime
		}
	}
	return ""
}

// synonyms are other names of the types with a signature.
var synonyms = map[string]string{
	"image/jpg": "image/jpeg", "image/x-png": "image/png", "audio/mp3": "audio/mpeg",
	"audio/x-wav": "audio/wav", "audio/wave": "audio/wav", "audio/vnd.wave": "audio/wav",
	"audio/x-flac": "audio/flac", "application/x-gzip": "application/gzip",
	"application/x-zip-compressed": "application/zip",
}

// CanonicalMedia returns the registered name of a media type that has a signature and is often
// called otherwise, as image/jpg is; any other type is returned unchanged.
func CanonicalMedia(mime string) string {
	if registered, ok := synonyms[mime]; ok {
		return registered
	}
	return mime
}

// HasSignature reports whether SniffMedia recognizes data of the media type.
func HasSignature(mime string) bool {
	for _, s := range signatures {
		if s.mime == mime {
			return true
		}
	}
	return false
}
