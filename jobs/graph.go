package jobs

import (
	"fmt"

	"espalier/pipeline"
)

// Graph returns the job as the engine runs it.
func (j *Job) Graph() pipeline.Graph {
	var g pipeline.Graph
	for _, s := range j.Stages {
		n := pipeline.Node{
			Name:    s.Name,
			Stage:   s.Params,
			MaxDead: s.MaxDead,
			Pos:     fmt.Sprintf("%s:%d", j.File, s.Line),
		}
		if n.MaxDead == nil {
			n.MaxDead = j.MaxDead
		}
		if len(s.Inputs) > 0 {
			n.Inputs = make(map[string]string, len(s.Inputs))
			for _, in := range s.Inputs {
				n.Inputs[in.Name] = in.Stage
			}
		}
		g.Nodes = append(g.Nodes, n)
	}
	return g
}
