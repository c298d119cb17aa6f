// Package skill reads the skills that a server lists (extension io.modelcontextprotocol/skills,
// SEP-2640) and verifies their files. It does no I/O.
//
// Entries come from a server: no part of an entry is used as a path, a command or a permission
// before it is checked.
package skill

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"mcpc/internal/jsonraw"
	"mcpc/internal/yaml"
)

// Extension is the id of the extension.
const Extension = "io.modelcontextprotocol/skills"

// The limits of a skill that a client must support. mcpc refuses larger skills.
const (
	MostFiles = 512
	MostBytes = 16 << 20
)

// An Entry is an entry of the result of skills/list, or the skill of the result of skills/get.
type Entry struct {
	Raw json.RawMessage
	// URI is the URI of SKILL.md, Root the URI of its folder, without a slash at the end.
	URI, Root         string
	Name, Description string
	// Front is the front matter as the server parsed it.
	Front json.RawMessage
	// Files are the files with their sizes; nil if the skill is Dynamic: its files are not listed.
	Files   []File
	Dynamic bool
}

// A File is a file as an entry lists it. Size is in bytes; Digest begins with "sha256:".
type File struct {
	URI, Digest string
	Size        int64
}

// mainFile is the end of the URI of the file with the instructions.
const mainFile = "/SKILL.md"

var (
	namePattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$`)
	})
	digestPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^sha256:[0-9a-f]{64}$`) })
)

// Parse parses an entry. The error says which rule the entry breaks; the returned Entry then has
// the members that were read before.
func Parse(raw json.RawMessage) (Entry, error) {
	members, bad := jsonraw.Object(raw)
	if bad != nil {
		return Entry{Raw: raw}, errors.New("the entry is not an object")
	}
	e := Entry{Raw: raw, URI: members.Text("uri"), Front: members.Value("frontmatter")}
	front, bad := jsonraw.Object(e.Front)
	e.Name, e.Description = front.Text("name"), front.Text("description")
	root, isMain := strings.CutSuffix(e.URI, mainFile)
	e.Root = root
	if !isMain || !strings.Contains(root, "://") || hasForbiddenRune(e.URI) {
		return e, errors.New("its uri is not that of a SKILL.md")
	}
	if bad != nil {
		return e, errors.New("its frontmatter is not an object")
	}
	if !namePattern().MatchString(e.Name) || strings.Contains(e.Name, "--") {
		return e, errors.New("its name is not 1 to 64 of a-z, 0-9 and single hyphens")
	}
	if root[strings.LastIndexByte(root, '/')+1:] != e.Name {
		return e, fmt.Errorf("its name %s differs from the folder in its uri", e.Name)
	}
	if e.Description == "" {
		return e, errors.New("it has no description")
	}
	if kind, ok := jsonraw.Text(members.Value("resources")); ok && kind == "dynamic" {
		e.Dynamic = true
		return e, nil
	}
	files, bad := jsonraw.Array(members.Value("resources"))
	if bad != nil || members.Value("resources") == nil {
		return e, errors.New(`its resources are neither a list of files nor "dynamic"`)
	}
	return e, e.readFiles(files)
}

// readFiles appends the listed files to e.Files. It stops at the first file that breaks a rule.
func (e *Entry) readFiles(files []json.RawMessage) error {
	total := int64(0)
	for _, raw := range files {
		f := File{}
		members, _ := jsonraw.Object(raw)
		f.URI, f.Digest = members.Text("uri"), members.Text("digest")
		size, err := strconv.ParseInt(string(members.Value("size")), 10, 64)
		f.Size = size
		if !strings.HasPrefix(f.URI, e.Root+"/") || hasForbiddenRune(f.URI) {
			return fmt.Errorf("it lists %s, which is not in its folder", f.URI)
		}
		if err != nil || size < 0 {
			return fmt.Errorf("the size of %s is not a number of bytes", f.URI)
		}
		if !digestPattern().MatchString(f.Digest) {
			return fmt.Errorf("the digest of %s is not sha256: and 64 digits of 0-9 a-f", f.URI)
		}
		if _, twice := e.File(f.URI); twice {
			return fmt.Errorf("it lists %s twice", f.URI)
		}
		total += min(size, MostBytes+1) // cannot overflow
		if len(e.Files) == MostFiles || total > MostBytes {
			return fmt.Errorf("it has more than %d files or %d MiB", MostFiles, MostBytes>>20)
		}
		e.Files = append(e.Files, f)
	}
	if _, there := e.File(e.URI); !there {
		return errors.New("its list of files has no SKILL.md")
	}
	return nil
}

// hasForbiddenRune reports whether a URI has a character that URIs must not have: a space, a
// control character or an invisible character.
func hasForbiddenRune(uri string) bool {
	return strings.ContainsFunc(uri, func(r rune) bool { return r <= ' ' || r == 0x7f || !unicode.IsPrint(r) })
}

// File returns the listed file with this URI, and whether the entry lists it.
func (e *Entry) File(uri string) (File, bool) {
	i := slices.IndexFunc(e.Files, func(f File) bool { return f.URI == uri })
	if i < 0 {
		return File{}, false
	}
	return e.Files[i], true
}

// Inner returns the URIs of the skills in the folder of this skill that its entry lists.
func (e *Entry) Inner() []string {
	var uris []string
	for _, f := range e.Files {
		if f.URI != e.URI && strings.HasSuffix(f.URI, mainFile) {
			uris = append(uris, f.URI)
		}
	}
	return uris
}

// Resolve returns the URI of a file of the skill. name is a path relative to the folder of the
// skill, as in the links of its files, or a URI; "" is SKILL.md. It fails for a file outside of the
// folder, and for a file that is not listed, unless the skill is Dynamic.
func (e *Entry) Resolve(name string) (uri string, err error) {
	uri = name
	if name == "" {
		uri = e.URI
	} else if !strings.Contains(name, "://") {
		clean := path.Clean(name)
		if path.IsAbs(name) || clean == ".." || strings.HasPrefix(clean, "../") {
			return "", fmt.Errorf("%s is outside of the skill's folder", name)
		}
		uri = e.Root + "/" + clean
	}
	if _, listed := e.File(uri); listed {
		return uri, nil
	}
	if !strings.HasPrefix(uri, e.Root+"/") {
		return "", fmt.Errorf("%s is not a file of the skill %s", uri, e.Name)
	}
	if !e.Dynamic {
		return "", fmt.Errorf("%s is not among the files that the skill lists", uri)
	}
	_, err = e.Path(uri)
	return uri, err
}

// A Mismatch is the error of a file that differs from its entry. The content must not be used.
type Mismatch struct {
	URI string
	// What is the property that differs: "name" of a file that is not listed, "size", "digest" or
	// "front matter". Got is the value of the file. Want is the value of the entry, or for a "name" the
	// words that complete the sentence of Error.
	What, Got, Want string
}

func (m *Mismatch) Error() string {
	return fmt.Sprintf("%s: the %s is %s, and the skill's entry says %s", m.URI, m.What, m.Got, m.Want)
}

// Verify compares the content of a file with the entry: the size, then the digest, then, for
// SKILL.md, the front matter. A file of a Dynamic skill needs no listed size and digest. The error
// is a [*Mismatch].
func (e *Entry) Verify(uri string, content []byte) error {
	f, listed := e.File(uri)
	got := Digest(content)
	if !listed && !e.Dynamic {
		return &Mismatch{URI: uri, What: "name", Got: "not listed", Want: "which files there are"}
	}
	if listed && f.Size != int64(len(content)) {
		size := strconv.Itoa(len(content))
		return &Mismatch{URI: uri, What: "size", Got: size, Want: strconv.FormatInt(f.Size, 10)}
	}
	if listed && f.Digest != got {
		return &Mismatch{URI: uri, What: "digest", Got: got, Want: f.Digest}
	}
	if uri != e.URI {
		return nil
	}
	if got, want, same := CompareFront(content, e.Front); !same {
		return &Mismatch{URI: uri, What: "front matter", Got: got, Want: want}
	}
	return nil
}

// Digest returns the digest of a file in the form of entries: "sha256:" and 64 hexadecimal digits.
func Digest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// CompareFront reports whether the front matter of a SKILL.md equals the front matter of its entry.
// If not, got and want have the first member that differs, or got says why the file cannot be
// parsed.
func CompareFront(content []byte, entry json.RawMessage) (got, want string, same bool) {
	front, err := FrontMatter(content)
	if err != nil {
		return "not readable (" + err.Error() + ")", jsonraw.Excerpt(entry, 200), false
	}
	name, left, right, same := firstDifference(front, entry)
	return jsonraw.Excerpt(jsonraw.With(nil, name, left), 200), jsonraw.Excerpt(jsonraw.With(nil, name, right), 200), same
}

// maxFrontMatter bounds the front matter, in bytes.
const maxFrontMatter = 64 << 10

// FrontMatter returns the YAML between the first two lines of three hyphens as JSON, by the core
// rules of YAML 1.2. A byte order mark before it does not count.
func FrontMatter(content []byte) (json.RawMessage, error) {
	content = bytes.TrimPrefix(content, []byte("\ufeff"))
	rest, ok := bytes.CutPrefix(bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n")), []byte("---\n"))
	if !ok {
		return nil, errors.New("there is none")
	}
	end := 0
	ends := false
	for line := range bytes.Lines(rest) {
		// A line that only begins with three hyphens does not end the front matter: other programs would
		// read further.
		ends = string(bytes.TrimRight(line, " \t\n")) == "---"
		if ends {
			break
		}
		end += len(line)
	}
	front := rest[:end]
	if !ends {
		return nil, errors.New("there is none")
	}
	if len(front) > maxFrontMatter {
		return nil, errors.New("it is longer than 64 KiB")
	}
	if bytes.ContainsAny(front, "\r\u0085\u2028\u2029") {
		return nil, errors.New("it has a character that only some programs treat as a line end")
	}
	doc, err := yaml.ParseCore(front)
	if err != nil {
		return nil, err
	}
	if _, bad := jsonraw.Object(doc.JSON); bad != nil {
		return nil, errors.New("it is not a mapping")
	}
	return doc.JSON, nil
}

// firstDifference reports whether two objects have equal members. A member that is null equals a missing
// one. If the objects differ, name is the first member that differs, left and right its values.
func firstDifference(a, b json.RawMessage) (name string, left, right json.RawMessage, same bool) {
	first, _ := jsonraw.Object(a)
	second, _ := jsonraw.Object(b)
	for _, m := range append(slices.Clone(first), second...) {
		left := first.Value(m.Name)
		right := second.Value(m.Name)
		if !equal(left, right) {
			return m.Name, orNull(left), orNull(right), false
		}
	}
	return "", nil, nil, true
}

// orNull returns raw, or null if raw is nil.
func orNull(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("null")
	}
	return raw
}

// equal reports whether two JSON values are equal: numbers by value, texts after decoding, objects
// in any order of members. nil equals null.
func equal(a, b json.RawMessage) bool {
	if isNull(a) || isNull(b) {
		return isNull(a) && isNull(b)
	}
	one, bad1 := jsonraw.Array(a)
	two, bad2 := jsonraw.Array(b)
	if bad1 == nil && bad2 == nil {
		return slices.EqualFunc(one, two, equal)
	}
	if _, bad := jsonraw.Object(a); bad == nil {
		_, bad := jsonraw.Object(b)
		_, _, _, same := firstDifference(a, b)
		return bad == nil && same
	}
	text1, isText1 := jsonraw.Text(a)
	text2, isText2 := jsonraw.Text(b)
	if isText1 || isText2 {
		return isText1 && isText2 && text1 == text2
	}
	number1, err1 := strconv.ParseFloat(string(a), 64)
	number2, err2 := strconv.ParseFloat(string(b), 64)
	if err1 == nil && err2 == nil {
		return number1 == number2
	}
	return bytes.Equal(bytes.TrimSpace(a), bytes.TrimSpace(b))
}

func isNull(raw json.RawMessage) bool { return raw == nil || string(bytes.TrimSpace(raw)) == "null" }

// Print returns a fingerprint of all files of a skill, for approvals: a JSON object with the digest
// of each file by URI. It returns nil if the skill is Dynamic, because its files are not known.
func (e *Entry) Print() json.RawMessage {
	if e.Dynamic {
		return nil
	}
	files := slices.Clone(e.Files)
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.URI, b.URI) })
	var all json.RawMessage
	for _, f := range files {
		all = jsonraw.With(all, f.URI, jsonraw.Quote(f.Digest))
	}
	return all
}

// Changed returns a line for each file that was added, changed or removed between two fingerprints.
func Changed(before, now json.RawMessage) []string {
	old, _ := jsonraw.Object(before)
	fresh, _ := jsonraw.Object(now)
	var changes []string
	for _, m := range fresh {
		was, there := old.Get(m.Name)
		if !there {
			changes = append(changes, "added: "+m.Name)
		} else if !bytes.Equal(was, m.Value) {
			changes = append(changes, "changed: "+m.Name)
		}
	}
	for _, m := range old {
		if _, there := fresh.Get(m.Name); !there {
			changes = append(changes, "removed: "+m.Name)
		}
	}
	return changes
}
