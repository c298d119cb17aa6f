package render

import (
	"bytes"
	"encoding/base64"
	"errors"

	"mcpc/internal/jsonraw"
	"mcpc/internal/spool"
)

// decode returns the bytes of a mediaBlock. It decodes a long one into a temporary file, once.
func (b *block) decode() ([]byte, error) {
	if b.quoted == nil {
		return decodeBase64(b.data)
	}
	text := b.quoted[1:] // the address of the text; spool finds the bytes decoded before by it
	if data, ok := spool.Annotation(text).([]byte); ok {
		return data, nil
	}
	data, err := decodeLong(b.quoted)
	if err != nil { // decodeBase64 accepts more, and its error has the position
		return decodeBase64(b.wholeText())
	}
	spool.Annotate(text, data)
	return data, nil
}

// decodeLong decodes a JSON string of base64 in pieces. It accepts fewer variants than
// decodeBase64.
func decodeLong(quoted []byte) ([]byte, error) {
	out := spool.NewBeside(quoted, int64(len(quoted))/4*3)
	d := base64Decoder{out: out}
	for piece := range jsonraw.Unescaped(quoted) {
		d.add(piece)
	}
	d.decode(len(d.undecoded)) // the last group can have fewer than four characters
	data, err := out.Bytes()
	err = errors.Join(d.err, err)
	if err != nil {
		out.Close()
		return nil, err
	}
	return data, nil
}

// A base64Decoder decodes base64 text in pieces.
type base64Decoder struct {
	out *spool.Buffer
	// undecoded has the characters that are not decoded yet, fewer than four between two calls of add.
	undecoded []byte
	// buffer has the bytes decoded last; it is reused.
	buffer []byte
	// hasPadding is true after the first "=".
	hasPadding bool
	err        error
}

// base64Alphabet maps each byte to the standard alphabet, also from the URL alphabet. A line end
// maps to 0 and is skipped. Any other byte maps to itself, and decoding it fails.
var base64Alphabet = func() (to [256]byte) {
	for c := range to {
		to[c] = byte(c)
	}
	to['-'] = '+'
	to['_'] = '/'
	to['\r'] = 0
	to['\n'] = 0
	to[0] = '!' // a NUL in the text is invalid; 0 is taken for the line ends
	return to
}()

var errPadding = errors.New("text after the padding")

// add decodes a piece of the text, except up to three characters at its end. It sets d.err if text
// follows the padding.
func (d *base64Decoder) add(piece []byte) {
	if padding := bytes.IndexByte(piece, '='); padding >= 0 && !d.hasPadding {
		d.add(piece[:padding])
		d.hasPadding = true
		piece = piece[padding:]
	}
	if d.hasPadding {
		if len(bytes.Trim(piece, "=")) > 0 {
			d.err = errPadding
		}
		return
	}
	for _, c := range piece {
		c = base64Alphabet[c]
		if c != 0 {
			d.undecoded = append(d.undecoded, c)
		}
	}
	d.decode(len(d.undecoded) / 4 * 4)
}

// decode decodes the first n undecoded characters, writes the bytes and removes the characters. It does
// not decode after an error.
func (d *base64Decoder) decode(n int) {
	if d.err == nil {
		d.buffer, d.err = base64.RawStdEncoding.AppendDecode(d.buffer[:0], d.undecoded[:n])
		if d.err == nil {
			_, d.err = d.out.Write(d.buffer)
		}
	}
	d.undecoded = d.undecoded[:copy(d.undecoded, d.undecoded[n:])]
}
