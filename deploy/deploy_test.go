// Package deploy checks the files that run a team's catalog somewhere: that each is what its
// reader takes, strictly, and that the program takes the commands in them.
package deploy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// TestKubernetes decodes the manifests as the server does that validates fields strictly: an
// unknown or a repeated field is an error.
func TestKubernetes(t *testing.T) {
	var kinds []string
	for name, objects := range manifests(t) {
		for _, o := range objects {
			kinds = append(kinds, o.GetObjectKind().GroupVersionKind().Kind)
			if pod := podOf(o); pod != nil {
				checkPod(t, name, pod)
			}
		}
	}
	slices.Sort(kinds)
	want := []string{"CronJob", "Deployment", "HorizontalPodAutoscaler", "NetworkPolicy", "PodDisruptionBudget", "Service", "ServiceAccount"}
	if !slices.Equal(kinds, want) {
		t.Errorf("kinds %v, want %v", kinds, want)
	}
}

// checkPod checks what must hold of every pod: no rights that it does not need, and bounds.
func checkPod(t *testing.T, name string, pod *corev1.PodSpec) {
	t.Helper()
	if c := pod.SecurityContext; c == nil || c.RunAsNonRoot == nil || !*c.RunAsNonRoot || c.SeccompProfile == nil {
		t.Errorf("%s: the pod may run as root, or any system call", name)
	}
	if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
		t.Errorf("%s: the pod gets a token of the cluster", name)
	}
	mounted := make(map[string]bool)
	for _, c := range pod.Containers {
		s := c.SecurityContext
		if s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation ||
			s.Capabilities == nil || !slices.Contains(s.Capabilities.Drop, "ALL") {
			t.Errorf("%s: container %s may write its root or gain rights", name, c.Name)
		}
		if c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
			t.Errorf("%s: container %s has no bounds", name, c.Name)
		}
		for _, m := range c.VolumeMounts {
			mounted[m.Name] = true
		}
	}
	for _, v := range pod.Volumes {
		if !mounted[v.Name] {
			t.Errorf("%s: nothing mounts volume %s", name, v.Name)
		}
	}
}

// TestSelectors: what selects the pods of the nodes selects them, by the names that they have.
func TestSelectors(t *testing.T) {
	var node *appsv1.Deployment
	objects := manifests(t)["node.yaml"]
	for _, o := range objects {
		if d, ok := o.(*appsv1.Deployment); ok {
			node = d
		}
	}
	if node == nil || node.Spec.Replicas != nil {
		t.Fatal("no Deployment whose size the autoscaler decides")
	}
	selects := func(what string, selector map[string]string) {
		for k, v := range selector {
			if node.Spec.Template.Labels[k] != v {
				t.Errorf("%s selects %s=%s, and the pods have %v", what, k, v, node.Spec.Template.Labels)
			}
		}
		if len(selector) == 0 {
			t.Errorf("%s selects all pods", what)
		}
	}
	selects("the Deployment", node.Spec.Selector.MatchLabels)
	port := node.Spec.Template.Spec.Containers[0].Ports[0].Name
	for _, o := range objects {
		switch o := o.(type) {
		case *corev1.Service:
			selects("the Service", o.Spec.Selector)
			if got := o.Spec.Ports[0].TargetPort.StrVal; got != port {
				t.Errorf("the Service calls port %q, want %q", got, port)
			}
		case *autoscalingv2.HorizontalPodAutoscaler:
			if o.Spec.ScaleTargetRef.Name != node.Name || *o.Spec.MinReplicas < 2 {
				t.Errorf("the autoscaler scales %+v to %d at least", o.Spec.ScaleTargetRef, *o.Spec.MinReplicas)
			}
		case *policyv1.PodDisruptionBudget:
			selects("the budget", o.Spec.Selector.MatchLabels)
		case *networkingv1.NetworkPolicy:
			selects("the network policy", o.Spec.PodSelector.MatchLabels)
		}
	}
	c := node.Spec.Template.Spec.Containers[0]
	for what, p := range map[string]*corev1.Probe{"startup": c.StartupProbe, "readiness": c.ReadinessProbe, "liveness": c.LivenessProbe} {
		if p == nil || p.HTTPGet == nil || p.HTTPGet.Port.StrVal != port {
			t.Errorf("the %s probe does not call port %q", what, port)
		}
	}
}

// TestCompose loads the compose file as compose does, with its schema.
func TestCompose(t *testing.T) {
	p := composeProject(t)
	for _, name := range []string{"node-a", "node-b"} {
		s := p.Services[name]
		if !s.ReadOnly || !slices.Contains(s.CapDrop, "ALL") || len(s.Ports) > 0 {
			t.Errorf("%s may write its root, has capabilities, or is reached past the proxy: %+v", name, s)
		}
		if !strings.Contains(*p.Services["proxy"].Environment["SKILLS_NODES"], name+":8080") {
			t.Errorf("the proxy does not know %s", name)
		}
	}
	if !p.Networks["inner"].Internal {
		t.Error("the network of the database reaches the world")
	}
}

func composeProject(t *testing.T) *types.Project {
	t.Helper()
	p, err := loadProject(t.Context(), "compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// loadProject loads a compose file with what the environment says.
func loadProject(ctx context.Context, file string) (*types.Project, error) {
	o, err := cli.NewProjectOptions([]string{file}, cli.WithOsEnv, cli.WithProfiles([]string{"push"}), cli.WithResolvedPaths(true))
	if err != nil {
		return nil, err
	}
	return o.LoadProject(ctx)
}

// TestCommands: the program takes each command of these files, with its flags.
func TestCommands(t *testing.T) {
	commands := map[string][]string{}
	for name, objects := range manifests(t) {
		for _, o := range objects {
			if pod := podOf(o); pod != nil {
				commands[name] = pod.Containers[0].Args
			}
		}
	}
	for name, s := range composeProject(t).Services {
		if name != "postgres" && name != "proxy" {
			commands["compose.yaml: "+name] = s.Command
		}
	}
	unit, err := os.ReadFile("skills-node.service")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(unit)) {
		if command, ok := strings.CutPrefix(line, "ExecStart=/usr/bin/skills "); ok {
			commands["skills-node.service"] = strings.Fields(command)
		}
	}
	if len(commands) != 6 {
		t.Errorf("commands %v", commands)
	}
	program := buildProgram(t)
	for name, args := range commands {
		cmd := exec.Command(program, append(slices.Clone(args), "--help")...) // an unknown flag or command is refused
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "skills "+args[0]) {
			t.Errorf("%s: skills %s: %v: %s", name, strings.Join(args, " "), err, out)
		}
	}
}

// buildProgram builds the program into a folder of its own.
func buildProgram(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "skills")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", program, "./cmd/skills")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// TestProxy has Caddy check its file.
func TestProxy(t *testing.T) {
	run(t, "caddy", []string{"SKILLS_NODES=127.0.0.1:8081 127.0.0.1:8082"}, "validate", "--config", "Caddyfile", "--adapter", "caddyfile")
}

// TestUnit has systemd check the unit, with a program in its place.
func TestUnit(t *testing.T) {
	unit, err := os.ReadFile("skills-node.service")
	if err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("true")
	if err != nil {
		t.Skip("needs the program true")
	}
	name := filepath.Join(t.TempDir(), "skills-node.service")
	if err := os.WriteFile(name, bytes.ReplaceAll(unit, []byte("/usr/bin/skills"), []byte(program)), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, "systemd-analyze", nil, "verify", "--man=no", name)
	out := run(t, "systemd-analyze", nil, "security", "--offline=true", "--threshold=20", name)
	t.Log(strings.TrimSpace(out[strings.LastIndexByte(strings.TrimSpace(out), '\n')+1:]))
}

// run runs a program that checks a file, and returns what it prints.
func run(t *testing.T, name string, env []string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("needs %s: %v", name, err)
	}
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), append(env, "HOME="+t.TempDir(), "XDG_DATA_HOME="+t.TempDir())...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// manifests returns the objects of the manifests, decoded strictly, by file.
func manifests(t *testing.T) map[string][]runtime.Object {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, autoscalingv2.AddToScheme, batchv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	names, err := filepath.Glob("kubernetes/*.yaml")
	if err != nil || len(names) < 2 {
		t.Fatalf("manifests %v, %v", names, err)
	}
	all := make(map[string][]runtime.Object)
	for _, name := range names {
		objects, err := decode(name, decoder)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		all[filepath.Base(name)] = objects
	}
	return all
}

func decode(name string, decoder runtime.Decoder) (list []runtime.Object, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	docs := yaml.NewDocumentDecoder(f)
	defer docs.Close()
	for n := 1; ; n++ {
		data := make([]byte, 1<<20)
		size, err := docs.Read(data)
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return list, err
		}
		o, _, err := decoder.Decode(data[:size], nil, nil)
		if err != nil {
			return list, fmt.Errorf("document %d: %w", n, err)
		}
		list = append(list, o)
	}
}

// podOf returns the pod that an object makes; nil means that it makes none.
func podOf(o runtime.Object) *corev1.PodSpec {
	switch o := o.(type) {
	case *appsv1.Deployment:
		return &o.Spec.Template.Spec
	case *batchv1.CronJob:
		return &o.Spec.JobTemplate.Spec.Template.Spec
	}
	return nil
}
