package probe

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"mcpc/internal/lint"
	"mcpc/internal/lint/conv"
	"mcpc/internal/wire"
)

// A probe judges one or several rules.
type probe struct {
	// rules are ids.
	rules []string
	// sendsNothing is set for a probe that judges requests sent before: it is never repeated.
	sendsNothing bool
	// exempt returns why the probe does not apply to the server, "" if it applies. It may be nil.
	exempt func(b *bench) string
	run    func(ctx context.Context, b *bench) []miss
}

// A miss says that a server broke a rule, or, if skip is set, that a probe could not judge the
// rule.
type miss struct {
	// id is the id of the rule.
	id, subject, pointer, got, want string
	stderr                          string
	// severity is "" for the severity of the rule.
	severity conv.Severity
	spot     conv.Spot
	skip     bool
	// silent is set if the server did not answer in time.
	silent bool
}

// newMiss returns the miss of a rule that an answer shows.
func newMiss(rule, subject string, a answer, want string) miss {
	return miss{
		id: rule, subject: subject, got: a.String(), want: want, stderr: a.stderr(), spot: a.spot, skip: a.isInconclusive(),
		silent: a.Kind == wire.Timeout,
	}
}

// skipRule returns the result of a probe that could not judge its rule.
func skipRule(rule, why string) []miss { return []miss{{id: rule, skip: true, got: why}} }

// probes returns all probes in the order in which they run: the most valuable first, because
// --max-requests may stop the check.
func probes() []probe {
	var singles []probe
	for _, s := range singleProbes {
		singles = append(singles, s.toProbe())
	}
	return slices.Concat([]probe{toolAnswersProbe}, singles, safeProbes, negativeProbes, callProbes)
}

// whyInapplicable returns why a rule does not apply to the server in this revision, "" if it
// applies.
func (b *bench) whyInapplicable(r lint.Rule) string {
	isTransport := map[string]bool{
		"any":        true,
		"stdio":      !b.isHTTP(),
		"http":       b.isHTTP(),
		"streamable": b.isStreamable(),
		"sse":        b.isHTTP() && !b.isStreamable(),
	}
	if b.rev < r.From || b.rev > r.To {
		return "holds for " + r.Range + ", not for " + b.cleanSession.Revision()
	}
	if !isTransport[r.Transport] {
		return "holds for " + r.Transport
	}
	if r.Capability != "any" && !b.declares(r.Capability) && !b.declares("extensions", conv.MetaPrefix+r.Capability) {
		return "the server does not declare " + r.Capability
	}
	return ""
}

// runProbes runs the probes of all rules that apply, and records for each other rule why it was not
// judged.
func (b *bench) runProbes(ctx context.Context) {
	judged := map[string]bool{}
	if b.isStateless() {
		discoverOnce(ctx, b)
		b.acceptsHandshake = detectHandshake(ctx, b)
	}
	if b.request.Send.Auth {
		askWithoutToken(ctx, b)
	}
	if b.isHTTP() && b.pacer.facts().Unauthorized {
		b.judgeAuth(ctx, b.cleanSession, b.rev)
	}
	callTools(ctx, b)
	for _, p := range probes() {
		if b.whyStopped(ctx) != "" && !p.sendsNothing {
			break
		}
		if rules := applicableRules(b, p.rules, judged); len(rules) > 0 {
			b.runProbe(ctx, p, rules)
		}
	}
	for _, r := range lint.Rules() {
		if r.Mode == lint.Passive || !b.request.Send.Runs(r.Mode) || judged[r.ID] {
			continue
		}
		why := b.whyInapplicable(r)
		if slices.Contains(authRules, r.ID) && why == "" && !b.pacer.facts().Unauthorized {
			why = "the server did not ask for authorization"
		}
		if why != "" {
			b.linter.Exempt(r.ID, why)
		} else if !slices.Contains(b.request.Off, r.ID) {
			b.linter.Skip(r.ID, cmp.Or(b.whyStopped(ctx), withoutProbe[r.ID], "check has no probe for it"))
		}
	}
}

// applicableRules returns the ids of the rules that are selected and apply to the server, and marks
// them in judged.
func applicableRules(b *bench, ids []string, judged map[string]bool) (rules []string) {
	for _, id := range ids {
		r, ok := lint.Find(id)
		if !ok || slices.Contains(b.request.Off, id) || !b.request.Send.Runs(r.Mode) || b.whyInapplicable(r) != "" {
			continue
		}
		judged[id] = true
		rules = append(rules, id)
	}
	return rules
}

// runProbe runs one probe and reports its findings to the linter. A probe that found a broken rule
// is repeated: see confirmMisses.
func (b *bench) runProbe(ctx context.Context, p probe, rules []string) {
	forEachRule := func(do func(id string)) {
		for _, id := range rules {
			do(id)
		}
	}
	if p.exempt != nil {
		if why := p.exempt(b); why != "" {
			forEachRule(func(id string) { b.linter.Exempt(id, why) })
			return
		}
	}
	if why := b.whyNoMore(); why != "" && !p.sendsNothing {
		forEachRule(func(id string) { b.linter.Skip(id, why) })
		return
	}
	misses := p.run(ctx, b)
	if !p.sendsNothing {
		misses = confirmMisses(ctx, b, p, misses)
	}
	why := b.whyNoMore()
	if ctx.Err() != nil {
		forEachRule(func(id string) { b.linter.Skip(id, b.whyStopped(ctx)) })
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	forEachRule(func(id string) {
		var findings []lint.Finding
		skipped := false
		for _, m := range misses {
			if m.id != id {
				continue
			}
			if m.skip {
				skipped = true
				if m.spot.Seq != 0 { // m.got quotes an answer
					m.got = "no answer that judges it: " + m.got
				}
				b.linter.Skip(id, cmp.Or(why, m.got))
				continue
			}
			findings = append(findings, newFinding(m, b.rev))
		}
		if !skipped || len(findings) > 0 {
			b.linter.Add(id, findings...)
		}
	})
}

// whyStopped returns why the check ended early, "" if it did not.
func (b *bench) whyStopped(ctx context.Context) string {
	if ctx.Err() != nil {
		return context.Cause(ctx).Error()
	}
	return b.serverEnd.Text
}

// whyNoMore returns why no more requests may be sent, "" if more may be sent.
func (b *bench) whyNoMore() string {
	if !b.serverEnd.OK() {
		return b.serverEnd.Text
	}
	if limit := b.request.Send.MaxRequests; limit > 0 && b.requests() >= limit {
		return fmt.Sprintf("--max-requests %d was reached", limit)
	}
	return b.pacer.whyStopped()
}

// confirmMisses repeats a probe that found a broken rule twice, on new connections. A miss that
// does not repeat each time becomes a warning, or is skipped if it was a missing answer.
func confirmMisses(ctx context.Context, b *bench, p probe, misses []miss) []miss {
	if !slices.ContainsFunc(misses, func(m miss) bool { return !m.skip }) {
		return misses
	}
	var repeats [][]miss
	for i := range 2 {
		if b.whyNoMore() != "" {
			return misses
		}
		bench, out := b.repeatBench(ctx, i)
		if !out.OK() {
			return misses
		}
		repeats = append(repeats, p.run(ctx, bench))
	}
	for i := range misses {
		m := &misses[i]
		got := []string{m.got}
		isStable := true
		for _, repeat := range repeats {
			at := slices.IndexFunc(repeat, m.isSame)
			if at < 0 {
				isStable = false
				got = append(got, "as it should be")
				continue
			}
			got = append(got, repeat[at].got)
		}
		if m.skip || isStable {
			continue
		}
		if m.silent { // a late answer breaks no rule
			m.skip = true
			m.got += ", and an answer in another attempt"
			continue
		}
		m.severity = conv.Warn
		m.got = "unstable, three attempts: " + strings.Join(got, "; ")
	}
	return misses
}

// isSame reports whether another run of the probe found the same.
func (m *miss) isSame(other miss) bool {
	return other.id == m.id && other.subject == m.subject && other.pointer == m.pointer && other.skip == m.skip
}

// maxQuoted is the number of bytes of an answer that a finding quotes.
const maxQuoted = 200

// newFinding returns the finding for a miss, with the texts of its rule in a revision.
func newFinding(m miss, rev conv.Rev) lint.Finding {
	r, _ := lint.Find(m.id)
	got := m.got
	if len(got) > maxQuoted {
		got = got[:maxQuoted]
	}
	return lint.Finding{
		Rule:        r.ID,
		Severity:    cmp.Or(m.severity, r.Severity),
		Title:       r.Title,
		Source:      r.Page(rev),
		Fix:         r.Fix,
		Subject:     m.subject,
		Times:       1,
		Fingerprint: strings.TrimSpace(r.ID + " " + m.subject + " " + m.pointer),
		Evidence: []lint.Evidence{{
			Conn: m.spot.Conn, Seq: m.spot.Seq, Pointer: m.pointer, Got: strings.ToValidUTF8(got, ""),
			Want: m.want, Stderr: m.stderr,
		}},
	}
}

// A single is a probe of one request.
type singleProbe struct {
	id, subject string
	exempt      func(b *bench) string
	request     func(b *bench) probeRequest
	expected    expectation
}

// A want describes the expected answer: an error with one of the codes, or a result, and over HTTP
// one of the statuses.
type expectation struct {
	codes         []int64
	acceptsResult bool
	statuses      []int
	// otherSeverity is the severity of an error with another code and, if toolError is set, of an
	// error that the tool reported; "" for the severity of the rule.
	otherSeverity conv.Severity
	toolError     bool
	text          string
}

// accepts reports whether an answer is as expected. It ignores the HTTP status if the answer has
// none or w names none.
func (w expectation) accepts(a answer) bool {
	if len(w.statuses) > 0 && a.status() != 0 && !slices.Contains(w.statuses, a.status()) {
		return false
	}
	if !w.acceptsResult && len(w.codes) == 0 {
		return a.HTTP != nil // only the status matters
	}
	return w.acceptsResult && a.hasResult() || a.code() != 0 && slices.Contains(w.codes, a.code())
}

// toProbe returns a probe that sends the request and compares the answer.
func (s singleProbe) toProbe() probe {
	return probe{rules: []string{s.id}, exempt: s.exempt, run: func(ctx context.Context, b *bench) []miss {
		a := b.sendRough(ctx, s.request(b))
		if s.expected.accepts(a) {
			return nil
		}
		m := newMiss(s.id, s.subject, a, s.expected.text)
		if a.code() != 0 || s.expected.toolError && a.Kind == wire.ToolError {
			m.severity = s.expected.otherSeverity
		}
		return []miss{m}
	}}
}
