package cli

import (
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"html"
	"io"
	"math"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"golang.org/x/tools/txtar"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/pgtest"
	"github.com/repertoire-skills/repertoire/internal/testsize"
)

var update = flag.Bool("update", false, "draw docs/pictures/*.svg")

// TestPictures: the pictures of the documents show what the commands of their sessions print, see
// testdata/pictures/sessions.txtar. What a busy machine was late with may be right the next time.
func TestPictures(t *testing.T) {
	testsize.Long(t)
	t.Parallel()
	sessions, err := txtar.ParseFile("testdata/pictures/sessions.txtar")
	must.Do(t, err)
	var differ string
	for attempt := range 3 {
		differ = ""
		homes := t.TempDir()
		for _, s := range sessions.Files {
			t.Run(fmt.Sprint(s.Name, attempt), func(t *testing.T) {
				file, rows := "../../docs/pictures/"+s.Name, perform(t, homes, string(s.Data))
				if *update {
					must.Do(t, os.WriteFile(file, []byte(draw(rows)), 0o644))
				}
				if got, want := wordsOf(rows), wordsOf(drawn(t, file)); !alike(got, want) {
					differ += fmt.Sprintf("%s shows\n%s\nand the commands print\n%s\n", file, want, got)
				}
			})
		}
		if differ == "" {
			return
		}
	}
	t.Errorf("%stestdata/pictures/sessions.txtar says how pictures are drawn again", differ)
}

// A row is a line of a picture.
type row struct{ text, colour string }

const (
	typed   = "#7ee787"
	comment = "#8b949e"
	printed = "#e6edf3"
)

// step is a line of a session with a command: the machine, whether it is shown, and the command.
var step = regexp.MustCompile(`^(\w*)([$!]) (.*)$`)

// perform runs a session in homes and returns the rows of its picture.
func perform(t *testing.T, homes, session string) (rows []row) {
	t.Helper()
	const example = "postgres://db.example.com/skills"
	database, shown := example, example
	if strings.Contains(session, example) {
		if testsize.Rounds(0, 1) == 0 {
			t.Skip("a database takes a second")
		}
		database = pgtest.URL(t)
		u, err := url.Parse(database)
		must.Do(t, err)
		shown = fmt.Sprintf("postgres://%s@%s%s", u.User.Username(), u.Host, u.Path)
	}
	lines := strings.Split(session, "\n")
	for i, text := range lines[:len(lines)-1] {
		command := step.FindStringSubmatch(text)
		if command == nil {
			if !strings.HasPrefix(text, "> ") {
				rows = append(rows, folded(text, comment)...)
			}
			continue
		}
		answer, _ := strings.CutPrefix(lines[i+1], "> ")
		home := homeIn(t, filepath.Join(homes, "home-"+command[1]))
		output := onTerminal(t, home, strings.ReplaceAll(command[3], example, database), answer)
		if command[2] == "!" {
			continue
		}
		rows = append(rows, folded(text, typed)...)
		for l := range strings.Lines(strings.NewReplacer(home, "~", shown, example).Replace(output)) {
			rows = append(rows, folded(strings.TrimRight(l, " \n"), printed)...)
		}
	}
	return rows
}

// homeIn makes a home with the program in bin/skills, unless it is there.
func homeIn(t *testing.T, home string) string {
	t.Helper()
	name := filepath.Join(home, "bin", "skills")
	if _, err := os.Stat(name); err == nil {
		return home
	}
	program, err := os.Executable()
	must.Do(t, errors.Join(err, os.MkdirAll(filepath.Dir(name), 0o700)))
	// It has to be its own file: the program writes the name of its file into settings.
	if os.Link(program, name) != nil {
		data, err := os.ReadFile(program)
		must.Do(t, errors.Join(err, os.WriteFile(name, data, 0o700)))
	}
	return home
}

// question is the end of what asks the person at a terminal.
var question = regexp.MustCompile(`\? \[y/N[^]]*\] $`)

// onTerminal runs a command in a home, with a person at a terminal who gives one answer, and returns
// what stands on the screen then.
func onTerminal(t *testing.T, home, command, answer string) string {
	t.Helper()
	skills, err := filepath.Abs("../../testdata/skills")
	must.Do(t, err)
	screen, terminal := openTerminal(t)
	defer screen.Close()
	cmd := exec.Command("/bin/sh", "-c", command)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = home, terminal, terminal, terminal
	cmd.Env = []string{"HOME=" + home, "PATH=" + filepath.Join(home, "bin") + ":/usr/bin:/bin", "SKILLS=" + skills, "TERM=dumb", "GORACE=" + noExitSleep,
		"REPERTOIRE_CONTEXTUAL=on"} // as readers have it, also where this machine is busy
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = cmd.Start()
	terminal.Close()
	must.Do(t, err)
	var out []byte
	for piece := make([]byte, 4096); ; {
		n, err := screen.Read(piece)
		if err != nil {
			break // no process has the terminal any more
		}
		out = append(out, piece[:n]...)
		if question.Match(out) {
			_, err := io.WriteString(screen, answer+"\n")
			must.Do(t, err)
		}
	}
	cmd.Wait() // some commands of the sessions fail, and pictures show why
	var visible strings.Builder
	for l := range strings.Lines(strings.ReplaceAll(string(out), "\r\n", "\n")) {
		visible.WriteString(l[strings.LastIndexByte(l, '\r')+1:]) // bars of progress are overwritten
	}
	return visible.String()
}

// openTerminal returns what stands behind the screen of a terminal, and what a program sees of it.
func openTerminal(t *testing.T) (screen, terminal *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	must.Do(t, err)
	fd := int(screen.Fd())
	number, err1 := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	err2 := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	err3 := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: columns})
	terminal, err4 := os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|unix.O_NOCTTY, 0)
	must.Do(t, errors.Join(err1, err2, err3, err4))
	return screen, terminal
}

// wordsOf returns the words of rows: lines break elsewhere when a figure is longer.
func wordsOf(rows []row) string {
	var all []string
	for _, r := range rows {
		all = append(all, strings.Fields(r.text)...)
	}
	return strings.Join(all, " ")
}

var (
	times   = regexp.MustCompile(`_ms [0-9.]+|[0-9.]+ m?s\b`)
	numbers = regexp.MustCompile(`[0-9]+(\.[0-9]+)?`)
)

// alike reports whether two texts are the same but for times, and for figures that differ by a tenth
// or by 2: processors round differently.
func alike(a, b string) bool {
	a, b = times.ReplaceAllString(a, "TIME"), times.ReplaceAllString(b, "TIME")
	if numbers.ReplaceAllString(a, "0") != numbers.ReplaceAllString(b, "0") {
		return false
	}
	others := numbers.FindAllString(b, -1)
	for i, f := range numbers.FindAllString(a, -1) {
		x, err1 := strconv.ParseFloat(f, 64)
		y, err2 := strconv.ParseFloat(others[i], 64)
		if errors.Join(err1, err2) != nil || math.Abs(x-y) > max(2, max(x, y)/10) {
			return false
		}
	}
	return true
}

// Sizes in pixels, and the length of a line in characters.
const (
	columns    = 88
	charWidth  = 8.4
	lineHeight = 20
	margin     = 20
	titleBar   = 36
)

// folded breaks a text at blanks into rows; continued ones keep the indent.
func folded(text, colour string) (rows []row) {
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	for len([]rune(text)) > columns {
		at := strings.LastIndex(string([]rune(text)[:columns+1]), " ")
		if at <= len(indent) {
			break // one long word
		}
		rows = append(rows, row{text[:at], colour})
		text = indent + "  " + text[at+1:]
	}
	return append(rows, row{text, colour})
}

// draw returns rows as an SVG picture of a terminal. It names no font that a reader may lack
// without a fallback, and holds no script and no link.
func draw(rows []row) string {
	width := margin*2 + columns*charWidth
	height := titleBar + margin + len(rows)*lineHeight
	var svg strings.Builder
	fmt.Fprintf(&svg, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %d\" width=\"%.0f\" height=\"%d\" role=\"img\" aria-label=\"skills in a terminal\">\n",
		width, height, width, height)
	fmt.Fprintf(&svg, "<rect width=\"100%%\" height=\"100%%\" rx=\"10\" fill=\"#0d1117\"/>\n")
	for i, colour := range []string{"#ff5f56", "#ffbd2e", "#27c93f"} {
		fmt.Fprintf(&svg, "<circle cx=\"%d\" cy=\"18\" r=\"6\" fill=\"%s\"/>\n", margin+i*20, colour)
	}
	svg.WriteString("<g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, monospace\" font-size=\"14\">\n")
	for i, r := range rows {
		if strings.TrimSpace(r.text) != "" {
			text := strings.ReplaceAll(html.EscapeString(r.text), "  ", "\u00a0\u00a0") // browsers join blanks
			fmt.Fprintf(&svg, "<text x=\"%d\" y=\"%d\" fill=\"%s\">%s</text>\n", margin, titleBar+14+i*lineHeight, r.colour, text)
		}
	}
	svg.WriteString("</g>\n</svg>\n")
	return svg.String()
}

// drawn returns the rows of a picture.
func drawn(t *testing.T, file string) (rows []row) {
	t.Helper()
	picture, err := os.Open(file)
	must.Do(t, err)
	defer picture.Close()
	for d := xml.NewDecoder(picture); ; {
		token, err := d.Token()
		if err == io.EOF {
			return rows
		}
		must.Do(t, err)
		if text, ok := token.(xml.CharData); ok {
			rows = append(rows, row{string(text), ""})
		}
	}
}
