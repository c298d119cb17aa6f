package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"mcpc/internal/live/view"
	"mcpc/internal/render/term"
	"mcpc/internal/tui/cells"
)

// copyMenu opens the menu for copying to the clipboard of the terminal (OSC 52).
func (m *model) copyMenu() tea.Cmd {
	if s := m.selectedServer(); s != nil {
		return m.serverMenu(s)
	}
	if o := m.selectedOffer(); o != nil && m.focus != paneDetail {
		return m.copyOffer(o)
	}
	d := &menu{title: "copy"}
	if line := m.lineUnderCursor(); line != nil {
		pointer := line.pointer
		value := line.value
		if pointer != "" {
			d.choices = append(d.choices, newChoice("p", "path", pointer, func(m *model) tea.Cmd { return m.copyText(pointer) }))
		}
		if value != "" {
			d.choices = append(d.choices, newChoice("v", "value", "", func(m *model) tea.Cmd { return m.copyText(value) }))
		}
	}
	if key, _ := m.target(); key != "" {
		copyKey := func(m *model) tea.Cmd { return m.copyText(key) }
		d.choices = append(d.choices, newChoice("k", "key of the exchange", key, copyKey))
		for _, form := range []struct{ letter, name, note string }{
			{"m", "mcpc", "as a command of mcpc"},
			{"c", "curl", "as a command of curl"},
			{"d", "markdown", "for an issue"},
			{"j", "json", "the exchange"},
			{"r", "request", "the message"},
		} {
			copyForm := func(m *model) tea.Cmd { return m.copyAs(key, form.name) }
			d.choices = append(d.choices, newChoice(form.letter, form.name, form.note, copyForm))
		}
	}
	if len(d.choices) == 0 {
		return m.showNoTarget()
	}
	m.dialog = d
	return nil
}

// copyText copies a text. It escapes control characters of a server, which could act when pasted into a
// shell.
func (m *model) copyText(text string) tea.Cmd {
	text = term.Block(text)
	m.showMessage("copied " + term.Size(len(text)))
	return tea.SetClipboard(text)
}

// copyAs copies an exchange in a form of the Actor.
func (m *model) copyAs(key, form string) tea.Cmd {
	actor := m.opt.Actor
	if actor == nil {
		return m.showMessage("this view only reads")
	}
	return m.loader.runAction(func(ctx context.Context) change {
		text, err := actor.Copy(ctx, key, form)
		return func(m *model) tea.Cmd {
			if err != nil {
				return m.showError(err)
			}
			return m.copyText(text)
		}
	})
}

// exportForms are the forms of an export.
var exportForms = []struct{ letter, name, note string }{
	{"b", "bundle", "for a colleague: a double click opens it in a browser"},
	{"h", "har", "HTTP archive"},
	{"m", "markdown", "for an issue"},
	{"j", "jsonl", "one exchange a line"},
	{"s", "saved", "saved calls for mcpc run"},
	{"w", "html", "one page"},
}

// exportMenu offers to export what the list shows.
func (m *model) exportMenu() tea.Cmd {
	return m.previewExport(view.Export{Query: m.currentQuery(), Form: "bundle"}, "")
}

// previewExport shows a preview of an export and offers its forms. Letters have no effect before the
// preview is shown. title names the exchange if only one is exported.
func (m *model) previewExport(e view.Export, title string) tea.Cmd {
	actor := m.opt.Actor
	if actor == nil || !m.act.powers.Export {
		return m.showMessage("this view cannot export")
	}
	d := &menu{title: "export: looking for secrets…", loading: true}
	if title == "" && m.view < viewTime { // a view with one row for each exchange
		d.title = "export " + countNoun(m.list().total, "exchange", "exchanges") + ": looking for secrets…"
	}
	m.dialog = d
	width := max(m.w-4, 20)
	return m.loader.restart(subjectDialog, func(ctx context.Context) change {
		preview, err := actor.Preview(ctx, e)
		return func(m *model) tea.Cmd {
			if m.dialog != d {
				return nil
			}
			if err != nil {
				m.dialog = nil
				return m.showError(err)
			}
			d.loading = false
			d.title = "export " + countNoun(preview.Rows, "exchange", "exchanges")
			d.head = exportHead(&preview, width)
			d.choices = exportChoices(e)
			if title != "" {
				d.title = "export only " + title
				d.choices = append(d.choices, newChoice("o", "all of the list", "not only this exchange", (*model).exportMenu))
				return nil
			}
			d.choices = append(d.choices, exportMarkedChoice(e))
			if key, row := m.target(); key != "" && row != nil {
				name := key + " " + rowTitle(row)
				exportOne := func(m *model) tea.Cmd {
					one := view.Export{Query: view.Query{Only: []string{key}}, Form: "bundle"}
					return m.previewExport(one, name)
				}
				d.choices = append(d.choices, newChoice("o", "only this exchange", name, exportOne))
			}
			return nil
		}
	})
}

// exportChoices returns the entries for the forms of an export.
func exportChoices(e view.Export) []choice {
	var all []choice
	for _, form := range exportForms {
		all = append(all, newChoice(form.letter, form.name, form.note, func(m *model) tea.Cmd {
			e.Form = form.name
			return m.export(e)
		}))
	}
	return all
}

// exportMarkedChoice returns the entry for a bundle of the marked exchanges.
func exportMarkedChoice(e view.Export) choice {
	return newChoice("*", "bundle of the marked", "only exchanges with a mark", func(m *model) tea.Cmd {
		e.Form = "bundle"
		e.Marked = true
		return m.export(e)
	})
}

// maxDoubts limits the listed words of an export that may be secrets.
const maxDoubts = 5

// export writes an export.
func (m *model) export(e view.Export) tea.Cmd {
	actor := m.opt.Actor
	m.showMessage("writing…")
	return m.loader.runAction(func(ctx context.Context) change {
		done, err := actor.Export(ctx, e)
		return func(m *model) tea.Cmd {
			if err != nil {
				return m.showError(err)
			}
			rows := countNoun(done.Rows, "exchange", "exchanges")
			hidden := countNoun(done.Hidden, "secret hidden", "secrets hidden")
			return m.showMessage("wrote " + done.File + ": " + rows + ", " + hidden)
		}
	})
}

// exportHead returns the lines that say how many secrets an export hides, and which words may still
// be secrets, at most maxDoubts.
func exportHead(preview *view.Exported, width int) []cells.Line {
	hidden := countNoun(preview.Hidden, "secret is hidden", "secrets are hidden")
	lines := []cells.Line{cells.TextLine(cells.Plain, hidden)}
	for _, doubt := range preview.Doubts[:min(len(preview.Doubts), maxDoubts)] {
		lines = append(lines, cells.Wrap(cells.Warn, "⚠ may be a secret: "+doubt, width)...)
	}
	if omitted := len(preview.Doubts) - maxDoubts; omitted > 0 {
		lines = append(lines, cells.TextLine(cells.Warn, countNoun(omitted, "more", "more")))
	}
	return lines
}
