package cli

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"
)

// A person answers questions at the terminal. A nil person is nobody, who agrees to nothing.
type person struct {
	ui    *screen
	lines *bufio.Reader
	left  bool // the input has ended
}

// keyboard returns the terminal at which a person types; nil means none.
func (e env) keyboard() *os.File {
	f, ok := e.stdin.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return f
}

// person returns the person at the terminal; nil means that nobody is there.
func (ui *screen) person() *person {
	f := ui.keyboard()
	if f == nil {
		return nil
	}
	return &person{ui: ui, lines: bufio.NewReader(f)}
}

// reader is person for a command that asks nobody when a program reads its output.
func (ui *screen) reader() *person {
	if ui.json {
		return nil
	}
	return ui.person()
}

// confirmed asks a question where somebody can be asked, and reports whether the answer is yes.
// Where nobody can, nobody need be.
func (ui *screen) confirmed(yes bool, question string, args ...any) bool {
	if yes {
		return true
	}
	p := ui.reader()
	if p == nil || p.agrees(question, args...) {
		return true
	}
	ui.note("nothing was changed")
	return false
}

// ask prints a question and returns the answer in lower case; "" when the input has ended.
func (p *person) ask(format string, args ...any) string {
	fmt.Fprintf(p.ui.stderr, "skills: "+format+" ", args...)
	answer, err := p.lines.ReadString('\n')
	p.left = err != nil
	return strings.ToLower(strings.TrimSpace(answer))
}

// agrees asks a question to which the answer is yes or no.
func (p *person) agrees(format string, args ...any) bool {
	if p == nil {
		return false
	}
	answer := p.ask(format+" [y/N]", args...)
	return answer == "y" || answer == "yes"
}
