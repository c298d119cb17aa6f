package client

// maxRecent bounds what is remembered of one stream or conversation: only what
// was late can come twice.
const maxRecent = 10_000

// recent remembers the latest of many ids, each with a mark. Its order is that
// in which they came, from oldest on round.
type recent struct {
	marks  map[string]bool
	order  []string
	oldest int
}

func newRecent() *recent { return &recent{marks: map[string]bool{}} }

func (r *recent) mark(id string) (mark, known bool) {
	mark, known = r.marks[id]
	return mark, known
}

func (r *recent) put(id string, mark bool) {
	_, known := r.marks[id]
	switch r.marks[id] = mark; {
	case known:
	case len(r.order) < maxRecent:
		r.order = append(r.order, id)
	default:
		delete(r.marks, r.order[r.oldest])
		r.order[r.oldest] = id
		r.oldest = (r.oldest + 1) % maxRecent
	}
}
