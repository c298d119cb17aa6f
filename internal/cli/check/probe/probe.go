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

// A probe is a test of the server that judges one or several rules.
type probe struct {
	// rules are the ids of the rules.
	rules []string
	// sendsNothing is set for a probe that judges requests sent before: it is never repeated.
	sendsNothing bool
	// exempt returns why the probe does not apply to the server, "" if it applies. It may be nil.
	exempt func(b *bench) string
	// run sends the requests, and returns the broken rules.
	run func(ctx context.Context, b *bench) []miss
}

// A miss is a breach of a rule by a server or, if skip is set, a rule that a probe could not judge.
type miss struct {
	// id is the id of the rule.
	id string
	// subject is what broke the rule, such as "tool get-sum", and pointer a JSON pointer into it.
	subject, pointer string
	// got and want describe the actual and the expected answer. If skip is set, got is the reason.
	got, want string
	// stderr is the last output of a server that the request ended.
	stderr string
	// severity is "" if the severity of the rule applies.
	severity conv.Severity
	// spot is the frame that is the evidence; the zero value if got quotes no answer.
	spot conv.Spot
	skip bool
	// silent is set if the server did not answer in time.
	silent bool
}

// newMiss returns the miss of a rule that an answer shows; want is the expected answer. It is skipped
// if the answer says nothing about the rule.
func newMiss(rule, subject string, a answer, want string) miss {
	return miss{
		id: rule, subject: subject, got: a.String(), want: want, stderr: a.stderr(), spot: a.spot, skip: a.isInconclusive(),
		silent: a.Kind == wire.Timeout,
	}
}

// skipRule returns the result of a probe that could not judge its rule.
func skipRule(rule, why string) []miss { return []miss{{id: rule, skip: true, got: why}} }

// probes returns all probes in the order they run in: the most valuable first, because
// --max-requests may stop the check.
func probes() []probe {
	var singles []probe
	for _, s := range singleProbes() {
		singles = append(singles, s.toProbe())
	}
	return slices.Concat([]probe{toolAnswersProbe()}, singles, safeProbes(), negativeProbes(), callProbes())
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
	isDeclared := b.declares(r.Capability) || b.declares("extensions", conv.MetaPrefix+r.Capability)
	if r.Capability != "any" && !isDeclared {
		return "the server does not declare " + r.Capability
	}
	return ""
}

// runProbes runs the probes of all rules that apply, and records for each other rule why it was not
// judged.
func (b *bench) runProbes(ctx context.Context) {
	judged := map[string]bool{}
	if b.isStateless() { // the conditions of several probes need these answers
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
	if b.request.Send.Fuzz.On && b.whyStopped(ctx) == "" {
		b.fuzzTools(ctx, judged)
	}
	b.explainUnjudged(ctx, judged)
}

// explainUnjudged records why a rule was not judged, for each rule that is not in judged.
func (b *bench) explainUnjudged(ctx context.Context, judged map[string]bool) {
	for _, r := range lint.Rules() {
		if r.Mode == lint.Passive || !b.request.Send.Runs(r.Mode) || judged[r.ID] {
			continue
		}
		why := b.whyInapplicable(r)
		if why == "" && slices.Contains(authRules, r.ID) && !b.pacer.facts().Unauthorized {
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
func applicableRules(b *bench, ids []string, judged map[string]bool) []string {
	var rules []string
	for _, id := range ids {
		r, isRule := lint.Find(id)
		isSelected := isRule && !slices.Contains(b.request.Off, id) && b.request.Send.Runs(r.Mode)
		if !isSelected || b.whyInapplicable(r) != "" {
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
	if p.exempt != nil {
		if why := p.exempt(b); why != "" {
			for _, id := range rules {
				b.linter.Exempt(id, why)
			}
			return
		}
	}
	if why := b.whyNoMore(); why != "" && !p.sendsNothing {
		b.skipAll(rules, why)
		return
	}
	misses := p.run(ctx, b)
	if !p.sendsNothing {
		misses = confirmMisses(ctx, b, p, misses)
	}
	why := b.whyNoMore()  // takes mu, which reportMisses needs to be held
	if ctx.Err() != nil { // the answers may be errors of the ended context
		b.skipAll(rules, b.whyStopped(ctx))
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range rules {
		b.reportMisses(id, misses, why)
	}
}

// skipAll records why some rules were not judged.
func (b *bench) skipAll(rules []string, why string) {
	for _, id := range rules {
		b.linter.Skip(id, why)
	}
}

// reportMisses reports the misses of one rule to the linter: the rule passed if it has no misses.
// whyNoMore is the result of that method after the probe. The caller holds mu.
func (b *bench) reportMisses(id string, misses []miss, whyNoMore string) {
	var findings []lint.Finding
	isSkipped := false
	for _, m := range misses {
		if m.id != id {
			continue
		}
		if !m.skip {
			findings = append(findings, newFinding(m, b.rev))
			continue
		}
		isSkipped = true
		if m.spot.Seq != 0 { // m.got quotes an answer
			m.got = "no response shows it: " + m.got
		}
		b.linter.Skip(id, cmp.Or(whyNoMore, m.got))
	}
	if !isSkipped || len(findings) > 0 {
		b.linter.Add(id, findings...)
	}
}

// whyStopped returns why the check ended early: its context ended, or the server did. It returns "" if
// it did not.
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
		if b.whyNoMore() != "" { // the misses stay as they are: not confirmed, but not refuted
			return misses
		}
		repeatBench, out := b.repeatBench(ctx, i)
		if !out.OK() {
			return misses
		}
		repeats = append(repeats, p.run(ctx, repeatBench))
	}
	for i := range misses {
		misses[i].compareRepeats(repeats)
	}
	return misses
}

// compareRepeats looks for the miss in the misses of two repeats of its probe, and changes it if a
// repeat lacks it, as confirmMisses describes.
func (m *miss) compareRepeats(repeats [][]miss) {
	got := []string{m.got}
	isStable := true
	for _, repeat := range repeats {
		i := slices.IndexFunc(repeat, m.isSame)
		if i < 0 {
			isStable = false
			got = append(got, "as it should be")
			continue
		}
		got = append(got, repeat[i].got)
	}
	if m.skip || isStable {
		return
	}
	if m.silent { // a late answer breaks no rule
		m.skip = true
		m.got += ", and an answer in another attempt"
		return
	}
	m.severity = conv.Warn
	m.got = "unstable, three attempts: " + strings.Join(got, "; ")
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

// A singleProbe is a probe of one request, which judges one rule.
type singleProbe struct {
	id, subject string
	exempt      func(b *bench) string
	request     func(b *bench) probeRequest
	expected    expectation
}

// An expectation describes the expected answer: an error with any of the codes, or a result, and
// over HTTP any of the statuses.
type expectation struct {
	codes         []int64
	acceptsResult bool
	// statuses are HTTP statuses; nil accepts all.
	statuses []int
	// otherSeverity is the severity of an error with another code and, if toolError is set, of an
	// error that the tool reported; "" if the severity of the rule applies.
	otherSeverity conv.Severity
	toolError     bool
	// text describes the expected answer for the user.
	text string
}

// accepts reports whether an answer is as expected. It ignores the HTTP status if the answer has no
// status or e names no statuses.
func (e expectation) accepts(a answer) bool {
	comparesStatus := len(e.statuses) > 0 && a.status() != 0
	if comparesStatus && !slices.Contains(e.statuses, a.status()) {
		return false
	}
	if !e.acceptsResult && len(e.codes) == 0 {
		return a.HTTP != nil // only the status matters
	}
	if e.acceptsResult && a.hasResult() {
		return true
	}
	return a.code() != 0 && slices.Contains(e.codes, a.code())
}

// toProbe returns a probe that sends the request and compares the answer.
func (s singleProbe) toProbe() probe {
	return probe{rules: []string{s.id}, exempt: s.exempt, run: func(ctx context.Context, b *bench) []miss {
		a := b.sendRough(ctx, s.request(b))
		if s.expected.accepts(a) {
			return nil
		}
		m := newMiss(s.id, s.subject, a, s.expected.text)
		hasToolError := s.expected.toolError && a.Kind == wire.ToolError
		if a.code() != 0 || hasToolError {
			m.severity = s.expected.otherSeverity
		}
		return []miss{m}
	}}
}
