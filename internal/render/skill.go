package render

import (
	"fmt"
	"io"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/render/term"
	"mcpc/internal/skill"
	"mcpc/internal/sliceutil"
)

// SkillFiles returns the number of a skill's files and their size, or "dynamic".
func SkillFiles(e *skill.Entry) string {
	if e.Dynamic {
		return "dynamic"
	}
	total := int64(0)
	for _, file := range e.Files {
		total += file.Size
	}
	return fmt.Sprintf("%d, %s", len(e.Files), term.Bytes(total))
}

// DescribeSkill writes the entry of a skill: its front matter and its files.
func DescribeSkill(w io.Writer, st term.Style, e skill.Entry) error {
	rows := [][]string{{"uri", e.URI}}
	frontMatter, _ := jsonraw.Object(e.Front)
	for _, m := range frontMatter {
		text, isText := jsonraw.Text(m.Value)
		if !isText {
			text = string(m.Value)
		}
		rows = append(rows, []string{m.Name, text})
	}
	rows = append(rows, []string{"files", SkillFiles(&e)})
	if err := term.Facts(w, st, rows); err != nil || e.Dynamic {
		return err
	}
	return term.Table(w, st, []string{"SIZE", "DIGEST", "FILE"}, sliceutil.Map(e.Files, func(f skill.File) []string {
		return []string{term.Bytes(f.Size), f.Digest, strings.TrimPrefix(f.URI, e.Root+"/")}
	}))
}
