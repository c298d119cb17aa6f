package bundle

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"math"
	"os"
	"time"
)

// A Content has the parts of a bundle. Its secrets are already hidden: Write does not hide them.
type Content struct {
	// Manifest has all but its version and members, which Write adds.
	Manifest Manifest
	// Capture has the lines of the capture.
	Capture *os.File
	// Modified is when the recording ended, the time of each member.
	Modified time.Time
	// Tools is JSON, Report and Notes are Markdown; Notes may be empty, and is no member then.
	Tools, Report, Notes []byte
	// Data is the JSON that the page shows, with one script and one style.
	Data          []byte
	Script, Style string
}

// A part is a member to be written.
type part struct {
	name string
	open func() io.Reader
}

// Write writes a bundle: the page, then the archive, which has the page as a member again. The same
// content gives the same bytes. Write returns an *Error for a member that Open would refuse.
func Write(w io.Writer, c Content) error {
	page := buildPage(c)
	parts := []part{
		{CaptureName, func() io.Reader { return io.NewSectionReader(c.Capture, 0, math.MaxInt64) }},
		{ToolsName, readerOf(c.Tools)},
		{ReportName, readerOf(c.Report)},
	}
	if len(c.Notes) > 0 {
		parts = append(parts, part{NotesName, readerOf(c.Notes)})
	}
	parts = append(parts, part{PageName, readerOf(page...)})
	m := c.Manifest
	m.Version = formatVersion
	m.Members = map[string]Member{}
	for _, p := range parts {
		hash := sha256.New()
		n, err := io.Copy(hash, p.open())
		if err != nil {
			return err
		}
		m.Members[p.name] = Member{hex.EncodeToString(hash.Sum(nil)), n}
	}
	manifest, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	pageAndEnd := append(page, []byte(pageEnd))
	pageLength, err := io.Copy(w, readerOf(pageAndEnd...)())
	if err != nil {
		return err
	}
	parts = append([]part{{ManifestName, readerOf(manifest, []byte("\n"))}}, parts...)
	return writeArchive(w, pageLength, c.Modified.UTC(), parts)
}

// readerOf returns a function that opens a reader of texts, one after the other.
func readerOf(texts ...[]byte) func() io.Reader {
	return func() io.Reader {
		all := make([]io.Reader, len(texts))
		for i, text := range texts {
			all[i] = bytes.NewReader(text)
		}
		return io.MultiReader(all...)
	}
}

// writeArchive writes the members, all with the same time. The page before the archive has pageLength
// bytes: offsets in the archive's directory count from the beginning of the file. It returns an
// *Error for a member that Open would refuse.
func writeArchive(w io.Writer, pageLength int64, modified time.Time, parts []part) error {
	z := zip.NewWriter(w)
	z.SetOffset(pageLength)
	heads := make([]*zip.FileHeader, len(parts))
	for i, p := range parts {
		heads[i] = &zip.FileHeader{Name: p.name, Method: zip.Deflate, Modified: modified}
		member, err := z.CreateHeader(heads[i])
		if err != nil {
			return err
		}
		if _, err := io.Copy(member, p.open()); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	for _, h := range heads {
		if err := checkSize(h.Name, h.UncompressedSize64, h.CompressedSize64); err != nil {
			return err
		}
	}
	return nil
}
