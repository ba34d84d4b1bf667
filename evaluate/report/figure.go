package report

import (
	"bytes"
	"context"
	"fmt"
	"html/template"
	"image/color"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"espalier/pipeline"
	"espalier/pipeline/score"
	"espalier/pipeline/store"
)

// A figure is a drawing with a caption.
type figure struct {
	Title, Caption string
	SVG            template.HTML
}

// Colours of drawings are the page's: gonum/plot draws with these, and the
// page's style replaces them.
var (
	inkColor  = color.NRGBA{0x11, 0x22, 0x33, 0xff}
	lineColor = color.NRGBA{0x22, 0x33, 0x44, 0xff}
	gridColor = color.NRGBA{0x33, 0x44, 0x55, 0xff}
)

var themed = strings.NewReplacer("#112233", "var(--ink-2)", "#223344", "var(--accent)", "#334455", "var(--rule)")

// curves draws what a training recorded: the loss and the validation metrics
// by step, not the sizes of the model.
func curves(ctx context.Context, in *pipeline.Input) ([]figure, error) {
	points := make(map[string]plotter.XYs)
	var order []string
	for _, e := range in.Manifest.Files {
		if e.Schema != score.Schema {
			continue
		}
		if err := each(ctx, in, []store.FileEntry{e}, func(r *score.Row) error {
			if r.Step == nil || r.Metric == "rate" || r.Tags["phase"] == "model" || math.IsNaN(r.Value) || math.IsInf(r.Value, 0) {
				return nil
			}
			if points[r.Metric] == nil {
				order = append(order, r.Metric)
			}
			points[r.Metric] = append(points[r.Metric], plotter.XY{X: float64(*r.Step), Y: r.Value})
			return nil
		}); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(order, func(a, b string) int {
		if (a == "loss") != (b == "loss") {
			return map[bool]int{true: -1, false: 1}[a == "loss"]
		}
		return strings.Compare(a, b)
	})
	var out []figure
	for _, m := range order {
		f, err := curve(m, points[m])
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// Sizes of a curve, in points.
const (
	curveWidth  = 380
	curveHeight = 220
)

// curve draws one metric by step.
func curve(metric string, pts plotter.XYs) (figure, error) {
	p := plot.New()
	p.BackgroundColor = color.Transparent
	face := font.Font{Typeface: "Liberation", Variant: "Sans"}
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Color, a.Tick.Color, a.Tick.Label.Color, a.Label.TextStyle.Color = gridColor, gridColor, inkColor, inkColor
		a.Tick.Label.Font, a.Label.TextStyle.Font = face, face
		a.Tick.Label.Font.Size, a.Label.TextStyle.Font.Size = 9, 10
		a.Tick.Length = 3
		a.LineStyle.Width, a.Tick.LineStyle.Width = 0.5, 0.5
		a.Padding = 4
	}
	p.X.Label.Text = "step"
	p.Y.Tick.Marker = fewTicks{}
	p.X.Tick.Marker = fewTicks{}
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	grid.Horizontal.Color, grid.Horizontal.Width = gridColor, 0.5
	p.Add(grid)
	line, err := plotter.NewLine(pts)
	if err != nil {
		return figure{}, fmt.Errorf("curve of %s: %w", metric, err)
	}
	line.Color, line.Width = lineColor, 1.6
	p.Add(line)
	f := figure{Title: curveTitle(metric)}
	first, last, best := pts[0], pts[len(pts)-1], pts[0]
	for _, q := range pts {
		if q.Y > best.Y {
			best = q
		}
	}
	f.Caption = fmt.Sprintf("From %s at step %s to %s at step %s.", short(first.Y), grouped(int64(first.X)), short(last.Y), grouped(int64(last.X)))
	if metric != "loss" {
		dots, err := plotter.NewScatter(pts)
		if err != nil {
			return figure{}, err
		}
		dots.Color, dots.Radius, dots.Shape = lineColor, 2.2, draw.CircleGlyph{}
		p.Add(dots)
		f.Caption = fmt.Sprintf("Best %s at step %s; %s at the end.", short(best.Y), grouped(int64(best.X)), short(last.Y))
		if best.X == last.X {
			f.Caption = fmt.Sprintf("Best at the end: %s at step %s.", short(best.Y), grouped(int64(best.X)))
		}
	}
	c := vgsvg.New(curveWidth, curveHeight)
	p.Draw(draw.Crop(draw.New(c), 2, -14, 2, -4)) // room for the last label
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return figure{}, err
	}
	f.SVG = inline(b.String(), f.Title+". "+f.Caption)
	return f, nil
}

func curveTitle(metric string) string {
	if metric == "loss" {
		return "Training loss"
	}
	return "Validation " + label(metric)
}

func short(x float64) string { return fixed(x, 3) }

// fixed writes a number with so many digits behind the point.
func fixed(x float64, digits int) string {
	if math.IsNaN(x) {
		return "undefined"
	}
	return strconv.FormatFloat(x, 'f', digits, 64)
}

var (
	svgHead  = regexp.MustCompile(`(?s)^.*?<svg[^>]*>`)
	fontName = regexp.MustCompile(`font-family:[^;"]*;?`)
)

// inline makes a drawing of gonum/plot part of a page: its own head goes, its
// colours and font become the page's, and it scales with the page.
func inline(svg, alt string) template.HTML {
	svg = svgHead.ReplaceAllString(svg, "")
	svg = fontName.ReplaceAllString(svg, "")
	svg = themed.Replace(svg)
	return template.HTML(fmt.Sprintf(`<svg viewBox="0 0 %d %d" role="img" aria-label="%s">%s`, curveWidth, curveHeight, template.HTMLEscapeString(alt), svg))
}

// fewTicks are about five round numbers.
type fewTicks struct{}

func (fewTicks) Ticks(low, high float64) []plot.Tick {
	span := high - low
	if span <= 0 {
		return []plot.Tick{{Value: low, Label: short(low)}}
	}
	step := 1.0
	for step > span {
		step /= 10
	}
	for step*10 <= span {
		step *= 10
	}
	for _, k := range []float64{0.2, 0.5, 1, 2} {
		if span/(step*k) <= 5.5 {
			step *= k
			break
		}
	}
	digits := 0
	for d := step; d < 0.9999 && digits < 6; d *= 10 {
		digits++
	}
	var out []plot.Tick
	for i := math.Ceil(low/step - 1e-9); i*step <= high+step*1e-9; i++ {
		v := i*step + 0 // no negative zero
		text := strconv.FormatFloat(v, 'f', digits, 64)
		if digits == 0 && math.Abs(v) >= 10000 {
			text = grouped(int64(v))
		}
		out = append(out, plot.Tick{Value: v, Label: text})
	}
	return out
}

// strip draws the metric of all sets with their intervals, one below another.
func strip(p *page) figure {
	type bar struct {
		name             string
		value, low, high float64
		main             bool
	}
	var bars []bar
	top, best, longest := 0.0, 0.0, 0
	for _, s := range p.Sets {
		row, ok := s.Rows[p.Metric]
		if !ok || math.IsNaN(row.Value) {
			continue
		}
		longest = max(longest, utf8.RuneCountInString(s.Name))
		b := bar{s.Name, row.Value, row.Value, row.Value, s == p.Main}
		if row.CILow != nil && !math.IsNaN(*row.CILow) && !math.IsNaN(*row.CIHigh) {
			b.low, b.high = *row.CILow, *row.CIHigh
		}
		bars = append(bars, b)
		top, best = max(top, b.high), max(best, b.value)
	}
	if len(bars) == 0 || best <= 0 {
		return figure{}
	}
	top = min(top, 1.25*best) // an interval of two runs may be much wider
	const width, right, row, head, letter = 760, 62, 26, 6, 8
	left := min(max(120, 24+letter*longest), width/2)
	height := head + row*len(bars) + 22
	ticks := fewTicks{}.Ticks(0, top)
	x := func(v float64) string { // what is outside stands at the border
		return strconv.FormatFloat(float64(left)+float64(width-left-right)*min(max(v, 0), top)/top, 'f', 1, 64)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %d" role="img" aria-label="%s of each set with its 95 %% interval">`, width, height, label(p.Metric))
	for _, t := range ticks {
		fmt.Fprintf(&b, `<line class="grid" x1="%s" x2="%s" y1="%d" y2="%d"/><text class="tick" x="%s" y="%d" text-anchor="middle">%s</text>`,
			x(t.Value), x(t.Value), head, head+row*len(bars), x(t.Value), height-8, t.Label)
	}
	for i, d := range bars {
		y := head + row*i + row/2
		class := "other"
		if d.main {
			class = "main"
		}
		fmt.Fprintf(&b, `<g class="%s"><text class="name" x="%d" y="%d" text-anchor="end">%s</text>`, class, left-14, y+4, template.HTMLEscapeString(d.name))
		fmt.Fprintf(&b, `<line class="stem" x1="%d" x2="%s" y1="%d" y2="%d"/>`, left, x(d.value), y, y)
		if d.high > d.low {
			fmt.Fprintf(&b, `<line class="whisker" x1="%s" x2="%s" y1="%d" y2="%d"/>`, x(d.low), x(d.high), y, y)
		}
		fmt.Fprintf(&b, `<circle cx="%s" cy="%d" r="5"/><text class="value" x="%d" y="%d">%s</text></g>`, x(d.value), y, width-right+14, y+4, short(d.value))
	}
	b.WriteString("</svg>")
	return figure{SVG: template.HTML(b.String())}
}
