package bundle

import (
	"archive/zip"
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"mcpc/internal/capture/rows"
)

// The names of the members, in their order in the file.
const (
	ManifestName = "MANIFEST.json"
	CaptureName  = "capture.jsonl"
	ToolsName    = "tools.json"
	ReportName   = "REPORT.md"
	NotesName    = "notes.md"
	PageName     = "index.html"
)

// formatVersion is the version of the bundle format. A reader refuses a higher one.
const formatVersion = 1

// The limits for reading a bundle: the number of members, the bytes of the capture, and the bytes
// per byte of the archive from minRatioBytes on.
const (
	maxMembers       = 64
	maxCaptureBytes  = 2 << 30
	maxRatio         = 200
	minRatioBytes    = 64 << 20
	maxManifestBytes = 4 << 20
	// maxDirectoryBytes limits the bytes of the directory. Each member takes memory, and the number of
	// members in the archive may be wrong.
	maxDirectoryBytes = 1 << 20
)

// ErrNoBundle is the error for a file that is no bundle.
var ErrNoBundle = errors.New("not a bundle")

// An Error says why a bundle cannot be opened, and what the user can do. Changed is the member that
// was changed after the bundle was written, which can still be unpacked; "" if no member was.
type Error struct{ Text, Hint, Changed string }

func (e *Error) Error() string { return e.Text }

// Open opens the capture in a bundle. It returns errors of the file and of rows.Open, ErrNoBundle
// and *Error. The capture is unpacked to a file without a name.
func Open(path string) (*rows.Capture, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return OpenFrom(path, f)
}

// OpenFrom opens a capture as Open does, from an open file, which the caller closes. path is its
// name in errors and in the capture.
func OpenFrom(path string, f *os.File) (*rows.Capture, error) {
	a := &archive{File: f}
	if err := a.readDirectory(); err != nil {
		return nil, err
	}
	m, err := a.readManifest()
	if err != nil {
		return nil, err
	}
	file, err := a.findMember(CaptureName)
	if err != nil {
		return nil, err
	}
	lines, sum, err := unpack(file)
	if err != nil {
		return nil, err
	}
	if want := m.Members[CaptureName].SHA256; sum != want {
		lines.Close()
		return nil, &Error{
			Text:    CaptureName + " was changed after the bundle was written: its sha256 is not the one in " + ManifestName,
			Changed: CaptureName,
		}
	}
	c, err := rows.OpenFrom(path, lines)
	if err != nil {
		lines.Close()
		return nil, err
	}
	return c, nil
}

// An archive is an open bundle.
type archive struct {
	*os.File
	zip *zip.Reader
}

// openArchive opens a file as a zip archive with few members.
func openArchive(path string) (*archive, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	a := &archive{File: f}
	err = a.readDirectory()
	if err != nil {
		f.Close()
		return nil, err
	}
	return a, nil
}

// pagePrefix is the start of a bundle with a page, zipPrefix the start of an archive without a
// page.
const (
	pagePrefix = "<!DOCTYPE html><!-- mcpc bundle "
	zipPrefix  = "PK\x03\x04"
)

// readDirectory reads the directory of the archive. It returns ErrNoBundle for a file that is no bundle,
// and an *Error for a damaged bundle.
func (a *archive) readDirectory() error {
	info, err := a.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return ErrNoBundle
	}
	begin := make([]byte, len(pagePrefix))
	n, _ := a.ReadAt(begin, 0)
	looksBundled := bytes.HasPrefix(begin[:n], []byte(pagePrefix)) || bytes.HasPrefix(begin[:n], []byte(zipPrefix))
	members, hasDirectory := countMembers(a.File, info.Size())
	if !looksBundled && (!hasDirectory || members > maxMembers) {
		return ErrNoBundle
	}
	if !hasDirectory {
		return &Error{
			Text: "the bundle is incomplete: the directory at its end is missing",
			Hint: "get the complete file again",
		}
	}
	if members > maxMembers {
		return &Error{Text: fmt.Sprintf("the archive has more than %d members, which no bundle has", maxMembers)}
	}
	in := &limitedReaderAt{a.File, maxDirectoryBytes}
	a.zip, err = zip.NewReader(in, info.Size())
	if err != nil && !looksBundled {
		return ErrNoBundle
	}
	if err != nil {
		return &Error{Text: "the bundle is damaged: " + err.Error(), Hint: "get the complete file again"}
	}
	in.left = math.MaxInt64
	for _, f := range a.zip.File { // which may also say it wrong
		f.CompressedSize64 = min(f.CompressedSize64, uint64(info.Size()))
	}
	return nil
}

// A limitedReaderAt returns an error after left bytes were read.
type limitedReaderAt struct {
	io.ReaderAt
	left int64
}

var errDirectory = errors.New("the directory at its end is too large")

func (r *limitedReaderAt) ReadAt(b []byte, at int64) (int, error) {
	r.left -= int64(len(b))
	if r.left < 0 {
		return 0, errDirectory
	}
	return r.ReaderAt.ReadAt(b, at)
}

// countMembers returns how many members the directory at the end of the archive claims, and whether
// there is a directory. It is checked before the directory is read, because each member takes
// memory.
func countMembers(f io.ReaderAt, size int64) (int, bool) {
	const endLength, longestComment = 22, 1<<16 - 1
	tail := make([]byte, min(size, endLength+longestComment))
	if _, err := f.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return 0, false
	}
	offset := bytes.LastIndex(tail, []byte("PK\x05\x06"))
	if offset < 0 || offset+endLength > len(tail) {
		return 0, false
	}
	return int(binary.LittleEndian.Uint16(tail[offset+10:])), true
}

// findMember returns the only member with a name.
func (a *archive) findMember(name string) (*zip.File, error) {
	var found *zip.File
	for _, f := range a.zip.File {
		if f.Name == name && found != nil {
			return nil, &Error{Text: "the bundle has two members " + name}
		} else if f.Name == name {
			found = f
		}
	}
	if found == nil {
		return nil, &Error{Text: "the archive has no " + name + ": it is not a bundle, or only a part of one"}
	}
	return found, nil
}

// readManifest reads the manifest. A manifest of a later version is an *Error.
func (a *archive) readManifest() (m Manifest, err error) {
	file, err := a.findMember(ManifestName)
	if err != nil {
		return m, err
	}
	r, err := file.Open()
	if err != nil {
		return m, damagedError(ManifestName, err)
	}
	defer r.Close()
	raw, err := io.ReadAll(io.LimitReader(r, maxManifestBytes))
	if err != nil {
		return m, damagedError(ManifestName, err)
	}
	err = json.Unmarshal(raw, &m)
	if m.Version > formatVersion { // perhaps in a form that does not fit m
		return m, &Error{
			Text: fmt.Sprintf("the bundle is of version %d; this mcpc reads version %d", m.Version, formatVersion),
			Hint: "use a newer mcpc",
		}
	}
	if err != nil {
		return m, damagedError(ManifestName, err)
	}
	if m.Version < 1 {
		return m, &Error{Text: ManifestName + " is not that of a bundle: it has no \"mcpc-bundle\""}
	}
	return m, nil
}

// damagedError returns the error for a member that cannot be read.
func damagedError(name string, err error) error {
	return &Error{Text: "the bundle is damaged: " + name + ": " + err.Error(), Hint: "get the complete file again"}
}

// checkSize returns an *Error for a member that would fill the disk.
func checkSize(name string, size, packed uint64) error {
	if size > maxCaptureBytes {
		return &Error{
			Text: fmt.Sprintf("%s is larger than %d GiB", name, maxCaptureBytes>>30),
			Hint: "a filter exports fewer exchanges",
		}
	}
	if size > minRatioBytes && size/max(packed, 1) > maxRatio {
		return &Error{
			Text: fmt.Sprintf("%s grows to more than %d times its size when it is unpacked", name, maxRatio),
			Hint: "a filter exports fewer exchanges",
		}
	}
	return nil
}

// unpack writes a member to a file without a name, and returns the file and its sha256 in
// hexadecimal.
func unpack(file *zip.File) (_ *os.File, sum string, err error) {
	if err := checkSize(file.Name, file.UncompressedSize64, file.CompressedSize64); err != nil {
		return nil, "", err
	}
	r, err := file.Open()
	if err != nil {
		return nil, "", damagedError(file.Name, err)
	}
	defer r.Close()
	f, err := Temporary()
	if err != nil {
		return nil, "", err
	}
	hash := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, hash), memberReader{r, file.Name})
	if err != nil {
		f.Close()
		return nil, "", err
	}
	return f, hex.EncodeToString(hash.Sum(nil)), nil
}

// A memberReader marks errors of reading a member, to distinguish them from errors of writing it
// elsewhere.
type memberReader struct {
	io.Reader
	name string
}

func (r memberReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = damagedError(r.name, err)
	}
	return n, err
}

// Temporary creates a file without a name, which is deleted when it is closed.
func Temporary() (*os.File, error) {
	name := filepath.Join(os.TempDir(), "mcpc-"+rand.Text())
	flags := os.O_RDWR | os.O_CREATE | os.O_EXCL
	if runtime.GOOS == "windows" { // where an open file keeps its name
		flags |= deleteOnClose
	}
	f, err := os.OpenFile(name, flags, 0o600)
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" {
		err = os.Remove(name)
	}
	return f, err
}

// deleteOnClose is FILE_FLAG_DELETE_ON_CLOSE.
const deleteOnClose = 0x04000000

// EachMember calls look for each member of a bundle, and before that for the page in front of the
// archive, under the name of the page's member. It removes the script and the style of a page,
// which have no data. It returns the errors of Open and of look.
func EachMember(path string, look func(name string, r io.Reader) error) error {
	a, err := openArchive(path)
	if err != nil {
		return err
	}
	defer a.Close()
	if _, err := a.readManifest(); err != nil {
		return err
	}
	before := int64(math.MaxInt64)
	for _, f := range a.zip.File {
		at, err := f.DataOffset()
		if err != nil {
			return damagedError(f.Name, err)
		}
		before = min(before, at)
	}
	if err := passMember(PageName, io.NewSectionReader(a, 0, before), look); err != nil {
		return err
	}
	for _, f := range a.zip.File {
		if err := checkSize(f.Name, f.UncompressedSize64, f.CompressedSize64); err != nil {
			return err
		}
		r, err := f.Open()
		if err != nil {
			return damagedError(f.Name, err)
		}
		err = passMember(f.Name, memberReader{r, f.Name}, look)
		r.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// maxPageBytes limits the bytes of a page.
const maxPageBytes = 256 << 20

// passMember calls look with a member, without the script and the style of a page.
func passMember(name string, r io.Reader, look func(name string, r io.Reader) error) error {
	if name == PageName {
		page, err := io.ReadAll(io.LimitReader(r, maxPageBytes))
		if err != nil {
			return err
		}
		page = withoutElement(withoutElement(page, "style"), "script")
		r = bytes.NewReader(page)
	}
	return look(name, r)
}

// withoutElement removes the content of the first element with a name, if it has no attributes. It
// keeps the line feeds, so that lines keep their numbers.
func withoutElement(page []byte, name string) []byte {
	before, rest, _ := bytes.Cut(page, []byte("<"+name+">"))
	content, after, found := bytes.Cut(rest, []byte("</"+name+">"))
	if !found {
		return page
	}
	return slices.Concat(before, bytes.Repeat([]byte("\n"), bytes.Count(content, []byte("\n"))), after)
}
