package skilltest

import (
	"encoding/xml"
	"io"
	"strconv"
	"strings"
)

// A report is the form of test results that continuous integration reads.
type report struct {
	XMLName  xml.Name `xml:"testsuites"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Errors   int      `xml:"errors,attr"`
	Suites   []suite  `xml:"testsuite"` // one for each skill
}

type suite struct {
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Errors   int        `xml:"errors,attr"`
	Time     string     `xml:"time,attr"` // seconds
	Cases    []testCase `xml:"testcase"`
	seconds  float64
}

type testCase struct {
	Name    string  `xml:"name,attr"`
	Class   string  `xml:"classname,attr"` // the skill
	Time    string  `xml:"time,attr"`
	Failure *reason `xml:"failure"`
	Error   *reason `xml:"error"`
}

type reason struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes outcomes in the XML form of JUnit.
func WriteJUnit(w io.Writer, list []Outcome) error {
	var r report
	for i := range list {
		o := &list[i]
		if n := len(r.Suites); n == 0 || r.Suites[n-1].Name != o.Skill {
			r.Suites = append(r.Suites, suite{Name: o.Skill})
		}
		r.add(&r.Suites[len(r.Suites)-1], o)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(r); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// add adds an outcome to the suite of its skill.
func (r *report) add(s *suite, o *Outcome) {
	seconds := func(f float64) string { return strconv.FormatFloat(f, 'f', 3, 64) }
	c := testCase{Name: o.Name, Class: o.Skill, Time: seconds(o.Duration.Seconds())}
	r.Tests++
	s.Tests++
	s.seconds += o.Duration.Seconds()
	s.Time = seconds(s.seconds)
	var texts []string
	for _, d := range o.Diffs {
		texts = append(texts, d.What+"\n"+d.Text)
	}
	why := &reason{o.Message, strings.Join(texts, "\n")}
	switch o.Status {
	case Failed:
		r.Failures++
		s.Failures++
		c.Failure = why
	case Broken:
		r.Errors++
		s.Errors++
		c.Error = why
	}
	s.Cases = append(s.Cases, c)
}
