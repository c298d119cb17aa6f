package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"mcpc/internal/target"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
	"mcpc/internal/yaml"
)

// This file reads the servers that other programs are configured with. The files are read when a
// command needs them. Reading them starts nothing, sends nothing and stores nothing.
// A ConfigFile is an existing configuration file of another program.
type ConfigFile struct {
	Client  target.Client
	Path    string
	Servers []target.Server
	// Err is why the file could not be read. It quotes nothing of the file.
	Err error
	// doc is the whole file as JSON. It is set only while the files are read.
	doc json.RawMessage
}

// maxConfigFile limits the size of a file in bytes. Some programs keep their history in it.
const maxConfigFile = 64 << 20

// ConfigFiles returns the configuration files of all clients in the order of target.Clients. It
// reads them once.
func (e *Env) ConfigFiles() []ConfigFile {
	if e.Known != nil {
		return *e.Known
	}
	here, err := os.Getwd()
	if err != nil {
		here = "" // no project's file is found then
	}
	var all []ConfigFile
	for _, c := range target.Clients {
		path := c.File(runtime.GOOS, e.Getenv)
		folder := here
		if c.Project {
			path, folder = findUpwards(here, path)
		}
		isListed := slices.ContainsFunc(all, func(f ConfigFile) bool {
			return f.Path == path && slices.Equal(f.Client.Member, c.Member)
		})
		// Without an absolute path the client has no file on this system, or the project has no
		// such file.
		if !filepath.IsAbs(path) || isListed {
			continue
		}
		f := ConfigFile{Client: c, Path: path}
		if i := slices.IndexFunc(all, func(other ConfigFile) bool { return other.Path == path && other.Err == nil }); i >= 0 {
			f.doc = all[i].doc // a file may have several lists of servers
		}
		if f.Read(folder) {
			all = append(all, f)
		}
	}
	markDisabled(e, all)
	for i := range all {
		all[i].doc = nil // only markDisabled needs it
	}
	e.Known = &all
	return all
}

// markDisabled marks the servers of a project's file that Claude Code is configured not to use. Its
// settings for that are in other files.
func markDisabled(e *Env, all []ConfigFile) {
	i := slices.IndexFunc(all, func(f ConfigFile) bool { return f.Client.Name == "claude-code" && len(f.Servers) > 0 })
	if i < 0 {
		return
	}
	folder := all[i].Servers[0].Folder // all servers of the file are of one project
	var disabled []string
	for _, f := range all {
		if f.Client.Name == "claude-code-user" {
			disabled = append(disabled, target.SwitchedOff(f.doc, folder)...)
		}
	}
	home := e.Getenv("HOME")
	if home == "" {
		home = e.Getenv("USERPROFILE")
	}
	for _, name := range []string{
		filepath.Join(folder, ".claude", "settings.json"),
		filepath.Join(folder, ".claude", "settings.local.json"),
		filepath.Join(home, ".claude", "settings.json"),
	} {
		if raw, err := readRegular(name); err == nil { // most of these files do not exist
			doc, _ := decodeConfig(name, raw) // an invalid file disables nothing
			disabled = append(disabled, target.SwitchedOff(doc, folder)...)
		}
	}
	for j := range all[i].Servers {
		s := &all[i].Servers[j]
		s.Disabled = s.Disabled || slices.Contains(disabled, s.Name)
	}
}

// findUpwards finds a project's file in the folder start or the nearest folder above it. Returns ""
// without such a file.
func findUpwards(start, name string) (path, folder string) {
	for folder = start; folder != ""; {
		path = filepath.Join(folder, filepath.FromSlash(name))
		if _, err := os.Lstat(path); err == nil {
			return path, folder
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			break
		}
		folder = parent
	}
	return "", ""
}

// Read reads the servers of the file, and reports whether it exists and applies to folder. A file that
// cannot be read applies: Err is set.
func (f *ConfigFile) Read(folder string) bool {
	if f.doc == nil {
		raw, err := readRegular(f.Path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			return false
		}
		if err == nil {
			f.doc, err = decodeConfig(f.Path, raw)
		}
		f.Err = usage.Bare(err)
		if err != nil {
			return true
		}
	}
	f.Servers = target.Servers(f.Client, f.Path, folder, f.doc)
	// A file with the servers of several projects may list them under a folder above.
	for f.Client.OfProjects() && len(f.Servers) == 0 && filepath.Dir(folder) != folder {
		folder = filepath.Dir(folder)
		f.Servers = target.Servers(f.Client, f.Path, folder, f.doc)
	}
	return len(f.Servers) > 0 || !f.Client.OfProjects()
}

// readRegular reads a regular file of at most maxConfigFile bytes. It returns an error for any other
// file, because reading a pipe could block.
func readRegular(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	if info.Size() > maxConfigFile {
		return nil, fmt.Errorf("it has more than %d MiB", maxConfigFile>>20)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxConfigFile))
}

// decodeConfig returns a configuration file as JSON. It parses YAML if the path has its extension.
func decodeConfig(path string, raw []byte) (json.RawMessage, error) {
	if extension := filepath.Ext(path); extension != ".yaml" && extension != ".yml" {
		return target.Decode(path, raw)
	}
	doc, err := yaml.Parse(raw)
	if at, ok := errors.AsType[*yaml.Error](err); ok {
		return nil, fmt.Errorf("unsupported YAML at line %d, column %d", at.Line, at.Column)
	}
	return doc.JSON, err
}

// ConfiguredServers returns the servers of all configuration files, and warns about files that
// cannot be read.
func (e *Env) ConfiguredServers() []target.Server {
	for _, text := range e.UnreadableFiles() {
		e.UI.Warn(text)
	}
	var all []target.Server
	for _, f := range e.ConfigFiles() {
		all = append(all, f.Servers...)
	}
	return all
}

// UnreadableFiles returns a message for each file that cannot be read.
func (e *Env) UnreadableFiles() []string {
	reported := map[string]bool{}
	var all []string
	for _, f := range e.ConfigFiles() {
		if f.Err != nil && !reported[f.Path] {
			reported[f.Path] = true
			all = append(all, f.Client.Title+": "+e.Tilde(f.Path)+" is omitted: "+f.Err.Error())
		}
	}
	return all
}

// Tilde returns path with ~ for the user's home folder.
func (e *Env) Tilde(path string) string {
	if home := e.Getenv("HOME"); home != "" && strings.HasPrefix(path, home+string(filepath.Separator)) {
		return "~" + path[len(home):]
	}
	return path
}

// ConfiguredNames returns the names of all configured servers, sorted: NAME and CLIENT:NAME for
// each.
func (e *Env) ConfiguredNames() []string {
	var names []string
	for _, f := range e.ConfigFiles() {
		for _, s := range f.Servers {
			names = append(names, s.Name, s.ID())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// ServerNamed returns the configured server with this name or id. Several servers may share the
// name if the servers that are not disabled are identical; it then returns the first. Otherwise it
// returns a usage failure, and also if no server has the name.
func (e *Env) ServerNamed(name string) (target.Server, wire.Outcome) {
	for _, f := range e.ConfigFiles() { // an exact id needs no warnings about other files
		if i := slices.IndexFunc(f.Servers, func(s target.Server) bool { return s.ID() == name }); i >= 0 {
			return f.Servers[i], wire.Outcome{}
		}
	}
	candidates := slices.DeleteFunc(e.ConfiguredServers(), func(s target.Server) bool { return s.Name != name })
	enabled := slices.DeleteFunc(slices.Clone(candidates), func(s target.Server) bool { return s.Disabled })
	if len(enabled) > 0 { // a disabled server can be used if there is no other
		candidates = enabled
	}
	if len(candidates) == 0 {
		err := usage.New(fmt.Sprintf("the server %q is no longer configured", name), wire.Run("servers")+" lists them")
		return target.Server{}, usage.Outcome(err)
	}
	var ids []string
	areIdentical := true
	for _, s := range candidates {
		areIdentical = areIdentical && s.Same(candidates[0])
		ids = append(ids, s.ID())
	}
	if !areIdentical {
		err := usage.New(fmt.Sprintf("%q names %d different servers: %s", name, len(ids), strings.Join(ids, ", ")),
			"-s "+wire.Hint(ids[0])+" selects one; "+wire.Run("servers "+name)+" shows them")
		return target.Server{}, usage.Outcome(err)
	}
	return candidates[0], wire.Outcome{}
}
