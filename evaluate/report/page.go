package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"strings"
)

//go:embed page.html.tmpl
var pageTemplate string

//go:embed page.css
var pageStyle string

var pageTmpl = template.Must(template.New("page").Funcs(template.FuncMap{
	"label":    label,
	"style":    func() template.CSS { return template.CSS(pageStyle) },
	"cell":     func(s *set, metric string) cell { return cellOf(s, metric) },
	"score":    short,
	"grouped":  grouped,
	"lower":    strings.ToLower,
	"last":     func(id string) string { return id[strings.LastIndexByte(id, '/')+1:] },
	"anchor":   func(key string) string { return "k" + key[:min(len(key), 12)] },
	"sentence": func(parts []string) string { return strings.Join(parts, " ") },
}).Parse(pageTemplate))

// A cell is one score of a table.
type cell struct{ Value, Low, High, SD string }

func cellOf(s *set, metric string) cell {
	row, ok := s.Rows[metric]
	if !ok {
		return cell{}
	}
	c := cell{Value: short(row.Value)}
	if row.CILow != nil && row.CIHigh != nil && !math.IsNaN(*row.CILow) && !math.IsNaN(*row.CIHigh) {
		c.Low, c.High = short(*row.CILow), short(*row.CIHigh)
	}
	if sd, ok := s.Rows[metric+".sd"]; ok {
		c.SD = short(sd.Value)
	}
	return c
}

func renderPage(p *page) ([]byte, error) {
	var b bytes.Buffer
	if err := pageTmpl.Execute(&b, p); err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	return b.Bytes(), nil
}
