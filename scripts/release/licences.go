package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

// A module is a module that is linked into the program.
type module struct{ path, version, dir string }

// licenceFile matches the names of licence files.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice)(\.(txt|md))?$`)

// collectLicences collects the licences of all modules that are linked into any target. It returns an
// error for a module without a licence, or with a licence that requires more than attribution.
func (r *release) collectLicences() error {
	modules, err := r.linkedModules()
	if err != nil {
		return err
	}
	root, err := r.command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	modules["go"] = module{"Go, its standard library and run-time", runtime.Version(), strings.TrimSpace(string(root))}
	var out bytes.Buffer
	fmt.Fprintf(&out, "mcpc is licensed as LICENSE says. Linked into it are:\n")
	for _, key := range sortedKeys(modules) {
		m := modules[key]
		kind, text, err := licenceOf(m)
		if err != nil {
			return err
		}
		fmt.Fprintf(
			&out,
			"\n%s\n%s %s (%s)\n\n%s\n",
			strings.Repeat("=", 78),
			m.path,
			m.version,
			kind,
			strings.TrimSpace(text),
		)
	}
	r.notices = out.Bytes()
	return nil
}

// linkedModules returns the modules that are linked into any target, by path.
func (r *release) linkedModules() (map[string]module, error) {
	all := map[string]module{}
	for _, t := range r.targets {
		cmd := r.command(
			"go",
			"list",
			"-deps",
			"-f",
			"{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}{{end}}",
			"./cmd/mcpc",
		)
		cmd.Env = append(cmd.Env, "CGO_ENABLED=0", "GOOS="+t.os, "GOARCH="+t.arch)
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("listing the modules for %s: %w", t, err)
		}
		for line := range strings.Lines(string(out)) {
			if f := strings.Split(strings.TrimSpace(line), "\t"); len(f) == 3 {
				all[f[0]] = module{f[0], f[1], f[2]}
			}
		}
	}
	return all, nil
}

// licenceOf returns the licence of a module and its SPDX identifier.
func licenceOf(m module) (kind, text string, err error) {
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		return "", "", err
	}
	for _, e := range entries {
		if licenceFile.MatchString(e.Name()) {
			raw, err := os.ReadFile(filepath.Join(m.dir, e.Name()))
			if err != nil {
				return "", "", err
			}
			text += string(raw) + "\n"
		}
	}
	if kind = spdxIdentifier(text); kind == "" {
		return "", "", fmt.Errorf("%s has no licence that is known to go with Apache-2.0: look at %s", m.path, m.dir)
	}
	return kind, text, nil
}

// spdxIdentifier returns the SPDX identifier of a permissive licence, which it recognizes by a typical
// sentence. It returns "" for other texts and for texts with further conditions.
func spdxIdentifier(text string) string {
	words := strings.Join(strings.Fields(text), " ")
	has := func(s string) bool { return strings.Contains(words, s) }
	switch {
	case has("GNU GENERAL PUBLIC LICENSE"),
		has("GNU LESSER GENERAL PUBLIC LICENSE"),
		has("GNU AFFERO"),
		has("Mozilla Public License"):
		return ""
	case has("Apache License Version 2.0"):
		return "Apache-2.0"
	case has("Permission is hereby granted, free of charge, to any person obtaining a copy"):
		return "MIT"
	case has("Redistribution and use in source and binary forms") && has("Neither the name"):
		return "BSD-3-Clause"
	case has("Redistribution and use in source and binary forms"):
		return "BSD-2-Clause"
	case has("Permission to use, copy, modify, and/or distribute this software for any purpose"):
		return "ISC"
	}
	return ""
}
