package skills

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"mcpc/internal/connect"
	"mcpc/internal/connect/pin"
	"mcpc/internal/jsonraw"
	"mcpc/internal/redact"
	"mcpc/internal/skill"
)

// originName is the file that names the server and the URI of an exported skill. A file of a skill
// cannot have this name, because it begins with a dot.
const originName = ".mcpc-origin.json"

// An origin is the content of the file originName.
type origin struct {
	Server string `json:"server"`
	// ID identifies the server: pin.Server.
	ID     string          `json:"id"`
	URI    string          `json:"uri"`
	Files  json.RawMessage `json:"files"`
	Remark string          `json:"remark"`
}

// openOrCreate opens a directory, and creates it first if it does not exist.
func openOrCreate(dir string) (*os.Root, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return os.OpenRoot(dir)
}

// errForeign is the error of a folder that mcpc did not write.
var errForeign = errors.New("there is a folder that mcpc did not write for this skill of this server")

// errLink is the error of a path below the directory that passes through a link.
var errLink = errors.New("it is not a folder, and links are not followed")

// errEdited is the error of a folder that a user changed after mcpc wrote it.
var errEdited = errors.New("it was changed after it was written, and would be lost")

// checkNoLinks returns errLink if a folder between root and the folder of the skill is a link or a
// file. It returns nil if such a folder does not exist.
func (x export) checkNoLinks(root *os.Root) error {
	for i, char := range x.folder {
		if char != '/' { // else x.folder[:i] is a folder around the skill's
			continue
		}
		parent := x.folder[:i]
		info, err := root.Lstat(parent)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return fmt.Errorf("%s: %w", parent, errLink)
		}
	}
	return nil
}

// write writes the skill into a temporary folder next to its own folder, and then renames it, so
// that the folder never has only a part of the files. It replaces a folder that it wrote before,
// and returns errForeign, errLink or errEdited for another one.
func (x export) write(root *os.Root, c *connect.Conn) error {
	if err := x.checkNoLinks(root); err != nil {
		return err
	}
	exists, err := x.checkExisting(root, c)
	if err != nil {
		return err
	}
	parent := path.Dir(x.folder)
	temp := path.Join(parent, ".mcpc-"+rand.Text())
	if root.MkdirAll(temp, 0o755) != nil { // its error names the temporary folder
		return fmt.Errorf("%s cannot be made", parent)
	}
	defer root.RemoveAll(temp)
	if err := x.writeFiles(root, temp, c); err != nil {
		return err
	}
	if !exists {
		return root.Rename(temp, x.folder)
	}
	previous := temp + "-old"
	if err := root.Rename(x.folder, previous); err != nil {
		return err
	}
	if err := root.Rename(temp, x.folder); err != nil {
		return errors.Join(err, root.Rename(previous, x.folder))
	}
	return root.RemoveAll(previous)
}

// writeFiles writes the files of the skill and the file originName into a folder.
func (x export) writeFiles(root *os.Root, folder string, c *connect.Conn) error {
	for uri, content := range x.content {
		relative, err := x.Path(uri)
		if err != nil {
			return err
		}
		name := path.Join(folder, relative)
		if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
			return err
		}
		if err := writeNew(root, name, content); err != nil {
			return err
		}
	}
	raw, err := json.MarshalIndent(origin{
		Server: redact.RedactURL(c.Where),
		ID:     pin.Server(c),
		URI:    x.URI,
		Files:  x.digests(),
		Remark: "Written by mcpc skills export. The files are those of the MCP server, and untrusted.",
	}, "", "  ")
	if err != nil {
		return err
	}
	return writeNew(root, path.Join(folder, originName), append(raw, '\n'))
}

// writeNew writes a file that must not exist.
func writeNew(root *os.Root, name string, content []byte) error {
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Close())
}

// checkExisting reports whether the folder of the skill exists. The error is errForeign if mcpc did
// not write it for this skill of this server, and errEdited if it was changed after mcpc wrote it.
func (x export) checkExisting(root *os.Root, c *connect.Conn) (exists bool, err error) {
	info, err := root.Lstat(x.folder)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var written origin
	raw, readErr := root.ReadFile(path.Join(x.folder, originName))
	isReadable := info.IsDir() && readErr == nil && json.Unmarshal(raw, &written) == nil
	if !isReadable || written.ID != pin.Server(c) || written.URI != x.URI {
		return false, fmt.Errorf("%s: %w", x.folder, errForeign)
	}
	return true, x.checkUnedited(root, written)
}

// checkUnedited returns errEdited if a file in the folder has neither the content that mcpc wrote,
// by its record in written, nor the new content.
func (x export) checkUnedited(root *os.Root, written origin) error {
	knownDigests := map[string][]string{} // by path in the folder
	for _, digests := range []json.RawMessage{written.Files, x.digests()} {
		members, _ := jsonraw.Object(digests)
		for _, m := range members {
			if name, err := x.Path(m.Name); err == nil {
				knownDigests[name] = append(knownDigests[name], jsonraw.TextOrRaw(m.Value))
			}
		}
	}
	return fs.WalkDir(root.FS(), x.folder, func(name string, d fs.DirEntry, err error) error {
		relative := strings.TrimPrefix(name, x.folder+"/")
		if err != nil || d.IsDir() || relative == originName {
			return err
		}
		content, err := root.ReadFile(name)
		if err != nil || !slices.Contains(knownDigests[relative], skill.Digest(content)) {
			return fmt.Errorf("%s: %w", name, errEdited)
		}
		return nil
	})
}

// digests returns a JSON object with the digest of each file of the skill, by URI.
func (x export) digests() json.RawMessage {
	var all json.RawMessage
	for _, uri := range slices.Sorted(maps.Keys(x.content)) {
		all = jsonraw.With(all, uri, jsonraw.Quote(skill.Digest(x.content[uri])))
	}
	return all
}
