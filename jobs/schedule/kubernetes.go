package schedule

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// A Pod says where the tasks of a job run on Kubernetes.
type Pod struct {
	Namespace string // "" leaves it to kubectl
	Image     string // that holds the program
	Claim     string // a persistent volume claim with the job file, the raw files and the store
	Mount     string // where the claim is mounted
	CPU       string // such as "2"; "" asks for none
	Memory    string // such as "4Gi"; "" asks for none
}

var kubernetesLabel = pattern(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)

func (p *Pod) check() error {
	switch {
	case p.Image == "":
		return fmt.Errorf("schedule: Kubernetes needs an image")
	case (p.Claim == "") != (p.Mount == ""):
		return fmt.Errorf("schedule: a claim needs a place where it is mounted, and the other way round")
	case p.Claim != "" && !kubernetesLabel().MatchString(p.Claim):
		return fmt.Errorf("schedule: %q is no name for a claim", p.Claim)
	case p.Namespace != "" && !kubernetesLabel().MatchString(p.Namespace):
		return fmt.Errorf("schedule: %q is no name for a namespace", p.Namespace)
	}
	return nil
}

// Kubernetes writes the job as manifests of batch/v1 Jobs, one after the other:
// an Indexed Job for the parts of a stage, then one that finishes it. Those
// that need others are suspended; the comment at the top has the commands that
// let them go in turn.
func Kubernetes(w io.Writer, j *Job, p Pod) error {
	if err := j.check(); err != nil {
		return err
	}
	if err := p.check(); err != nil {
		return err
	}
	stages, err := j.ordered()
	if err != nil {
		return err
	}
	names := namer{limit: 52, keep: func(r rune) bool {
		return r < unicode.MaxASCII && (unicode.IsLower(r) || unicode.IsDigit(r))
	}}
	var docs, order []string
	for _, s := range stages {
		base := strings.ToLower("espalier-" + j.Name + "-" + s.Name)
		first := len(s.Needs) == 0
		if j.array(s) {
			name := names.name(base + "-parts")
			docs = append(docs, p.manifest(name, s.Name, j.args(s.Name, "--progress", "json", "--of", fmt.Sprint(j.Width)), j.Width, !first))
			order = append(order, name)
			first = false
		}
		name := names.name(base)
		docs = append(docs, p.manifest(name, s.Name, j.args(s.Name, "--progress", "json"), 0, !first))
		order = append(order, name)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# The espalier job %s as Kubernetes Jobs. Every pod may run twice, at once or again. In turn:\n#   kubectl apply -f FILE\n", oneLine(j.Name))
	for _, name := range order {
		fmt.Fprintf(&b, "#   kubectl patch job/%s -p '{\"spec\":{\"suspend\":false}}' && kubectl wait --for=condition=complete --timeout=-1s job/%s\n", name, name)
	}
	for _, d := range docs {
		b.WriteString("---\n" + d)
	}
	_, err = io.WriteString(w, b.String())
	return err
}

// manifest is one Job; completions is 0 for one that is not Indexed.
func (p *Pod) manifest(name, stage string, args []string, completions int, suspend bool) string {
	var b strings.Builder
	line := func(indent int, format string, a ...any) {
		b.WriteString(strings.Repeat(" ", indent) + fmt.Sprintf(format, a...) + "\n")
	}
	line(0, "apiVersion: batch/v1")
	line(0, "kind: Job")
	line(0, "metadata:")
	line(2, "name: %s", name)
	if p.Namespace != "" {
		line(2, "namespace: %s", p.Namespace)
	}
	line(2, "annotations:")
	line(4, "espalier/stage: %s", python(stage))
	line(0, "spec:")
	line(2, "suspend: %v", suspend)
	fail := "FailJob"
	if completions > 0 {
		fail = "FailIndex"
		line(2, "completionMode: Indexed")
		line(2, "completions: %d", completions)
		line(2, "parallelism: %d", completions)
		line(2, "backoffLimitPerIndex: 3")
	} else {
		line(2, "backoffLimit: 3")
	}
	line(2, "podFailurePolicy:")
	line(4, "rules:")
	line(6, "- action: %s", fail)
	line(8, "onExitCodes:")
	line(10, "containerName: espalier")
	line(10, "operator: In")
	line(10, "values: [2, 20]")
	line(6, "- action: Ignore")
	line(8, "onPodConditions:")
	line(10, "- type: DisruptionTarget")
	line(2, "template:")
	line(4, "spec:")
	line(6, "restartPolicy: Never")
	line(6, "terminationGracePeriodSeconds: 30")
	line(6, "containers:")
	line(8, "- name: espalier")
	line(10, "image: %s", python(p.Image))
	line(10, "command:")
	for _, a := range args {
		line(12, "- %s", python(strings.ReplaceAll(a, "$(", "$$("))) // $(NAME) would be expanded
	}
	if p.CPU != "" || p.Memory != "" {
		line(10, "resources:")
		line(12, "requests:")
		if p.CPU != "" {
			line(14, "cpu: %s", python(p.CPU))
		}
		if p.Memory != "" {
			line(14, "memory: %s", python(p.Memory))
		}
		if p.Memory != "" {
			line(12, "limits:")
			line(14, "memory: %s", python(p.Memory))
		}
	}
	if p.Claim != "" {
		line(10, "volumeMounts:")
		line(12, "- name: data")
		line(14, "mountPath: %s", python(p.Mount))
		line(6, "volumes:")
		line(8, "- name: data")
		line(10, "persistentVolumeClaim:")
		line(12, "claimName: %s", p.Claim)
	}
	return b.String()
}
