package compose_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"refrain/internal/config"
)

// stage is one of the Dockerfile's: from one FROM to the next.
type stage struct{ name, base, text string }

var from = regexp.MustCompile(`(?m)^FROM (?:--\S+ )?(\S+)(?: AS )?(.*)\n`)

// mustStages are the stages of the Dockerfile, in its order, with continued lines as one.
func mustStages(t *testing.T) (all []stage) {
	t.Helper()
	dockerfile := strings.ReplaceAll(string(mustRead(t, "../../Dockerfile")), "\\\n", " ")
	found := from.FindAllStringSubmatchIndex(dockerfile, -1)
	for i, m := range found {
		end := len(dockerfile)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		all = append(all, stage{base: dockerfile[m[2]:m[3]], name: dockerfile[m[4]:m[5]], text: dockerfile[m[1]:end]})
	}
	return all
}

func mustStage(t *testing.T, name string) stage {
	t.Helper()
	all := mustStages(t)
	i := slices.IndexFunc(all, func(s stage) bool { return s.name == name })
	if i < 0 {
		t.Fatalf("the Dockerfile has no target %s", name)
	}
	return all[i]
}

// variables are what the ENV lines of a stage set.
func (s stage) variables() map[string]string {
	set := map[string]string{}
	for _, line := range regexp.MustCompile(`(?m)^ENV .*$`).FindAllString(s.text, -1) {
		for _, assignment := range strings.Fields(line)[1:] {
			name, value, _ := strings.Cut(assignment, "=")
			set[name] = value
		}
	}
	return set
}

// flags are those of `go build` in a stage, but for where the result goes.
func (s stage) flags() (flags []string) {
	_, command, _ := strings.Cut(s.text, "go build ")
	command, _, _ = strings.Cut(command, " -o ")
	for _, f := range regexp.MustCompile(`"[^"]*"|[^\s"]+(?:"[^"]*")?`).FindAllString(command, -1) {
		flags = append(flags, strings.ReplaceAll(f, `"`, ""))
	}
	return flags
}

// TestImageOfCUDA: the two images are one but for the base, the tag nocuda and what a card needs; the one without CUDA is what
// `docker build` makes.
func TestImageOfCUDA(t *testing.T) {
	all := mustStages(t)
	if last := all[len(all)-1].name; last != "refrain" {
		t.Errorf("a build without --target makes %s, want refrain", last)
	}
	plain, cuda := mustStage(t, "refrain"), mustStage(t, "cuda")
	if !strings.HasPrefix(cuda.base, "debian:") {
		t.Errorf("the base is %s: the program and the driver want a glibc", cuda.base)
	}
	if with, without := mustStage(t, "build-cuda").flags(), mustStage(t, "build").flags(); !slices.Equal(append(with, "-tags", "nocuda"), without) {
		t.Errorf("built with %q, the other one with %q", with, without)
	}
	for _, instruction := range []string{"USER", "VOLUME", "EXPOSE", "ENTRYPOINT", "CMD"} {
		line := regexp.MustCompile(`(?m)^` + instruction + ` .*$`)
		if got, want := line.FindString(cuda.text), line.FindString(plain.text); got != want || want == "" {
			t.Errorf("with CUDA %q, without %q", got, want)
		}
	}
	set := cuda.variables()
	for name, value := range plain.variables() {
		if set[name] != value {
			t.Errorf("%s is %q with CUDA, %q without", name, set[name], value)
		}
	}
	checkCard(t, set)
}

// checkCard looks at what the container toolkit and the driver go by.
func checkCard(t *testing.T, set map[string]string) {
	t.Helper()
	if set["NVIDIA_VISIBLE_DEVICES"] == "" || set["NVIDIA_DRIVER_CAPABILITIES"] != "compute,utility" {
		t.Errorf("the container toolkit is told %q and %q", set["NVIDIA_VISIBLE_DEVICES"], set["NVIDIA_DRIVER_CAPABILITIES"])
	}
	if dir := filepath.Dir(set["CUDA_CACHE_PATH"]); dir != set["REFRAIN_DATA_DIR"] {
		t.Errorf("compiled kernels go to %q: want a place on the volume, nothing else can be written", set["CUDA_CACHE_PATH"])
	}
	if !regexp.MustCompile(`^\d{7,9}$`).MatchString(set["CUDA_CACHE_MAXSIZE"]) {
		t.Errorf("the cache may take %q bytes of the volume", set["CUDA_CACHE_MAXSIZE"])
	}
}

// opensDriver is the part of the program that is linked dynamically, alone: the whole takes minutes to compile.
const opensDriver = `package main

import "refrain/cuda"

func main() {
	if _, err := cuda.Open(cuda.Default()); err != nil {
		panic(err)
	}
}
`

// TestProgramWantsWhatTheImagesHave: with CUDA the loader and libraries of Debian's libc6, without it nothing.
func TestProgramWantsWhatTheImagesHave(t *testing.T) {
	libc6 := []string{"libc.so.6", "libdl.so.2", "libpthread.so.0"}
	for arch, loader := range map[string]string{"amd64": "/lib64/ld-linux-x86-64.so.2", "arm64": "/lib/ld-linux-aarch64.so.1"} {
		if got, libraries := wants(t, "build-cuda", arch); got != loader || !containsAll(libc6, libraries) {
			t.Errorf("%s: with CUDA it wants %q and %q; the base has %s and %q", arch, got, libraries, loader, libc6)
		}
		if got, libraries := wants(t, "build", arch); got != "" || len(libraries) > 0 {
			t.Errorf("%s: without CUDA it wants %q and %q, and the image is empty", arch, got, libraries)
		}
	}
}

func containsAll(all, some []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}

// wants are the loader and the libraries of what a stage's `go build` makes of opensDriver.
func wants(t *testing.T, stage, arch string) (loader string, libraries []string) {
	t.Helper()
	dir := t.TempDir()
	source, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "main")
	if err := os.WriteFile(source, []byte(opensDriver), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", slices.Concat([]string{"build"}, mustStage(t, stage).flags(), []string{"-o", binary, source})...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
	return mustWants(t, binary)
}

func mustWants(t *testing.T, binary string) (loader string, libraries []string) {
	t.Helper()
	f, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if s := f.Section(".interp"); s != nil {
		data, err := s.Data()
		if err != nil {
			t.Fatal(err)
		}
		loader = strings.TrimRight(string(data), "\x00")
	}
	if f.Section(".dynamic") == nil {
		return loader, nil
	}
	if libraries, err = f.ImportedLibraries(); err != nil {
		t.Fatal(err)
	}
	return loader, libraries
}

// overlaid are the services of docker-compose.cuda.yml, which Compose merges into those of docker-compose.yml.
type overlaid struct {
	Services map[string]struct {
		Image       string
		Build       struct{ Target string }
		Environment map[string]string
		Deploy      struct {
			Resources struct {
				Reservations struct {
					Devices []struct {
						Driver       string
						Count        int
						Capabilities []string
					}
				}
			}
		}
	}
}

// TestComposeWithCUDA: it changes the service refrain alone, to the image that there is, with a card and a setting that is valid.
func TestComposeWithCUDA(t *testing.T) {
	p := mustProject(t)
	with := mustDecode[overlaid](t, "../../docker-compose.cuda.yml")
	s, ok := with.Services["refrain"]
	if !ok || len(with.Services) != 1 {
		t.Fatalf("it changes %d services, want refrain alone", len(with.Services))
	}
	mustStage(t, s.Build.Target)
	if s.Image == p.Services["refrain"].Image {
		t.Errorf("the image with CUDA is called %s as well", s.Image)
	}
	if d := s.Deploy.Resources.Reservations.Devices; len(d) != 1 || d[0].Driver != "nvidia" || d[0].Count != 1 ||
		!slices.Equal(d[0].Capabilities, []string{"gpu"}) {
		t.Errorf("devices %+v, want a card of NVIDIA's", d)
	}
	environ := []string{}
	for name, value := range s.Environment {
		environ = append(environ, name+"="+value)
	}
	c, err := config.Load("", environ)
	if err != nil {
		t.Fatal(err)
	}
	if c.Window.Engine != "cuda" {
		t.Errorf("window.engine is %s, and the card has nothing to do", c.Window.Engine)
	}
}
