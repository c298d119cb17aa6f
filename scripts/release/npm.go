package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// nodeOS and nodeArch are the names of platforms in Node.
var (
	nodeOS   = map[string]string{"windows": "win32"}
	nodeArch = map[string]string{"amd64": "x64"}
)

func nodeName(words map[string]string, word string) string { return cmp.Or(words[word], word) }

// npmName returns the name of the package with the program for a target.
func npmName(t target) string {
	return "mcpc-" + nodeName(nodeOS, t.os) + "-" + nodeName(nodeArch, t.arch)
}

// A manifest is a package.json.
type manifest struct {
	Name        string            `json:"name"`
	Version     string            `json:"version"`
	Description string            `json:"description"`
	Homepage    string            `json:"homepage"`
	License     string            `json:"license"`
	Bin         map[string]string `json:"bin,omitempty"`
	Files       []string          `json:"files"`
	OS          []string          `json:"os,omitempty"`
	CPU         []string          `json:"cpu,omitempty"`
	Engines     map[string]string `json:"engines,omitempty"`
	Optional    map[string]string `json:"optionalDependencies,omitempty"`
	// MCPName proves to the MCP registry that the package belongs to server.json.
	MCPName string `json:"mcpName,omitempty"`
}

// writeNPM writes a package for each target, and the package mcpc, which starts the program. npm
// installs only the package for its platform. The packages run no scripts at installation.
func (r *release) writeNPM() error {
	whole := r.manifest("mcpc", "mcpc.js")
	whole.Bin = map[string]string{"mcpc": "mcpc.js", secondName: "mcpc.js"}
	whole.Optional = map[string]string{}
	whole.MCPName = r.serverName()
	whole.Engines = map[string]string{"node": ">=18"}
	for _, t := range r.targets {
		whole.Optional[npmName(t)] = r.version
		part := r.manifest(npmName(t), t.programName())
		part.OS, part.CPU = []string{nodeName(nodeOS, t.os)}, []string{nodeName(nodeArch, t.arch)}
		raw, err := os.ReadFile(r.binary(t))
		if err != nil {
			return err
		}
		if err := r.npmPackage(part, contents{t.programName(): raw, "THIRD-PARTY.txt": r.notices}); err != nil {
			return err
		}
	}
	starter, err := recipes.ReadFile("recipes/mcpc.js")
	if err != nil {
		return err
	}
	return r.npmPackage(whole, contents{"mcpc.js": starter})
}

func (r *release) manifest(name string, files ...string) manifest {
	return manifest{
		Name: name, Version: r.version, Description: summary, Homepage: r.downloads, License: "Apache-2.0",
		Files: slices.Concat(files, []string{"README.md", "LICENSE"}),
	}
}

// npmPackage writes a package in the format of npm pack.
func (r *release) npmPackage(m manifest, b contents) error {
	raw, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	b["package.json"] = append(raw, '\n')
	for _, name := range []string{"README.md", "LICENSE"} {
		if b[name], err = os.ReadFile(filepath.Join(r.root, name)); err != nil {
			return err
		}
	}
	packed, err := packTar(b, "package/", r.time)
	if err != nil {
		return fmt.Errorf("packing %s: %w", m.Name, err)
	}
	return r.write("npm/"+m.Name+"-"+m.Version+".tgz", packed)
}
