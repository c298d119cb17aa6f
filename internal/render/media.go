package render

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/render/term"
)

// describeMedia describes a block's bytes: the declared type, the type found if it differs, the
// pixels of an image or the seconds of a sound, the length. It reads only the header of an image.
func describeMedia(b block) string {
	data, err := b.decode()
	if err != nil {
		return fmt.Sprintf("%s, %v", mediaName(b), err)
	}
	if len(data) == 0 {
		return mediaName(b) + ", empty"
	}
	found := mcp.SniffMedia(data)
	parts := []string{mediaName(b)}
	if mismatch := describeMismatch(b.mime, found); mismatch != "" {
		parts = append(parts, mismatch)
	}
	if size := describeSize(found, data); size != "" {
		parts = append(parts, size)
	}
	parts = append(parts, term.Size(len(data)))
	if b.isDataURL() {
		parts = append(parts, "sent as a data: URL")
	}
	return strings.Join(parts, ", ")
}

func mediaName(b block) string {
	if b.mime != "" {
		return b.mime
	}
	if b.name == "resource" {
		return "bytes of no declared type"
	}
	return b.name + " of no declared type"
}

// isDataURL reports whether the block's data is a data: URL (RFC 2397) with base64 text.
func (b *block) isDataURL() bool {
	text := b.data
	if b.quoted != nil {
		text = string(b.quoted[1:min(len(b.quoted), maxDataURLHead)])
	}
	_, ok := inDataURL(text)
	return ok
}

// maxDataURLHead is the longest media type of a data: URL, in bytes.
const maxDataURLHead = 200

// inDataURL returns the base64 text in a data: URL; or reports false. It looks for the comma only
// where a media type can end, because other texts can be long.
func inDataURL(text string) (data string, ok bool) {
	head, data, ok := strings.Cut(text[:min(len(text), maxDataURLHead)], ",")
	head = strings.ToLower(head)
	if !ok || !strings.HasPrefix(head, "data:") || !strings.HasSuffix(head, ";base64") {
		return "", false
	}
	return data + text[min(len(text), maxDataURLHead):], true
}

// decodeBase64 decodes the standard alphabet with padding, as the specification requires, and
// variants that real servers send: no padding, the URL alphabet, a data: URL.
func decodeBase64(text string) ([]byte, error) {
	if inner, ok := inDataURL(text); ok {
		text = inner
	}
	for _, scheme := range []string{"https://", "http://"} {
		if strings.HasPrefix(text, scheme) {
			excerpt := jsonraw.Excerpt([]byte(text), 200)
			return nil, fmt.Errorf("a URL in place of the data, which is not fetched: %s", excerpt)
		}
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err == nil {
		return data, nil
	}
	// err keeps the error of the standard alphabet, because it has the position.
	unpadded := strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(text), "=")
	if data, e := base64.RawStdEncoding.DecodeString(unpadded); e == nil {
		return data, nil
	}
	var position base64.CorruptInputError
	if errors.As(err, &position) {
		return nil, fmt.Errorf("invalid base64 at character %d of %d", int64(position), len(text))
	}
	return nil, errors.New("invalid base64")
}

// describeMismatch says how the bytes differ from their declared type, or returns "". found is the type
// that their signature shows, or "". It ignores types without a signature, and archives: a .docx is a
// zip, too.
func describeMismatch(mime, found string) string {
	declared, _, _ := strings.Cut(strings.ToLower(mime), ";")
	declared = mcp.CanonicalMedia(strings.TrimSpace(declared))
	if declared == found || found == "application/zip" || found == "application/gzip" {
		return ""
	}
	if found == "" && isSniffable(declared) {
		return "but the bytes are something else"
	}
	if found != "" && declared == "" {
		return "the bytes are " + found
	}
	if found != "" && isSniffable(declared) {
		return "but the bytes are " + found
	}
	return ""
}

// isSniffable reports whether bytes of a media type always begin with its signature. MPEG audio
// may begin with other frames, and Ogg holds video.
func isSniffable(mime string) bool {
	return mcp.HasSignature(mime) && mime != "audio/mpeg" && mime != "audio/ogg"
}

// describeSize returns the pixels of an image or the seconds of a sound, or "" if its header does not
// have them.
func describeSize(mime string, data []byte) string {
	if strings.HasPrefix(mime, "audio/") {
		return duration(mime, data)
	}
	if !term.CanDraw(mime) {
		return ""
	}
	size, err := term.PictureSize(mime, data)
	if err != nil {
		return "damaged header"
	}
	return fmt.Sprintf("%dx%d", size.X, size.Y)
}

// duration returns the length of a WAV or FLAC sound in seconds, or "" if its header does not have
// it.
func duration(mime string, data []byte) string {
	seconds := 0.0
	switch mime {
	case "audio/wav":
		seconds = wavSeconds(data)
	case "audio/flac":
		// After the mark fLaC and four bytes of a block's head, the first block must be STREAMINFO (type 0).
		// From byte 18 it has the rate in 20 bits, eight other bits, and the number of samples in 36.
		isStreamInfo := len(data) >= 26 && data[4]&0x7f == 0
		if isStreamInfo {
			rate := binary.BigEndian.Uint32(data[18:]) >> 12
			samples := uint64(data[21]&0x0f)<<32 | uint64(binary.BigEndian.Uint32(data[22:]))
			seconds = float64(samples) / float64(max(rate, 1))
		}
	}
	if seconds <= 0 || seconds > 1e6 {
		return ""
	}
	return fmt.Sprintf("%.1f s", seconds)
}

// wavSeconds divides the length of the data chunk by the bytes a second in the fmt chunk. It
// returns 0 if either is missing. The chunks begin after the 12 bytes of the RIFF header.
func wavSeconds(data []byte) float64 {
	perSecond := uint32(0)
	for rest := data[min(12, len(data)):]; len(rest) >= 8; {
		name := string(rest[:4])
		size := binary.LittleEndian.Uint32(rest[4:])
		rest = rest[8:]
		if name == "fmt " && len(rest) >= 12 {
			perSecond = binary.LittleEndian.Uint32(rest[8:])
		} else if name == "data" && perSecond > 0 {
			// A stream of unknown length declares the greatest size: the received bytes count.
			return float64(min(uint64(size), uint64(len(rest)))) / float64(perSecond)
		}
		padded := uint64(size) + uint64(size&1) // a chunk of odd length has one byte of padding
		if padded > uint64(len(rest)) {
			break
		}
		rest = rest[padded:]
	}
	return 0
}

// maxPictures is how many pictures of one result are drawn.
const maxPictures = 8

// HasPictures reports whether a result has an image that mcpc can draw.
func HasPictures(method string, result []byte) bool {
	for _, b := range resultBlocks(method, result) {
		if b.kind != mediaBlock {
			continue
		}
		if data, err := b.decode(); err == nil && term.CanDraw(mcp.SniffMedia(data)) {
			return true
		}
	}
	return false
}

// drawPicture draws an image below its line. mcpc decodes and encodes the image again, so that no byte
// of a server reaches the image decoders of a terminal.
func (p *resultWriter) drawPicture(b block) {
	if p.err != nil || p.st.Canvas.Method == term.NoPictures || !p.st.Pretty() {
		return
	}
	data, err := b.decode()
	mime := mcp.SniffMedia(data)
	if err != nil || !term.CanDraw(mime) {
		return // writeMedia has written what is wrong
	}
	p.pictureCount++
	if p.pictureCount > maxPictures {
		p.writeNote(fmt.Sprintf("(not drawn: only %d are)", maxPictures))
		return
	}
	drawing, err := term.DrawPicture(p.st, mime, data)
	if err != nil {
		p.writeNote("(not drawn: " + p.cutLine(err.Error()) + ")")
		return
	}
	_, p.err = p.w.Write(drawing)
}
