package recorded

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"mcpc/internal/capture/bundle"
	"mcpc/internal/capture/har"
	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/compress/packed"
	"mcpc/internal/english"
	"mcpc/internal/shellwords"
	"mcpc/internal/sse"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// Import writes the MCP traffic of an HTTP archive as a capture. It returns a usage error that
// names the file if the archive cannot be read or contains no MCP.
func Import(f *cmdutil.Factory, w io.Writer, r io.Reader, name string) (har.Imported, error) {
	if f.Environ != nil {
		f.Secrets.LearnEnvironment(f.Environ())
	}
	facts, err := har.Import(w, r, f.Version, &f.Secrets)
	var archive *har.ArchiveError
	if err == nil && facts.Entries == 0 {
		text := fmt.Sprintf("%s has no MCP traffic among its %s", name, english.Plural(facts.All(), "request"))
		if omissions := DescribeOmissions(facts); len(omissions) > 0 {
			text += ": " + strings.Join(omissions, ", ")
		}
		hint := wire.Hint("record with the requests' and responses' bodies")
		if facts.WebSockets > 0 {
			hint = "mcpc reads Streamable HTTP, HTTP+SSE and stdio"
		}
		err = usage.New(text, hint)
	} else if errors.As(err, &archive) {
		err = usage.New(name+" is "+archive.Error(), archiveHint(archive, name))
	}
	return facts, err
}

// archiveHint returns a hint how to get a readable archive.
func archiveHint(err *har.ArchiveError, name string) wire.Hint {
	if err.Flows {
		return wire.Hint("mitmproxy writes an archive of it: mitmdump -nr " + shellwords.Quote(name) +
			" --set hardump=FILE.har")
	}
	if err.UTF16 {
		return wire.Hint("PowerShell's > writes UTF-16; this converts it: iconv -f UTF-16 -t UTF-8 " +
			shellwords.Quote(name) + " > FILE")
	}
	if strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".toml") {
		return "an HTTP archive (HAR 1.2) is a recording; " + wire.Run("servers") + " lists the servers of configurations"
	}
	return "an HTTP archive (HAR 1.2) is what the network panel of a browser saves"
}

// DescribeOmissions describes what an archive contains that is not in the capture, and what it
// lacks, with counts.
func DescribeOmissions(facts har.Imported) []string {
	var texts []string
	for _, part := range []struct {
		n    int
		what string
	}{
		{facts.NotMCP, "left out: not MCP"},
		{facts.WebSockets, "left out: a WebSocket, which is not a transport of MCP"},
		{facts.Unreadable, "left out: not readable"},
		{facts.WithoutRequestBody, "without the request's body, which the archive does not have"},
		{facts.WithoutResponseBody, "without the response's body, which the archive does not have"},
		{facts.WithoutTime, "without a readable time"},
	} {
		if part.n > 0 {
			texts = append(texts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	return texts
}

// sniffedBytes is how much of a file is read to find out its format.
const sniffedBytes = 512

// openArchive converts an HTTP archive to a capture. It returns rows.ErrNoCapture for a file that
// is not an archive, unless its name ends in .har or it is UTF-16.
func openArchive(f *cmdutil.Factory, path string, in *os.File) (*rows.Capture, error) {
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	start, _ := bufio.NewReader(io.LimitReader(in, sniffedBytes)).ReadString('{')
	// A file with one of these properties is meant as an archive: an error then says what is wrong.
	isMeantAsArchive := strings.ToLower(filepath.Ext(path)) == ".har" || har.IsUTF16([]byte(start))
	isObject := strings.TrimLeft(strings.TrimPrefix(start, sse.ByteOrderMark), " \t\r\n") == "{"
	if !isMeantAsArchive && !isObject {
		return nil, rows.ErrNoCapture
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	file, err := bundle.Temporary()
	if err != nil {
		return nil, err
	}
	facts, err := Import(f, file, in, cmdutil.ShownFile(path))
	var c *rows.Capture
	if err == nil {
		c, err = rows.OpenFrom(path, file)
	}
	if err != nil {
		file.Close()
		_, isUsage := errors.AsType[usage.Error](err)
		if isUsage && !isMeantAsArchive && facts.All() == 0 {
			err = rows.ErrNoCapture // JSON, but no archive
		}
		return nil, err
	}
	facts.NotMCP = 0 // requests of web pages are no finding
	for _, text := range DescribeOmissions(facts) {
		c.AddFinding(wire.Finding{Rule: "incomplete_archive", Severity: wire.Warning, Text: text})
	}
	return c, nil
}

// streamPrefixes are the first bytes of the formats that openStream reads: JSON, perhaps after
// white space or a byte order mark; a bundle with or without a page; a compressed capture; and
// UTF-16, which has its own error.
var streamPrefixes = []string{
	"{", "\t", "\n", "\r", " ", sse.ByteOrderMark, "<!", "PK", packed.Magic,
	"\xFF\xFE", "\xFE\xFF",
}

// openStream opens a recording that can be read only once, such as stdin. It copies it to a
// temporary file.
func openStream(f *cmdutil.Factory, path string, r io.Reader) (*rows.Capture, error) {
	in := bufio.NewReader(r)
	start, err := in.Peek(len(packed.Magic)) // all prefixes fit in it
	if len(start) == 0 && errors.Is(err, io.EOF) {
		return nil, errEmpty
	}
	if len(start) == 0 {
		return nil, err
	}
	if !beginsWithAny(start, streamPrefixes) { // do not copy a stream that may never end
		return nil, rows.ErrNoCapture
	}
	file, err := bundle.Temporary()
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(file, in)
	if err == nil && string(start) == packed.Magic {
		file, err = decompress(file)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	c, err := rows.OpenFrom(path, file)
	if err == nil {
		return c, nil // the capture owns the file
	}
	defer file.Close()
	if errors.Is(err, rows.ErrNoCapture) {
		return openBundleOrArchive(f, path, file)
	}
	return nil, err
}

// beginsWithAny reports whether text begins with any of the prefixes.
func beginsWithAny(text []byte, prefixes []string) bool {
	for _, prefix := range prefixes {
		if bytes.HasPrefix(text, []byte(prefix)) {
			return true
		}
	}
	return false
}

// decompress decompresses a file to a new temporary file and closes the compressed one. With an
// error it returns the file that the caller has to close: the compressed or the new one.
func decompress(file *os.File) (*os.File, error) {
	size, err := file.Seek(0, io.SeekCurrent) // the file has just been written
	if err != nil {
		return file, err
	}
	text, err := packed.Open(file, size)
	if err != nil {
		return file, err
	}
	plain, err := bundle.Temporary()
	if err != nil {
		return file, err
	}
	_, err = io.Copy(plain, io.NewSectionReader(text, 0, text.Size()))
	file.Close()
	return plain, err
}

// IsRecording reports whether a stream begins like a capture, a bundle or an HTTP archive. It
// consumes nothing.
func IsRecording(in *bufio.Reader) bool {
	start, _ := in.Peek(sniffedBytes)
	start = bytes.TrimPrefix(start, []byte(sse.ByteOrderMark))
	if object, isObject := bytes.CutPrefix(bytes.TrimLeft(start, " \t\r\n"), []byte("{")); isObject {
		return beginsWithAny(bytes.TrimLeft(object, " \t\r\n"), []string{`"mcpc-traffic"`, `"log"`})
	}
	return beginsWithAny(start, []string{"<!", "PK", packed.Magic})
}
