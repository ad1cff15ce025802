"""List the form fields of a PDF: name, type, allowed values, present value."""
import sys

from pypdf import PdfReader

TYPES = {"/Tx": "text", "/Btn": "button", "/Ch": "choice", "/Sig": "signature"}


def allowed(field):
    """The values a field accepts: states that have an appearance, or options."""
    # Indexing resolves references to other objects, .get does not.
    if field.get("/FT") != "/Btn":
        return list(field["/Opt"]) if "/Opt" in field else []
    kids = field["/Kids"] if "/Kids" in field else []
    widgets = [field, *(kid.get_object() for kid in kids)]
    return sorted({state for w in widgets if "/AP" in w for state in w["/AP"]["/N"]})


def describe(name, field):
    # get_fields returns a digest; limits and appearances are on the object.
    whole = field.indirect_reference.get_object()
    maximum = f" max={whole['/MaxLen']}" if "/MaxLen" in whole else ""
    kind = TYPES.get(field.get("/FT"), "group")
    return f"{name}\t{kind}{maximum}\t{', '.join(map(str, allowed(whole)))}\t{field.get('/V', '')}"


def main(path):
    reader = PdfReader(path)
    form = reader.trailer["/Root"].get("/AcroForm")
    xfa = form is not None and "/XFA" in form.get_object()
    print(f"XFA: {'yes' if xfa else 'no'}")
    for name, field in (reader.get_fields() or {}).items():
        print(describe(name, field))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: list_fields.py form.pdf")
    main(sys.argv[1])
