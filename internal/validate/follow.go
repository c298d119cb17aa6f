package validate

import (
	"strings"
)

// follow visits what references lead to outside of the places for subschemas,
// as in {"$ref":"#/components/x"}.
func (sv *survey) follow() error {
	sv.following, sv.base = true, sv.idBytes
	for len(sv.pending) > 0 {
		ptr := sv.pending[0]
		sv.pending = sv.pending[1:]
		if sv.seen[ptr] || sv.extras[ptr] {
			continue
		}
		target, ok := lookup(sv.Doc, pointerTokens(ptr))
		if !ok {
			continue
		}
		sv.extras[ptr] = true
		if err := sv.visit(target, ptr, 1); err != nil {
			return err
		}
		if len(sv.extras)*len(sv.seen)*copyWork > maxCompileWork {
			return sv.tooLong()
		}
	}
	return nil
}

// noteRef takes down where a reference may point to. A pointer counts from the
// root of some resource; rather than work out which, it is tried in all.
func (sv *survey) noteRef(ref string) error {
	sv.refs++
	sv.work += joinWork * (sv.base + len(ref))
	_, frag, _ := strings.Cut(ref, "#")
	frag = unescaped(frag)
	if !strings.HasPrefix(frag, "/") || sv.known[frag] {
		return nil
	}
	sv.known[frag] = true
	sv.fragments = append(sv.fragments, frag)
	for _, root := range sv.resources {
		if err := sv.lead(root, frag); err != nil {
			return err
		}
	}
	return nil
}

// noteResource takes down the root of a resource.
func (sv *survey) noteResource(id, root string) error {
	sv.base += len(id)
	sv.idBytes += len(id)
	sv.work += joinWork * sv.base
	sv.resources = append(sv.resources, root)
	for _, frag := range sv.fragments {
		if err := sv.lead(root, frag); err != nil {
			return err
		}
	}
	return nil
}

func (sv *survey) lead(root, frag string) error {
	if sv.work += 500 + 10*(len(root)+len(frag)); sv.work > maxCompileWork {
		return sv.tooLong()
	}
	sv.pending = append(sv.pending, root+frag)
	return nil
}

// total adds what grows faster than the number of subschemas.
func (sv *survey) total() error {
	n, ids, extras, anchors := len(sv.seen), len(sv.resources), len(sv.extras), len(sv.Anchors)
	sv.work += n * n * 5 / 2          // every new subschema is looked up in a list of all
	sv.work += n * (sv.pointers / 40) // by comparing pointers that often begin alike
	sv.work += extras * (n + ids) * copyWork
	sv.work += (n + sv.refs) * (ids*20 + sv.idBytes/20)
	sv.work += anchors * anchors * 5
	if sv.work <= maxCompileWork {
		sv.again()
	}
	if sv.work > maxCompileWork {
		return sv.tooLong()
	}
	return nil
}

const (
	// copyWork is the price of one entry in the library's table of subschemas,
	// all of which it copies for each that only a reference leads to.
	copyWork = 200
	// joinWork is the price of a byte where a reference or an id is resolved
	// against those around it.
	joinWork = 30
)

func (sv *survey) tooLong() error {
	return tooComplex("", "it would take too long to compile (%d subschemas, %d of them only reached by $ref, %d ids)",
		len(sv.seen), len(sv.extras), len(sv.resources)-1)
}

// again counts what the library holds against a meta-schema once more, because
// it stands inside of something that a reference leads to.
func (sv *survey) again() {
	for extra := range sv.extras {
		for ptr := range sv.seen {
			if strings.HasPrefix(ptr, extra+"/") {
				sv.work += 12_000 + 1_000*strings.Count(ptr[len(extra):], "/")
			}
		}
	}
}
